"""What a party has seen of the log: kept in a file, and the entries that are proven to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gemel.carole.service.wire import entry_to_wire
from gemel.common.audit import AuditEntry, Checkpoint
from gemel.common.audit.entry import canonical
from gemel.common.errors import ErrorCode
from gemel.common.witnessing.shown_entry import RELEASE, believed_release
from gemel.coordinator.client.log_memory import FileMemory
from gemel.protos.linkage.v1 import audit_pb2
from tests.carole.refusals import refusal

HOUR = 60 * 60 * 1000


def checkpoint(size: int, at: int) -> Checkpoint:
    return Checkpoint("ab" * 16, size, bytes([size]) * 32, at, b"s" * 64)


def test_of_each_hour_the_last_is_kept_and_what_is_set_aside_stays(tmp_path: Path) -> None:
    memory = FileMemory(tmp_path / "seen.json")
    assert memory.newest_seen() is None
    for size, at in ((1, 0), (2, 5), (4, HOUR), (3, HOUR + 1), (5, HOUR + 2), (9, 3 * HOUR)):
        memory.see(checkpoint(size, at))
    again = FileMemory(tmp_path / "seen.json")
    assert [each.size for each in again.seen()] == [2, 5, 9]
    again.set_aside(7, 4)
    assert [each.size for each in memory.seen()] == [2]
    assert memory.lost(7) == checkpoint(9, 3 * HOUR)
    assert memory.lost(8) is None
    assert (tmp_path / "seen.json").stat().st_mode & 0o077 == 0


def test_the_digest_of_a_share_that_was_fetched_is_not_forgotten(tmp_path: Path) -> None:
    memory = FileMemory(tmp_path / "seen.json")
    for root in (b"", b"r" * 32, b""):
        memory.note_released("births", "run", root)
    memory.note_released("births", "another")
    assert memory.released("births") == {"run": b"r" * 32, "another": b""}
    assert memory.released("deaths") == {}


def test_a_file_that_is_another_and_a_folder_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    (tmp_path / "seen.json").write_text("[1]")
    with refusal(ErrorCode.AUDIT, "this is not the file of what was seen"):
        FileMemory(tmp_path / "seen.json").seen()
    with refusal(ErrorCode.CONFIGURATION, "set `state` in the configuration"):
        FileMemory(tmp_path / "absent" / "seen.json").see(checkpoint(1, 0))
    assert not (tmp_path / "absent").exists()


ENTRY = AuditEntry(1, 1_700_000_000_000, "study", "system", RELEASE, canonical({"run": "r1"}), b"s" * 16)


def believed(entry: AuditEntry) -> AuditEntry:
    """The entry as that of the release of run r1 of the project, in a log that has it alone and is signed so."""
    under = Checkpoint("ab" * 16, 1, entry.leaf, entry.at, b"s" * 64)
    return believed_release(audit_pb2.WitnessResponse(release=entry_to_wire(entry, [])), under, "study", "r1")


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
