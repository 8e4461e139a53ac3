"""Disclosure risk: a library in its own right, used by the parties and usable without them.

`risk.models` holds decomposable graphical models of categorical data: graphs, junction trees, scores, search,
inference. `risk.attribution` assesses what tables, samples and records disclose of people, `risk.magnitude` what tables
of sums do of those who contribute to them, `risk.identification` how likely a released record is to be recognised,
`risk.keyvars` on what, and how finely, sets of data can be matched. Numbers only, but for the commands and the modules
that read files for them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gemel.risk.library.identification import dis as dis
    from gemel.risk.library.identification import identify as identify
    from gemel.risk.library.identification import individual as individual
    from gemel.risk.library.identification import key_file as key_file
    from gemel.risk.library.identification import log_linear as log_linear
    from gemel.risk.library.identification import suda as suda
    from gemel.risk.library.tables import ProtectedFile as ProtectedFile
    from gemel.risk.library.tables import RiskAssessment as RiskAssessment
    from gemel.risk.library.tables import magnitude_tables as magnitude_tables
    from gemel.risk.library.tables import protect as protect
    from gemel.risk.library.tables import tables as tables
    from gemel.risk.protection.changes import Levels as Levels
    from gemel.risk.protection.changes import Methods as Methods
    from gemel.risk.protection.policy import Policy as Policy

PUBLIC = {
    **dict.fromkeys(("ProtectedFile", "RiskAssessment"), "gemel.risk.library.tables"),
    **dict.fromkeys(
        ("dis", "identify", "individual", "key_file", "log_linear", "suda"), "gemel.risk.library.identification"
    ),
    **dict.fromkeys(("magnitude_tables", "tables"), "gemel.risk.library.tables"),
    "Levels": "gemel.risk.protection.changes",
    "Methods": "gemel.risk.protection.changes",
    "Policy": "gemel.risk.protection.policy",
    "protect": "gemel.risk.library.tables",
}
"""The functions of the library, and the module that each is imported from when it is first used."""


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module 'gemel.risk' has no attribute {name!r}")
    found = getattr(import_module(PUBLIC[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *PUBLIC})
