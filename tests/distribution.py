"""In which order the workers of a parallel run take the files of tests, and which files one worker takes together."""

from __future__ import annotations

import pytest
from xdist.scheduler import LoadFileScheduling

TOGETHER = {
    "tests/e2e/test_planted.py": "tests/e2e/test_linkage.py",  # both look at the linkage of `tests.e2e.linked`
}
"""Files that go with another: the session's fixture that they share is made once in each worker that needs it."""

FIRST = (
    "tests/e2e",
    "tests/deploy",
    "research/tests",
    "tests/benchmarks",
    "tests/packaging",
    "tests/coordinator/rehearsal",
    "tests/carole/service",
    "tests/protocol",
    "tests/custodian",
    "tests/coordinator",
)
"""Folders whose files take longest, in their order: what is left at the end should be short."""


FOLDER_TOGETHER = "tests/architecture/"
"""Its tests read the syntax of every module, which a worker parses once."""


def file_of(nodeid: str) -> str:
    """The file of a test, or that or the folder with which it goes."""
    file = nodeid.partition("::")[0]
    return FOLDER_TOGETHER if file.startswith(FOLDER_TOGETHER) else TOGETHER.get(file, file)


def rank(nodeid: str) -> int:
    """Where a test's folder stands in `FIRST`."""
    file = file_of(nodeid)
    return next((place for place, folder in enumerate(FIRST) if file.startswith(f"{folder}/")), len(FIRST))


def arranged(nodeids: list[str]) -> list[int]:
    """The places of tests in the order to run them: folder by folder as `FIRST` says, what goes together together."""
    return sorted(range(len(nodeids)), key=lambda place: (rank(nodeids[place]), file_of(nodeids[place])))


class ByFile(LoadFileScheduling):
    """Whole files, in the order of `arranged`.

    xdist's own order begins with the files of most tests; those of a few long tests would come last.
    """

    def __init__(self, config: pytest.Config, log: object = None) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)  # type: ignore[arg-type]

    def _split_scope(self, nodeid: str) -> str:
        return file_of(nodeid)
