"""A custodian whose service was away learns what became of its projects, however many others have ended meanwhile."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from gemel.carole.service import wire as statuses
from gemel.common.parties import Side
from gemel.common.rpc import pages
from gemel.custodian.configuration import load_custodian
from gemel.custodian.operator.control import Control
from tests.carole.service.test_project_lists import fill
from tests.e2e.deployment import CUSTODIANS, Deployment, people, specification

OTHERS = [f"other-{number}" for number in range(60)]


def test_erased_while_away_restarted_and_restored(
    deploy: Callable[..., Deployment], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statuses, "ANSWER_BYTES", 4096)
    monkeypatch.setattr(pages, "PAGE_BYTES", 2048)
    one, two = (specification(name, bits=256) for name in ("one", "two"))
    made = deploy(one, two, files=people(20, 10))
    application = made.start_carole()
    alice, bob = made.start(Side.ALICE), made.start(Side.BOB)
    for text in (one, two):
        made.contributed(text)
    state = load_custodian(made.configs[Side.ALICE]).state
    made.eventually(lambda: secrets(state) == {"one", "two"})
    alice.close()
    shutil.copytree(state, tmp_path / "backup")
    # Away while one project is erased, many others end, and Carole is started again.
    made.coordinator.erase("one")
    fill(application.store, OTHERS)
    application.stop()
    application = made.start_carole()
    alice = made.start(Side.ALICE)
    made.eventually(lambda: made.shown(Side.ALICE, "one").stage == "erased")
    assert secrets(state) == {"two"}
    # While it runs: it has been shown everything by then, or is being shown.
    names = {"one", "two", *OTHERS}
    made.eventually(lambda: set(listed(made)) == names)
    assert len(listed(made)) == len(names)
    made.coordinator.erase("two")
    made.eventually(lambda: made.shown(Side.ALICE, "two").stage == "erased")
    assert secrets(state) == set()
    # Its state is put back from before both.
    alice.close()
    shutil.rmtree(state)
    shutil.copytree(tmp_path / "backup", state)
    assert secrets(state) == {"one", "two"}
    made.start(Side.ALICE)
    made.eventually(lambda: not secrets(state))
    bob.close()


def secrets(state: Path) -> set[str]:
    """The projects of which the state folder has secrets."""
    with sqlite3.connect(f"file:{state / 'custodian.sqlite'}?mode=ro", uri=True) as database:
        return {project for (project,) in database.execute("SELECT DISTINCT project FROM secret WHERE kind = 'seed'")}


def listed(made: Deployment) -> list[str]:
    with Control.open(made.configs[Side.ALICE], CUSTODIANS[Side.ALICE]) as control:
        return [found.project for found in control.status().projects]
