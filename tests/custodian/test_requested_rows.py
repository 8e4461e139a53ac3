"""The bound on requested rows: whatever is requested, in whatever order, what the answers join stays within the cap.

The attacker is Carole with the coordinator, who has every answer and knows what is refused. Joins are counted from what
she holds, not from what the custodian has stored.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.keys.vault import Vault, WrappingKeys
from gemel.common.parties import Role, Side
from gemel.common.specification import Requested, load_specification, specification_digest
from gemel.common.wire.row_handles import HANDLES, About, open_row_handles, request_digest
from gemel.custodian.state.custodian_state import State
from gemel.custodian.state.pending_uploads import DAY_SECONDS
from gemel.custodian.state.state_database import FROM_MAPS, REQUESTED, Upload
from gemel.custodian.steps.handle_submission import handles_of
from gemel.custodian.steps.requested_rows import count_requested
from gemel.custodian.steps.step_context import StepContext, Task
from gemel.protos.linkage.v1 import contribution_pb2, project_pb2
from tests.carole.refusals import refusal
from tests.common.specification.test_block_keyed import TEXT
from tests.custodian.conftest import PARTIES, everything
from tests.custodian.test_flow import CONTRIBUTED, eventually, running, shown
from tests.specifications import heading

N, RULES, DECOYS, DUMMIES = 20, 4, 3, 2
"""Records, and decoys, each with a row under every rule; dummies of each rule."""
ROWS = N + DECOYS + DUMMIES
"""Rows of a rule: in the order of the records, then decoys, then dummies."""
JOINS = (N + DECOYS) * (RULES - 1)
"""All joins of the rows."""


class Custodian:
    """What of a custodian the bound needs, and its answers."""

    def __init__(self, state: State, project: str = "keyed") -> None:
        self.state = state
        self.project = project
        self.runs = 0
        state.update(project)

    def upload(self, name: str, *, epoch: int = 1, encoding: bytes = b"e" * 32) -> Upload:
        sets = [contribution_pb2.SetLayout(rule=f"rule{number}", rows=ROWS) for number in range(RULES)]
        manifest = contribution_pb2.Manifest(encoding_digest=encoding, epoch=epoch, sets=sets, records=N)
        rows = RULES * ROWS
        packed = manifest.SerializeToString()
        return Upload(id=name * 32, project=self.project, epoch=epoch, manifest=packed, rows=rows, total_bytes=3)

    def request(
        self, rows: list[int], cap: float = 0.1, *, upload: Upload | None = None, requested: float | None = None
    ) -> tuple[np.ndarray, Requested]:
        """The handles of some rows, and what has been counted so far."""
        self.runs += 1
        more = "" if requested is None else f", max_requested: {requested}"
        text = f"{TEXT}resolution: {{max_joins: {cap}{more}}}\n"
        upload = upload or self.upload("a")
        task = Task(
            6, self.project, load_specification(text), text, b"", b"", upload.epoch, (), f"{self.runs:032}", upload.id
        )
        own = [f"Wolfeschlegelsteinhausen-{number:03}" for number in range(N)]
        identifiers = pl.Series((own + [None] * (DECOYS + DUMMIES)) * RULES, dtype=pl.String)
        decoys = pl.Series(([None] * N + list(range(DECOYS)) + [None] * DUMMIES) * RULES, dtype=pl.Int64)
        chosen = np.array(rows, dtype=np.uint32)
        context = cast("StepContext", SimpleNamespace(state=self.state, party=PARTIES[Side.ALICE]))
        counted = count_requested(context, task, upload, chosen, identifiers, decoys)
        return handles_of(identifiers, chosen, decoys), counted


def row(rule: int, record: int) -> int:
    return rule * ROWS + record


def joined(answers: list[tuple[list[int], np.ndarray]]) -> int:
    """Rows of one record that answers join, beyond one for each: of all runs, through rows that several name."""
    edges: list[tuple[int, int]] = []
    for rows, handles in answers:
        first: dict[int, int] = {}
        edges += [(place, first.setdefault(int(handle), place)) for place, handle in zip(rows, handles, strict=True)]
    if not edges:
        return 0
    a, b = np.array(edges).T
    seen = len(np.unique(np.array([a, b])))
    n = RULES * ROWS
    components, _ = connected_components(coo_matrix((np.ones(len(a)), (a, b)), shape=(n, n)), directed=False)
    return int(seen - (components - (n - seen)))


@pytest.fixture
def custodian(state: State) -> Custodian:
    return Custodian(state)


def refused(custodian: Custodian, rows: list[int], cap: float = 0.1, **given: Any) -> GemelError:
    with refusal(ErrorCode.LEAKAGE) as caught:
        custodian.request(rows, cap, **given)
    assert caught.value.remedy
    assert "Wolfe" not in str(caught.value)
    return caught.value


@given(
    requests=st.lists(st.lists(st.integers(0, RULES * ROWS - 1), max_size=40), max_size=8),
    cap=st.sampled_from([0.0, 0.05, 0.1, 0.5, 1.0]),
)
def test_no_sequence_of_requests_joins_more_than_the_cap(
    requests: list[list[int]], cap: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    state = State(tmp_path_factory.mktemp("state") / "s", Vault(WrappingKeys.create()))
    custodian, answers, closed = Custodian(state), [], False
    for rows in requests:
        try:
            handles, counted = custodian.request(rows, cap)
        except GemelError:
            closed = True
            continue
        assert not closed, "it answers again after a refusal"
        answers.append((rows, handles))
        assert joined(answers) <= counted.joins <= cap * JOINS
    state.close()


@given(rows=st.sets(st.integers(0, RULES * ROWS - 1), max_size=RULES * ROWS))
def test_of_one_request_exactly_what_it_joins_is_counted(
    rows: set[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    state = State(tmp_path_factory.mktemp("state") / "s", Vault(WrappingKeys.create()))
    handles, counted = Custodian(state).request(sorted(rows), 1.0)
    assert counted.joins == joined([(sorted(rows), handles)])
    assert counted.records == len({place % ROWS for place in rows if place % ROWS < N})
    state.close()


def test_a_carole_who_looks_for_the_rows_of_one_person_after_another(custodian: Custodian) -> None:
    """She requests two rules' rows in small questions that she chooses by the answers, and goes on when refused.

    Without the bound she ends with all joins: the positive control.
    """

    def attack(cap: float) -> int:
        answers: list[tuple[list[int], np.ndarray]] = []
        for rule in range(1, RULES):
            left = set(range(N))
            for record in range(N):
                candidates = sorted(left)
                while candidates:
                    half = candidates[: max(1, len(candidates) // 2)]
                    rows = [row(0, record), *(row(rule, other) for other in half)]
                    try:
                        handles, _ = custodian.request(rows, cap)
                    except GemelError:
                        return joined(answers)
                    answers.append((rows, handles))
                    found = bool((handles[1:] == handles[0]).any())
                    candidates = half if found else candidates[len(half) :]
                    if found and len(half) == 1:
                        left -= set(half)
                        break
        return joined(answers)

    assert attack(0.1) == int(0.1 * JOINS)
    assert refused(custodian, [row(0, 0)])
    # The positive control, in another project.
    custodian.project = "unbounded"
    custodian.state.update("unbounded")
    assert attack(1.0) == N * (RULES - 1)


def test_what_is_refused_is_no_oracle(custodian: Custodian) -> None:
    """With nothing left of the cap a refusal would say of any two rows that they are one record."""
    custodian.request([row(rule, record) for record in range(2) for rule in range(RULES)])
    assert "got 7" in str(refused(custodian, [row(0, 10), row(1, 10)]))
    error = refused(custodian, [row(0, 11), row(1, 12)])
    assert "until a higher cap is approved" in str(error)
    refused(custodian, [row(0, 0)])
    refused(custodian, [], 0.05)
    # What was refused was not sent, and does not count.
    assert custodian.request([row(0, 11), row(1, 11)], 0.12)[1] == Requested(3, 7)
    refused(custodian, [], 0.1)


def test_it_counts_over_uploads_and_epochs(custodian: Custodian) -> None:
    custodian.request([row(0, record) for record in range(N)])
    second = custodian.upload("b", epoch=2)
    assert custodian.request([row(1, record) for record in range(6)], upload=second)[1] == Requested(N, 6)
    # A record's row under a rule is the same of whatever upload, and another where the rules are others.
    assert custodian.request([row(0, record) for record in range(N)], upload=second)[1].joins == 6
    other = custodian.upload("c", epoch=2, encoding=b"f" * 32)
    refused(custodian, [row(0, 0)], upload=other)


def test_decoys_count_and_dummies_do_not(custodian: Custodian) -> None:
    dummies = [row(rule, N + DECOYS + number) for rule in range(RULES) for number in range(DUMMIES)]
    assert custodian.request([*dummies, row(0, N), row(1, N), row(2, N)])[1] == Requested(0, 2)
    refused(custodian, [row(rule, N + number) for rule in range(RULES) for number in range(DECOYS)])


def test_the_records_may_be_capped_too(custodian: Custodian) -> None:
    rows = [row(0, record) for record in range(N // 2)]
    assert custodian.request(rows, requested=0.5)[1] == Requested(N // 2, 0)
    error = refused(custodian, [row(0, N - 1)], requested=0.5)
    assert "at most 10 records of Alice, in all runs together (resolution.max_requested)" in str(error)
    refused(custodian, rows, requested=0.5)
    assert custodian.request([row(0, N - 1)])[1] == Requested(N // 2 + 1, 0)


def test_it_outlives_a_restart_an_erasure_and_the_maps(custodian: Custodian, vault: Vault) -> None:
    state, made = custodian.state, custodian.upload("a")
    with state.uploads.writing(made.id) as files:
        files.payload.write(b"body")
    upload = state.uploads.add(made, files, map_days=1)
    state.uploads.mark_committed(upload.id)
    assert custodian.request([row(rule, record) for record in range(2) for rule in range(3)])[1] == Requested(2, 4)
    # An erasure that Carole reports does not begin the count again.
    state.erase_secrets("keyed")
    state.close()
    assert b"Wolfe" not in everything(state.folder)
    state = State(state.folder, vault)
    custodian = Custodian(state)
    assert custodian.request([])[1] == Requested(2, 4)
    state.uploads.erase_expired_maps(upload.created_at + 1.5 * DAY_SECONDS)
    assert all(state.secret("keyed", 0, kind) is None for kind in FROM_MAPS)
    # No identifier is left; the numbers are, and what is requested of a further upload is added.
    assert custodian.request([row(0, 5), row(1, 5), row(2, 5)])[1] == Requested(3, 6)
    assert state.secret("keyed", 0, REQUESTED) is not None
    refused(custodian, [row(3, 5)])
    state.close()


# A Carole who requests handles of rows that are no candidates, before a custodian's real service.

LYING_N = 60
LYING_TEXT = (
    heading("people", "block_keyed", alice="rec_id", bob="number")
    + """
