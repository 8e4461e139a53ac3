"""The entry of a release is believed for its own project, action and run, and for no other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gemel.common.audit import AuditEntry, Checkpoint
from gemel.common.audit.entry import canonical
from gemel.common.errors import ErrorCode
from gemel.common.witnessing.shown_entry import RELEASE, believed_release
from gemel.protos.linkage.v1 import audit_pb2
from tests.carole.refusals import refusal

ENTRY = AuditEntry(1, 1_700_000_000_000, "study", "system", RELEASE, canonical({"run": "r1"}), b"s" * 16)


def believed(entry: AuditEntry) -> AuditEntry:
    """The entry as that of the release of run r1 of the project, in a log that has it alone and is signed so."""
    shown = audit_pb2.AuditEntry(
        sequence=entry.sequence,
        at_unix_ms=entry.at,
        project=entry.project,
        actor=entry.actor,
        action=entry.action,
        details=entry.text,
        salt=entry.salt,
    )
    under = Checkpoint("ab" * 16, 1, entry.leaf, entry.at, b"s" * 64)
    return believed_release(audit_pb2.WitnessResponse(release=shown), under, "study", "r1")


def test_the_release_of_the_run_is_believed() -> None:
    assert believed(ENTRY) == ENTRY


@pytest.mark.parametrize(
    "other",
    [{"project": "another"}, {"project": ""}, {"action": "hold"}, {"text": canonical({"run": "r2"})}, {"text": "["}],
    ids=str,
)
def test_another_entry_of_the_same_log_is_not(other: dict[str, str]) -> None:
    with refusal(ErrorCode.AUDIT):
        believed(replace(ENTRY, **other))
