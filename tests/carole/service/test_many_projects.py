"""Projects at once, of the same custodians at one Carole with one worker: each ends with its own links."""

from __future__ import annotations

import io
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from gemel.carole.projects.project import RunState, State
from gemel.carole.service.supervisor import Supervisor
from gemel.common.errors import ErrorCode
from gemel.common.keys.sealing import SealContext, open_sealed
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import Side
from gemel.common.pki.provisioning import Provisioned
from tests.carole.deployment import Deployment, make_upload, people
from tests.carole.refusals import refusal
from tests.carole.service.test_worker import eventually

N = 60


def shared(number: int) -> int:
    """How many people of a project's two files are the same: of no two projects as many."""
    return 25 + number


def linked(carole: Deployment, project: str, run: str, orders: dict[Side, np.ndarray]) -> set[tuple[int, int]]:
    """The persons that both shares name as linked, by their numbers within the project's files."""
    tables = {}
    for side in Side:
        key = SealingKey.load(carole.parties.parties[str(side)].sealing)
        sealed, _ = carole.custodian(side, project).fetch(run)
        content = b"".join(open_sealed(key, SealContext(project, run, str(side)), [sealed]))
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            tables[side] = pl.read_parquet(archive.read("links.parquet"))
    joined = tables[Side.ALICE].join(tables[Side.BOB], on="link_id", suffix="_bob", validate="1:1")
    assert joined.height == tables[Side.ALICE].height == tables[Side.BOB].height
    alices = orders[Side.ALICE][joined["row"].to_numpy()]
    bobs = orders[Side.BOB][joined["row_bob"].to_numpy()]
    return set(zip(alices.tolist(), bobs.tolist(), strict=True))


@pytest.mark.parametrize("number_of", [4, pytest.param(20, marks=pytest.mark.long)])
def test_projects_at_once(parties: Provisioned, tmp_path: Path, number_of: int) -> None:
    numbers = {f"of-{number}": number for number in range(number_of)}
    carole = Deployment(parties, tmp_path / "carole")
    carole.records = N
    try:
        carole.start(Supervisor)

        def conduct(project: str) -> tuple[str, dict[Side, np.ndarray]]:
            number, orders = numbers[project], {}
            carole.keyed(project)
            for side, first in ((Side.ALICE, 0), (Side.BOB, N - shared(number))):
                frame = people(N, offset=1000 * number + first)
                # Their uploads have the same names: what is a project's is known by the project.
                upload, orders[side] = make_upload(side, frame, side[0] * 32, project=project)
                carole.custodian(side, project).contribute(upload)
            return carole.coordinator().start(project).run, orders

        with ThreadPoolExecutor(number_of) as threads:
            begun = dict(zip(numbers, threads.map(conduct, numbers), strict=True))
        states = lambda: {carole.store.runs.get(name, run).state for name, (run, _) in begun.items()}  # noqa: E731
        eventually(lambda: states() <= {RunState.DONE, RunState.FAILED}, 600)
        for name, (run, orders) in begun.items():
            expected = {(N - shared(numbers[name]) + person, person) for person in range(shared(numbers[name]))}
            assert linked(carole, name, run, orders) == expected, name
            assert carole.store.projects.get(name).state is State.RELEASED
            actions = [entry.action for entry in carole.store.audit.entries(name)]
            assert [actions.count(action) for action in ("create", "commit-upload", "release")] == [1, 2, 1]
        # A run is found under its own project only.
        with refusal(ErrorCode.NOT_FOUND):
            carole.custodian(Side.ALICE, "of-0").fetch(begun["of-1"][0])
    finally:
        carole.stop()