fields:
  - {name: surname, kind: name, columns: {alice: surname, bob: family_name}}
  - {name: born, kind: date, date: {order: ymd}}
  - {name: postcode, kind: code}
blocking:
  - {name: born, keys: [{field: born}]}
  - {name: name, keys: [{field: surname, prefix: 4}]}
  - {name: place, keys: [{field: postcode}]}
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
leakage: {above: warn}
resolution: {max_joins: 0.3}
"""
)
"""Every record has a row under each rule, but one that has no postcode: 119 joins, of which handles may show 35."""
EXCEEDED = "handles may join at most 35 rows of Alice to another row of their record, in all runs together"


def opened(world: Any, side: Side, run: str, request: bytes) -> np.ndarray:
    """The handles of a run, as the coordinator reads them, which here is Carole's accomplice."""
    carole, parties = world.carole, world.carole.parties
    reader = parties.members.in_role(Role.COORDINATOR)
    about = About(
        project="people",
        run=run,
        side=side,
        specification=specification_digest(load_specification(LYING_TEXT)),
        request=request_digest(request),
        reader=reader.name,
        key=reader.sealing,
    )
    key = SealingKey.load(parties.parties[reader.name].sealing)
    identity = parties.members.in_role(side.role).identity
    return open_row_handles(key, identity, about, carole.handles[side, run])[HANDLES]


