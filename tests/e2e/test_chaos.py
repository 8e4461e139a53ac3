"""Chaos, a short run: a project whose processes are killed, stopped and ended links as one that is left alone.

`python -m benchmarks chaos --projects N --hours H` is the long run, of both modes.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks._chaos_metrics import Page, Replay, compared
from benchmarks.chaos import Ended, differences, trial
from gemel.common.audit import AuditEntry
from gemel.common.audit.entry import canonical
from tests import fork_server

SEED = 17


@pytest.mark.long
def test_a_disturbed_project_ends_as_one_that_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One kill each, in the first tier: test_interruption.py, test_block_keyed.py, test_shared_disturbed.py."""
    print(f"seed {SEED}")
    # Nothing is forked, in no thread: Carole's worker is her one child then, and is what is struck.
    monkeypatch.setattr(subprocess, "Popen", fork_server._Popen)
    problems = list(trial(tmp_path, 1, 80, SEED, seconds=6.0, pause=0.7, modes=("block_keyed",)))
    assert not problems, "\n".join(problems)


def test_other_links_and_a_second_release_are_found() -> None:
    links = {("a", "b"), ("c", "d")}
    assert list(differences("one", Ended(links, 1, 1, 0.0), links)) == []
    assert list(differences("one", Ended(links, 2, 1, 0.0), links)) == ["one: 2 releases"]
    assert list(differences("one", Ended(links, 1, 1, 0.0), {("a", "b"), ("x", "y"), ("z", "w")})) == [
        "one: 1 links too many, 2 too few"
    ]


LOG = [
    AuditEntry(number, 0, "p", actor, action, canonical(details), b"")
    for number, (actor, action, details) in enumerate(
        [
            ("coordinator", "create", {"state": "DRAFT"}),
            ("alice", "begin-upload", {"upload": "u"}),
            ("alice", "commit-upload", {"upload": "u", "state": "CONTRIBUTED"}),
            ("coordinator", "start-run", {"run": "r"}),
            ("system", "take-run", {"run": "r", "attempt": 1}),
            ("coordinator", "erase", {"state": "ERASED"}),
        ],
        1,
    )
]


def page(entries: int, **changes: float) -> Page:
    """A page as Carole shows it after so many entries, but for the changes."""
    replay = Replay()
    for entry in LOG[:entries]:
        replay.follow(entry)
    lines = ["process_start_time_seconds 1.0"]
    for (name, labels), value in replay.expected().items():
        named = ",".join(f'{key}="{each}"' for key, each in labels)
        lines.append(f"{name}{{{named}}} {changes.get('_'.join([name, *(each for _, each in labels)]), value)}")
    lines += [
        f"# TYPE {name} counter\n{name} {value}"
        for name, value in changes.items()
        if name not in ("gemel_runs_queued",)
    ]
    return Page.parse("\n".join(lines) + "\n")


def test_metrics_that_do_not_follow_from_the_log_are_found() -> None:
    assert list(compared([page(size) for size in (6, 1, 4, 2, 3, 5)], LOG)) == []
    assert page(2).value("gemel_uploads_open") == page(4).value("gemel_runs", state="queued") == 1
    assert page(6).value("gemel_runs", state="failed") == page(6).value("gemel_projects", state="erased") == 1
    assert list(compared([page(4, gemel_runs_queued=2.5)], LOG)) == [
        "at entry 4 gemel_runs{state=queued} is 2.5, by the log 1"
    ]
    assert list(compared([page(6)], LOG[:5])) == ["a page shows 6 entries of a log of 5"]
    assert list(compared([page(3, gemel_new=1.0)], LOG)) == ["gemel_new is a metric of no known kind"]
    fell = [page(1, gemel_worker_starts_total=2.0), page(2, gemel_worker_starts_total=1.0)]
    assert list(compared(fell, LOG)) == ["gemel_worker_starts_total fell from 2 to 1.0 while its process lived"]
