"""Protect a file of records and look again: methods, the search for the smallest change, utility, the log.

`protect` does all of it for a `Request`. By themselves: `hierarchies` (levels of detail of a key), `lattice` and
`minimal_change` (which levels), `local_suppression` (which values), `perturbation` (PRAM, swapping), `numbers`
(microaggregation, noise, rounding), `policy` (limits, and the measures that they limit), `information` and `utility`
(what it costs), `log` (what was done, and whether a file is still that). Numbers only, but for `reader` and the
command.
"""

from tryst.risk.protection.hierarchies import Hierarchy
from tryst.risk.protection.key_table import KeyTable
from tryst.risk.protection.local_suppression import suppress
from tryst.risk.protection.log import verify
from tryst.risk.protection.methods import Levels, Methods
from tryst.risk.protection.policy import FileRisk, Policy
from tryst.risk.protection.protected_file import Protected, protect
from tryst.risk.protection.request import Request

__all__ = [
    "FileRisk",
    "Hierarchy",
    "KeyTable",
    "Levels",
    "Methods",
    "Policy",
    "Protected",
    "Request",
    "protect",
    "suppress",
    "verify",
]
