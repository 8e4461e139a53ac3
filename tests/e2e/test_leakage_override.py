"""Above the leakage limit, through real services: no contribution before a reason, and the reason in the audit log.

One rule, on the beginning of a surname, and few surnames of which one is common in every block: what sizes and counts
give away is far above the limit, on either custodian's own records and by its own measurement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest

from gemel.common.parties import Side
from tests.e2e.deployment import BOBS_NAMES, STATE, Deployment, people, specification
from tests.typed import error_of, printed

N = 60
COMMON = ("anderson", "brown", "clarke", "davies", "evans", "foster", "green", "hughes")
RARE = ("andrews", "brooks", "clayton", "davenport", "evanson", "fosdyke", "gregory", "hughson")
MORE = """\
blocking:
  - {name: surname, keys: [{field: surname, prefix: 3}]}
leakage: {limit: 0.01}
"""
TEXT = specification("leaky", bits=512, more=MORE, mode="block_keyed")
REASONS = {Side.ALICE: "surnames of this register are public", Side.BOB: "agreed by the board in its minutes of May"}


def skewed(frame: pl.DataFrame, column: str, rng: np.random.Generator) -> pl.DataFrame:
    """The same people with other surnames: blocks of falling size, in each of which four of five have one name."""
    shares = 0.6 ** np.arange(len(COMMON))
    block = rng.choice(len(COMMON), frame.height, p=shares / shares.sum())
    common = rng.random(frame.height) < 0.8
    names = [(COMMON if often else RARE)[which] for which, often in zip(block, common, strict=True)]
    return frame.with_columns(pl.Series(column, names))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    rng = np.random.default_rng(1)
    columns = {Side.ALICE: "surname", Side.BOB: BOBS_NAMES["surname"]}
    files = {side: skewed(frame, columns[side], rng) for side, frame in people(N, N // 2, seed=3).items()}
    with Deployment(tmp_path_factory.mktemp("leaky"), [TEXT], files) as made:
        made.start_carole()
        made.processes("alice", "bob")  # which measure, unlike a service without its program
        yield made


@pytest.mark.long  # in one process: tests/custodian/test_attachment.py, tests/carole/service/test_leakage_statement.py
def test_an_override_is_read_back_from_the_audit_log_with_its_reason(made: Deployment) -> None:
    project = made.create(TEXT)
    for side in Side:
        # Mostly the surname; but which field is worst is chance, as the keys are.
        assert re.search(rf"project {project}, field \w+: .* limit of 1\.0%", made.blocking_error(side, project))
    assert made.status(project).state == STATE.PROJECT_STATE_KEYED
    assert not [entry for entry in made.audited() if entry["action"] == "begin-upload"]

    for side in Side:
        command = (str(side), "override", project, "--config", made.configs[side])
        for reasonless in (command, (*command, "--reason", "   ")):
            assert "needs a reason" in str(error_of(*reasonless))
    assert made.status(project).state == STATE.PROJECT_STATE_KEYED
    for side in Side:
        printed(side, "override", project, "--config", made.configs[side], "--reason", REASONS[side], "--yes")
    made.wait_for(project, STATE.PROJECT_STATE_CONTRIBUTED)

    begun = {entry["actor"]: entry for entry in made.audited() if entry["action"] == "begin-upload"}
    assert set(begun) == {made.made.members.in_role(side.role).name for side in Side}
    for side in Side:
        entry = begun[made.made.members.in_role(side.role).name]
        assert entry["project"] == project
        assert entry["details"]["leakage_override"] == REASONS[side]
        assert entry["details"]["leakage_limit"] == 0.01
        assert entry["details"]["leakage"] > 0.01
        assert "limit" not in made.shown(side, project).blocking_error
    printed("audit", "verify", "--config", made.carole_yaml)
