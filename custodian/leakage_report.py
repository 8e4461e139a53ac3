"""The report to a custodian on what Carole could learn, and the type of the function that makes it (`Gate`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self

from gemel.common.arrays import Columns
from gemel.common.documents.result_warning import ResultWarning
from gemel.common.keys.noise import AssessmentKeys
from gemel.common.specification import Specification
from gemel.custodian.drawn_records import DrawnRecords

Attacker = Literal["public counts", "register of a share", "register of everybody"]
PUBLIC: Attacker = "public counts"
REGISTER: Attacker = "register of a share"
EVERYBODY: Attacker = "register of everybody"
ATTACKERS = {
    PUBLIC: "who has public counts only",
    REGISTER: "who has a register with a share of these people",
    EVERYBODY: "who has a register of all these people",
}
"""Kinds of attackers, and what each has besides what Carole holds."""
VERSION = 1
"""Of the report as JSON."""


@dataclass(frozen=True)
class Verdict:
    """What one kind of attacker could do at worst, and the largest share allowed; None: the specification sets no
    limit.

    `worst` is the finding furthest above guessing; None where nothing was attacked.
    """

    attacker: Attacker
    limit: float | None
    worst: Finding | None

    @property
    def who(self) -> str:
        return ATTACKERS[self.attacker]

    @property
    def share(self) -> float:
        return 0.0 if self.worst is None else self.worst.above_chance

    @property
    def exceeds(self) -> bool:
        return self.limit is not None and self.share > self.limit

    @property
    def what(self) -> str:
        """What is disclosed, in words that follow the share."""
        if self.attacker == PUBLIC:
            return "of the records' values read above guessing"
        return "of the people in her register recognised"


@dataclass(frozen=True)
class Finding:
    """The success of one attack on one field; shares of the records that have a value.

    `rule`: blocking rule whose signatures were attacked, "" where one key serves the whole file; `recovered`: share of
    records whose value the attack named correctly; `chance`: by naming the commonest value everywhere; `attainable`:
    the most that any attack could with the dictionary used. Who has a register recognises whole rows: `field` is then
    empty, and `recovered` the share of the people in her register whose row she names rightly; `error`: standard error
    of `recovered` less `chance`, where records were drawn; `precision`: share of a register's sure claims that are
    right.
    """

    field: str
    rule: str
    attack: str
    recovered: float
    chance: float
    attainable: float = 1.0
    attacker: Attacker = "public counts"
    error: float = 0.0
    precision: float | None = None

    @property
    def above_chance(self) -> float:
        """What the signatures added."""
        return max(0.0, self.recovered - self.chance)


@dataclass(frozen=True)
class LeakageReport:
    """What Carole could learn of a file under a specification.

    `limit`, `register_limit`, `everybody_limit`: largest share that the specification allows each kind of attacker,
    None for no limit; `refuses`: whether a share above it keeps the service from contributing; otherwise it is a
    warning; `findings`: for every field, and in block-keyed mode for every rule; `recognised`: what those could
    recognise who have a register; `codes`: for the variables. The limit does not apply to them: a code is a
    relabelling, whose counts are visible in every mode, as the notes to those who approve the specification state;
    `warnings`: what the figures do not cover.
    """

    mode: str
    records: int
    limit: float
    refuses: bool
    findings: tuple[Finding, ...]
    codes: tuple[Finding, ...] = ()
    warnings: tuple[ResultWarning, ...] = ()
    recognised: tuple[Finding, ...] = ()
    register_limit: float | None = None
    everybody_limit: float | None = None

    def limit_for(self, attacker: Attacker) -> float | None:
        """The limit that a finding of an attacker is judged by; None where the specification sets none."""
        return {PUBLIC: self.limit, REGISTER: self.register_limit, EVERYBODY: self.everybody_limit}[attacker]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """For each kind of attacker that was measured; public counts always."""
        found = []
        for attacker in ATTACKERS:
            theirs = [each for each in (*self.findings, *self.recognised) if each.attacker == attacker]
            if theirs or attacker == PUBLIC:
                worst = max(theirs, key=lambda finding: finding.above_chance, default=None)
                found.append(Verdict(attacker, self.limit_for(attacker), worst))
        return tuple(found)

    @property
    def decisive(self) -> Verdict:
        """The verdict furthest above its limit; where none is, that of public counts."""
        above = [verdict for verdict in self.verdicts if verdict.exceeds]
        return max(above, key=lambda verdict: verdict.share - (verdict.limit or 0.0), default=self.verdicts[0])

    @property
    def worst(self) -> Finding | None:
        """The finding on a field with the largest share above chance."""
        return self.verdicts[0].worst

    @property
    def exceeds(self) -> bool:
        return any(verdict.exceeds for verdict in self.verdicts)

    def by_field(self) -> dict[str, Finding]:
        found: dict[str, Finding] = {}
        for finding in self.findings:
            if finding.field not in found or finding.above_chance > found[finding.field].above_chance:
                found[finding.field] = finding
        return found

    def as_dict(self) -> dict[str, Any]:
        lists = (("findings", self.findings), ("recognised", self.recognised), ("codes", self.codes))
        shown = {part: [{**asdict(each), "above_chance": each.above_chance} for each in found] for part, found in lists}
        shown_of = ("attacker", "limit", "share", "exceeds")
        verdicts = [{name: getattr(verdict, name) for name in shown_of} for verdict in self.verdicts]
        warnings = [warning.plain() for warning in self.warnings]
        judged = {"verdicts": verdicts, "exceeds": self.exceeds, "warnings": warnings}
        return {"version": VERSION, **asdict(self), **shown, **judged}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        known = {each.name: content[each.name] for each in fields(cls)}
        names = [each.name for each in fields(Finding)]
        for part in ("findings", "codes", "recognised"):
            known[part] = tuple(Finding(**{name: found[name] for name in names}) for found in content[part])
        warnings = tuple(ResultWarning.model_validate(each) for each in content["warnings"])
        return cls(**{**known, "warnings": warnings})


Gate = Callable[[Columns, Specification, Columns, AssessmentKeys, DrawnRecords | None], LeakageReport]
"""Measures what the encoding would let Carole learn of a file: from cleaned columns, variables' places and throw-away
keys; of a large file from what was drawn of it, of another None."""
