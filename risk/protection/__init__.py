"""Protect a file of records and look again: methods, the search for the smallest change, utility, the log.

`protect` does all of it for a `Request`. By themselves: `hierarchies` (levels of detail of a key), `lattice` and
`minimal_change` (which levels), `local_suppression` (which values), `perturbed_keys` (PRAM, swapping), `numbers`
(microaggregation, noise, rounding), `policy` (limits, and the measures that they limit), `key_table` and `comparison`
(what it costs), `log` (what was done, and whether a file is still that). Numbers only, but for `request` and the
command.
"""

from gemel.risk.protection.changes import Levels, Methods
from gemel.risk.protection.hierarchies import Hierarchy
from gemel.risk.protection.key_table import KeyTable
from gemel.risk.protection.local_suppression import suppress
from gemel.risk.protection.log import verify
from gemel.risk.protection.policy import FileRisk, Policy
from gemel.risk.protection.protected_file import Protected, protect
from gemel.risk.protection.request import Request

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
