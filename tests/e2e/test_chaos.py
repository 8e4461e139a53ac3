"""Chaos, a short run: a project whose processes are killed, stopped and ended links as one that is left alone.

`python -m benchmarks chaos --projects N --hours H` is the long run, of both modes.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks._chaos_project import Ended
from benchmarks.chaos import differences, trial

SEED = 17


def test_a_disturbed_project_ends_as_one_that_is_left_alone(tmp_path: Path) -> None:
    print(f"seed {SEED}")
    problems = list(trial(tmp_path, 1, 80, SEED, seconds=6.0, pause=0.7, modes=("block_keyed",)))
    assert not problems, "\n".join(problems)


def test_other_links_and_a_second_release_are_found() -> None:
    links = {("a", "b"), ("c", "d")}
    assert list(differences("one", Ended(links, 1, 1, 0.0), links)) == []
    assert list(differences("one", Ended(links, 2, 1, 0.0), links)) == ["one: 2 releases"]
    assert list(differences("one", Ended(links, 1, 1, 0.0), {("a", "b"), ("x", "y"), ("z", "w")})) == [
        "one: 1 links too many, 2 too few"
    ]
