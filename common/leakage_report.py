"""The report to a custodian on what Carole could learn, and the type of the function that makes it.

The risk library measures it; a custodian's program passes the function to the service and the commands as a `Gate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from tryst.common.documents.result_warning import ResultWarning
from tryst.common.specification import Specification


@dataclass(frozen=True)
class Finding:
    """The success of one attack on one field; shares of the records that have a value.

    Attributes
    ----------
    field, rule
        Attacked field; blocking rule whose signatures were attacked, "" where one key serves the whole file.
    attack
        In words.
    recovered
        Share of records whose value the attack named correctly.
    chance
        Share recovered by naming the commonest value everywhere.
    attainable
        The most that any attack could with the dictionary used.
    """

    field: str
    rule: str
    attack: str
    recovered: float
    chance: float
    attainable: float = 1.0

    @property
    def above_chance(self) -> float:
        """What the signatures added."""
        return max(0.0, self.recovered - self.chance)


@dataclass(frozen=True)
class LeakageReport:
    """What Carole could learn of a file under a specification.

    Attributes
    ----------
    mode
        The specification's.
    records
        In the file.
    limit
        Largest share above chance that the policy allows.
    refuses
        Whether a share above the limit keeps the service from contributing; otherwise it is a warning.
    findings
        For every field, and in block-keyed mode for every rule.
    codes
        For the variables. The limit does not apply to them: a code is a relabelling, whose counts are visible in every
        mode, as the notes to those who approve the specification state.
    warnings
        What the figures do not cover.
    """

    mode: str
    records: int
    limit: float
    refuses: bool
    findings: tuple[Finding, ...]
    codes: tuple[Finding, ...] = ()
    warnings: tuple[ResultWarning, ...] = ()

    @property
    def worst(self) -> Finding | None:
        """The finding with the largest share above chance."""
        return max(self.findings, key=lambda finding: finding.above_chance, default=None)

    @property
    def exceeds(self) -> bool:
        """Whether any finding is above the limit."""
        return self.worst is not None and self.worst.above_chance > self.limit

    def by_field(self) -> dict[str, Finding]:
        """The worst finding of each field."""
        found: dict[str, Finding] = {}
        for finding in self.findings:
            if finding.field not in found or finding.above_chance > found[finding.field].above_chance:
                found[finding.field] = finding
        return found

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        shown = {
            part: [{**asdict(each), "above_chance": each.above_chance} for each in found]
            for part, found in (("findings", self.findings), ("codes", self.codes))
        }
        warnings = [warning.plain() for warning in self.warnings]
        return {**asdict(self), **shown, "exceeds": self.exceeds, "warnings": warnings}


Gate = Callable[[Mapping[str, pl.Series], Specification, Mapping[str, pl.Series]], LeakageReport]
"""Measures, from cleaned columns, a specification and variables' places, what the encoding would let Carole learn."""