def test_she_has_no_more_joins_than_the_cap_in_all_runs(
    make_world: Callable[..., Any], capfd: pytest.CaptureFixture[str]
) -> None:
    world = make_world(LYING_N, text=LYING_TEXT)
    carole, side = world.carole, Side.ALICE
    with running(world.alice, world.bob):
        carole.wait_for(lambda: carole.state == CONTRIBUTED)

    def requested(number: int, rows: range) -> np.ndarray:
        run = f"{number:032}"
        carole.request_handles(side, run, rows)
        request = carole.requests[side][1]
        carole.wait_for(lambda: (side, run) in carole.handles)
        return opened(world, side, run, request)

    def refused(number: int, rows: range, words: str) -> None:
        run = f"{number:032}"
        carole.request_handles(side, run, rows)
        eventually(lambda: words in shown(world.alice).blocking_error)
        leakage = project_pb2.CUSTODIAN_CONDITION_LEAKAGE
        carole.wait_for(lambda: carole.conditions[side].get("people") == leakage)
        assert (side, run) not in carole.handles
        with carole.lock:
            del carole.requests[side]

    with running(world.alice):
        # All rows of a rule: different records, no join. Then 30 of the next rule, in another run.
        assert len(np.unique(requested(1, range(LYING_N)))) == LYING_N
        requested(2, range(LYING_N, LYING_N + 30))
        refused(3, range(3 * LYING_N - 1), f"{EXCEEDED} (resolution.max_joins)")
        assert "got 119" in shown(world.alice).blocking_error
    with running(world.alice):
        # Started again, it knows; and a request that it would have answered before the refusal it does not.
        refused(4, range(LYING_N + 30, LYING_N + 35), "no handles are submitted until a higher cap is approved")
    logged = "".join(capfd.readouterr())
    identifiers = {f"a{number}" for number in range(LYING_N)}
    assert not identifiers & set(shown_words(logged))


def shown_words(text: str) -> list[str]:
    return "".join(character if character.isalnum() else " " for character in text).split()
