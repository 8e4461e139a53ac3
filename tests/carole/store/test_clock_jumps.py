"""The clock of Carole's machine jumps: nothing is lost by a jump back, and a run that a jump ahead ends is taken up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gemel.carole.projects.project import RunState, State
from gemel.carole.store import Store
from gemel.carole.store.clock_guard import DAY_MS
from gemel.carole.store.provision import confirm_clock
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity
from gemel.common.parties import Role, Side
from tests.carole.refusals import refusal
from tests.carole.store.conftest import Clock, pass_days
from tests.carole.trial import PROJECT, UPLOADS, Contribution, contributed, intact, keyed, taken

RUN = "c" * 32
YEAR_MS = 365 * 24 * 3600 * 1000
SHARES = {str(Role.COORDINATOR): [b"{}"]}


def erased(store: Store) -> int:
    """What retention erases; nothing where the clock is not believed."""
    try:
        store.clock_guard.require()
    except GemelError:
        with pytest.raises(GemelError):
            store.retention.enforce()
        return 0
    return store.retention.enforce()


@pytest.mark.parametrize("jump", [-YEAR_MS, -1, 60 * 60 * 1000])
def test_an_upload_goes_on_over_a_jump(
    store: Store, small: dict[Side, Contribution], clock: Clock, identity: Identity, url: str, jump: int
) -> None:
    keyed(store)
    for side, given in small.items():
        store.uploads.begin(PROJECT, side, str(side), UPLOADS[side], given.layout)
        clock.now += jump
        given.put(store, side, UPLOADS[side])
        assert erased(store) == 0
        given.commit(store, side, UPLOADS[side])
    assert store.projects.get(PROJECT).state is State.CONTRIBUTED
    assert intact(url, identity)


def test_a_run_is_worked_on_once_over_a_jump_back(
    store: Store, small: dict[Side, Contribution], clock: Clock, identity: Identity, url: str
) -> None:
    contributed(store, small)
    lease = taken(store, RUN)
    clock.now -= YEAR_MS
    assert store.runs.take("another") is None, "its worker is alive"
    assert store.runs.renew_lease(lease, "count", 0.5)
    clock.now += 120_000
    other = store.runs.take("another")
    assert other is not None, "a renewal counts from the clock as it now is: a silent worker loses the run soon"
    store.runs.finish(other, 7, SHARES)
    assert store.projects.get(PROJECT).state is State.RELEASED
    assert erased(store) == 0
    assert intact(url, identity)


def test_a_run_is_worked_on_once_over_a_jump_ahead(
    store: Store, small: dict[Side, Contribution], clock: Clock, identity: Identity, url: str
) -> None:
    contributed(store, small)
    former = taken(store, RUN)
    clock.now += 24 * 3600 * 1000
    second = store.runs.take("another")
    assert second is not None, "to Carole the first worker has been silent for a day"
    with refusal(ErrorCode.WRONG_STATE):
        store.runs.finish(former, 7, SHARES)
    store.runs.finish(second, 7, SHARES)
    assert [entry.action for entry in store.audit.entries(PROJECT)].count("release") == 1
    assert intact(url, identity)


def test_a_dead_workers_run_is_freed_at_a_start_although_the_clock_went_back(
    open_store: Callable[[], Store], small: dict[Side, Contribution], clock: Clock
) -> None:
    store = open_store()
    contributed(store, small)
    store.runs.start(PROJECT, "coordinator", "r", RUN)
    assert store.runs.take("worker") is not None
    clock.now -= YEAR_MS
    store = open_store()
    assert store.runs.get(PROJECT, RUN).state is RunState.QUEUED
    assert store.runs.take("another") is not None


@pytest.mark.parametrize("jump", [YEAR_MS, -YEAR_MS])
def test_a_clock_that_has_moved_far_erases_nothing_until_it_is_confirmed(
    open_store: Callable[[], Store],
    small: dict[Side, Contribution],
    clock: Clock,
    url: str,
    tmp_path: Path,
    identity: Identity,
    jump: int,
) -> None:
    store = open_store()
    contributed(store, small)
    clock.now += jump
    for _ in range(2):
        store.clock_guard.advance()
        for refused in (store.retention.enforce, store.clock_guard.require):
            with refusal(ErrorCode.CONFIGURATION, "365 days"):
                refused()
        store = open_store()  # nor does a restart believe it
    assert store.uploads.read(PROJECT, Side.ALICE)
    with pytest.raises(GemelError) as caught:
        confirm_clock(url, tmp_path / "blobs", identity, clock)
    assert caught.value.code is ErrorCode.BUSY, "she serves"
    store.close()
    assert confirm_clock(url, tmp_path / "blobs", identity, clock) == jump // DAY_MS
    store = open_store()
    entry = store.audit.entries("")[-1]
    assert (entry.actor, entry.action, entry.details) == ("system", "confirm-clock", {"days": jump // DAY_MS})
    assert store.retention.enforce() == (2 if jump > 0 else 0)
    assert intact(url, identity)


def test_days_that_pass_while_she_serves_are_believed(
    store: Store, small: dict[Side, Contribution], clock: Clock
) -> None:
    contributed(store, small)
    pass_days(store, clock, 8)
    assert store.retention.enforce() == 2


def test_a_new_store_believes_the_clock_of_its_first_service(open_store: Callable[[], Store], clock: Clock) -> None:
    clock.now += YEAR_MS
    store = open_store()
    store.clock_guard.require()
    clock.now += YEAR_MS
    with pytest.raises(GemelError):
        store.clock_guard.require()
