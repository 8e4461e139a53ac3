"""A custodian that begins upload after upload, or stores more than its share, is refused, and the others are not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gemel.carole.store import Store
from gemel.carole.store.uploads import Quota
from gemel.common.errors import ErrorCode
from gemel.common.parties import Role, Side
from tests.carole.refusals import refusal
from tests.carole.store.conftest import Clock
from tests.carole.trial import NEW, PROJECT, Contribution, keyed

DAY_MS = 24 * 3600 * 1000
LARGE = 1 << 40


@pytest.fixture
def given(contributions: dict[Side, Contribution]) -> Contribution:
    return contributions[Side.ALICE]


def begin(store: Store, given: Contribution, number: int, quota: Quota, side: Side = Side.ALICE, to: str = PROJECT):  # type: ignore[no-untyped-def]
    return store.uploads.begin(to, side, str(side), f"{number:032x}", given.layout, quota=quota)


def entries(store: Store) -> int:
    return sum(entry.action == "begin-upload" for entry in store.audit.entries(PROJECT))


def refused(store: Store, given: Contribution, number: int, quota: Quota, **named: object) -> str:
    with refusal(ErrorCode.UPLOAD_LIMIT) as caught:
        begin(store, given, number, quota, **named)  # type: ignore[arg-type]
    return str(caught.value)


def test_new_uploads_are_counted_for_a_day(store: Store, given: Contribution, clock: Clock) -> None:
    keyed(store)
    quota = Quota(LARGE, new_uploads=3)
    for number in range(3):
        begin(store, given, number, quota)
    for number in range(3, 10):
        assert "24 hours" in refused(store, given, number, quota)
    assert entries(store) == 3, "what is refused writes nothing"
    begin(store, given, 2, quota)  # its progress may be queried as often as it likes
    begin(store, given, 3, quota, side=Side.BOB)
    clock.now += DAY_MS
    begin(store, given, 4, quota)


def test_bytes_are_counted_over_all_projects_without_what_is_replaced(store: Store, given: Contribution) -> None:
    keyed(store)
    size = len(given.payload)
    quota = Quota(2 * size, new_uploads=100)
    begin(store, given, 0, quota)
    begin(store, given, 1, quota)
    given.put(store, Side.ALICE, f"{1:032x}")
    given.commit(store, Side.ALICE, f"{1:032x}")
    keyed(store, replace(NEW, name="second"))
    keyed(store, replace(NEW, name="third"))
    begin(store, given, 2, quota, to="second")
    begin(store, given, 3, quota, to="second")
    assert "in all projects" in refused(store, given, 4, quota, to="third")
    begin(store, given, 5, quota, side=Side.BOB, to="third")
    store.projects.erase(PROJECT, Role.COORDINATOR, "coordinator")
    begin(store, given, 4, quota, to="third")
