"""What the audit log has that a steward decides by: the leakage that custodians measured, and who signed a release why.

The entries are proven to be in the log that Carole has signed; what they state is the custodians' own word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gemel.common.audit import AuditEntry
from gemel.coordinator.console.project_words import when


@dataclass(frozen=True)
class LeakageStatement:
    """What a custodian measured on its own records before it contributed them.

    Attributes
    ----------
    custodian, at
        Who stated it, and when.
    measured, limit
        What known attacks recovered that is nearest to its limit, of a field's values above guessing or of a
        register's people, and that limit: shares. None where the specification requires no measurement.
    override
        The operator's reason to contribute above the limit; empty below it.
    """

    custodian: str
    at: str
    measured: float | None
    limit: float | None
    override: str

    @property
    def is_above(self) -> bool:
        """Whether it is above the limit."""
        return self.measured is not None and self.limit is not None and self.measured > self.limit


@dataclass(frozen=True)
class ReleaseReason:
    """A steward's signature on the release of a held result, with when and why."""

    member: str
    at: str
    reason: str


def leakage_statements(entries: Iterable[AuditEntry]) -> list[LeakageStatement]:
    """The newest statement of each custodian, in the order of their names."""
    newest = {entry.actor: entry for entry in entries if entry.action == "begin-upload"}
    return [
        LeakageStatement(
            actor,
            when(entry.at),
            _share(entry.details.get("leakage")),
            _share(entry.details.get("leakage_limit")),
            str(entry.details.get("leakage_override", "")),
        )
        for actor, entry in sorted(newest.items())
    ]


def release_reasons(entries: Iterable[AuditEntry], run: str, signed: Sequence[str]) -> list[ReleaseReason]:
    """Of each steward whose signature counts, the newest one on the release of a run."""
    newest = {entry.actor: entry for entry in entries if entry.action == "override" and entry.details.get("run") == run}
    return [
        ReleaseReason(name, when(newest[name].at), str(newest[name].details.get("reason", "")))
        if name in newest
        # Carole counts a signature that is not in her log: this is not to look like one that is.
        else ReleaseReason(name, "", "")
        for name in signed
    ]


def _share(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
