"""Gemel: privacy-preserving probabilistic record linkage for three parties.

The rooms of the house lie at the top of the repository; here they are links, so that everything is imported, and
installed, under the one name `gemel`: no `common` or `risk` of ours can collide with another package's.

`gemel.link`, `gemel.draft`, `gemel.check`, `gemel.join`, `gemel.Client` and what else `PUBLIC` names are imported when
they are used: `import gemel` itself imports nothing, and a service's image, which lacks folders, has the rest.
docs/api.md describes them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gemel import risk as risk
    from gemel.common.documents.document import read_provenance as read_provenance
    from gemel.common.errors import GemelError as GemelError
    from gemel.common.errors import GemelErrors as GemelErrors
    from gemel.common.specification import Specification as Specification
    from gemel.common.terminal.output import Report as Report
    from gemel.coordinator.analysis.linked_file import LinkedFile as LinkedFile
    from gemel.coordinator.analysis.linked_file import OwnFile as OwnFile
    from gemel.coordinator.analysis.linked_file import join as join
    from gemel.coordinator.api.in_process import Keys as Keys
    from gemel.coordinator.api.linking import LinkedFiles as LinkedFiles
    from gemel.coordinator.api.linking import link as link
    from gemel.coordinator.api.live import Client as Client
    from gemel.coordinator.api.specifications import CheckedSpecification as CheckedSpecification
    from gemel.coordinator.api.specifications import Draft as Draft
    from gemel.coordinator.api.specifications import check as check
    from gemel.coordinator.api.specifications import draft as draft

PUBLIC = {
    "CheckedSpecification": "gemel.coordinator.api.specifications",
    "Client": "gemel.coordinator.api.live",
    "Draft": "gemel.coordinator.api.specifications",
    "Keys": "gemel.coordinator.api.in_process",
    "LinkedFile": "gemel.coordinator.analysis.linked_file",
    "LinkedFiles": "gemel.coordinator.api.linking",
    "OwnFile": "gemel.coordinator.analysis.linked_file",
    "Report": "gemel.common.terminal.output",
    "Specification": "gemel.common.specification",
    "GemelError": "gemel.common.errors",
    "GemelErrors": "gemel.common.errors",
    "check": "gemel.coordinator.api.specifications",
    "draft": "gemel.coordinator.api.specifications",
    "join": "gemel.coordinator.analysis.linked_file",
    "link": "gemel.coordinator.api.linking",
    "read_provenance": "gemel.common.documents.document",
}
"""The public names, and the module that each is imported from when it is first used."""


def __getattr__(name: str) -> Any:
    if name in PUBLIC:
        try:
            found = getattr(import_module(PUBLIC[name]), name)
        except ModuleNotFoundError as error:
            from gemel.common.missing_module import missing_module

            raise missing_module(error) from error
    elif name == "risk":
        found = import_module("gemel.risk")
    elif name == "__version__":
        from importlib.metadata import version

        found = version("gemel")
    else:
        raise AttributeError(f"module 'gemel' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *PUBLIC, "__version__", "risk"})
