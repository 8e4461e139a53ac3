"""Tryst: privacy-preserving probabilistic record linkage for three parties.

The rooms of the house lie at the top of the repository; here they are links, so that everything is imported, and
installed, under the one name `tryst`: no `common` or `risk` of ours can collide with another package's.

`tryst.link`, `tryst.draft`, `tryst.check`, `tryst.join`, `tryst.Client` and what else `PUBLIC` names are imported when
they are used: `import tryst` itself imports nothing, and a service's image, which lacks folders, has the rest.
docs/api.md describes them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tryst import risk as risk
    from tryst.common.documents.provenance import read_provenance as read_provenance
    from tryst.common.errors import TrystError as TrystError
    from tryst.common.errors import TrystErrors as TrystErrors
    from tryst.common.shown_report import Report as Report
    from tryst.common.specification import Specification as Specification
    from tryst.coordinator.analysis.share_files import LinkedFile as LinkedFile
    from tryst.coordinator.analysis.share_files import OwnFile as OwnFile
    from tryst.coordinator.analysis.share_files import join as join
    from tryst.coordinator.api.in_process import Keys as Keys
    from tryst.coordinator.api.linked_files import LinkedFiles as LinkedFiles
    from tryst.coordinator.api.linking import link as link
    from tryst.coordinator.api.live import Client as Client
    from tryst.coordinator.api.specifications import CheckedSpecification as CheckedSpecification
    from tryst.coordinator.api.specifications import Draft as Draft
    from tryst.coordinator.api.specifications import check as check
    from tryst.coordinator.api.specifications import draft as draft

PUBLIC = {
    "CheckedSpecification": "tryst.coordinator.api.specifications",
    "Client": "tryst.coordinator.api.live",
    "Draft": "tryst.coordinator.api.specifications",
    "Keys": "tryst.coordinator.api.in_process",
    "LinkedFile": "tryst.coordinator.analysis.share_files",
    "LinkedFiles": "tryst.coordinator.api.linked_files",
    "OwnFile": "tryst.coordinator.analysis.share_files",
    "Report": "tryst.common.shown_report",
    "Specification": "tryst.common.specification",
    "TrystError": "tryst.common.errors",
    "TrystErrors": "tryst.common.errors",
    "check": "tryst.coordinator.api.specifications",
    "draft": "tryst.coordinator.api.specifications",
    "join": "tryst.coordinator.analysis.share_files",
    "link": "tryst.coordinator.api.linking",
    "read_provenance": "tryst.common.documents.provenance",
}
"""The public names, and the module that each is imported from when it is first used."""


def __getattr__(name: str) -> Any:
    if name in PUBLIC:
        try:
            found = getattr(import_module(PUBLIC[name]), name)
        except ModuleNotFoundError as error:
            from tryst.common.missing_module import missing_module

            raise missing_module(error) from error
    elif name == "risk":
        found = import_module("tryst.risk")
    elif name == "__version__":
        from importlib.metadata import version

        found = version("tryst")
    else:
        raise AttributeError(f"module 'tryst' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *PUBLIC, "__version__", "risk"})
