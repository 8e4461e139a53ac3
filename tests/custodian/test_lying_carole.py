"""A Carole who requests handles of rows that are no candidates, before a custodian's real service."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import Role, Side
from gemel.common.specification import load_specification, specification_digest
from gemel.common.wire.row_handles import HANDLES, About, open_row_handles, request_digest
from gemel.protos.linkage.v1 import project_pb2
from tests.custodian.test_flow import CONTRIBUTED, eventually, running, shown
from tests.specifications import heading

N = 60
TEXT = (
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
        specification=specification_digest(load_specification(TEXT)),
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
    world = make_world(N, text=TEXT)
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
        assert len(np.unique(requested(1, range(N)))) == N
        requested(2, range(N, N + 30))
        refused(3, range(3 * N - 1), f"{EXCEEDED} (resolution.max_joins)")
        assert "got 119" in shown(world.alice).blocking_error
    with running(world.alice):
        # Started again, it knows; and a request that it would have answered before the refusal it does not.
        refused(4, range(N + 30, N + 35), "no handles are submitted until a higher cap is approved")
    logged = "".join(capfd.readouterr())
    identifiers = {f"a{number}" for number in range(N)}
    assert not identifiers & set(shown_words(logged))


def shown_words(text: str) -> list[str]:
    return "".join(character if character.isalnum() else " " for character in text).split()
