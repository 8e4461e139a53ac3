"""A custodian that watches Carole's audit log: it goes on while the log continues, and stops when it does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from html import unescape

import polars as pl
import pytest

from gemel.common.audit.merkle import leaf_hash
from gemel.common.errors import GemelError
from gemel.common.keys.identity import Identity, IdentityKey
from gemel.common.parties import Side
from gemel.custodian.steps import witnessing
from gemel.protos.linkage.v1 import project_pb2
from tests.console.custodian.served import served
from tests.custodian.conftest import Folder
from tests.custodian.test_flow import eventually, running, shown

CONTRIBUTED = project_pb2.PROJECT_STATE_CONTRIBUTED
OTHER = leaf_hash(b"another history")


def reported(*folders: Folder, words: str) -> None:
    """The operator of one of them reads this, in the end."""
    eventually(lambda: any(words in shown(folder).blocking_error for folder in folders), 60.0)


def edit(log) -> None:
    for leaves in log.leaves.values():
        leaves[0] = OTHER


def roll_back(log) -> None:
    for leaves in log.leaves.values():
        del leaves[2:]


def restart(log) -> None:
    log.log = "cd" * 16


def sign_with_another_key(log) -> None:
    log.identity = Identity(IdentityKey.create())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (edit, "does not begin with the one it has shown before"),
        (roll_back, "shorter than it has shown before"),
        (restart, "restarted"),
        (sign_with_another_key, "signature"),
    ],
)
def test_nothing_is_sent_to_a_carole_whose_log_was_changed(make_world, change: Callable, words: str) -> None:
    world = make_world(40)
    carole = world.carole
    changed = False

    def before(method: str, side: Side) -> None:
        nonlocal changed
        # Before the second reports its keys: nothing can have been uploaded yet, whoever of the two is quicker.
        if method == "ReportKeys" and side.other in carole.reports and not changed:
            changed = True
            change(carole.audit)

    carole.before = before
    with running(world.alice, world.bob):
        for folder in world.folders:
            reported(folder, words=words)
    assert not any(carole.uploads.values())


def test_a_log_shown_differently_to_the_two_is_found_before_a_result_is_fetched(make_world) -> None:
    world = make_world(40)
    carole = world.carole
    # From the beginning, each custodian is shown a consistent log of its own.
    carole.audit.leaves[Side.BOB][0] = OTHER
    with running(world.alice, world.bob):
        # Whoever looks second finds it, and does not go on; the other waits for it.
        reported(*world.folders, words="another audit log")
    assert not any(carole.uploads.values())


def links_of(count: int) -> pl.DataFrame:
    """Some row of each file with some row of the other: which is no matter here."""
    rows = pl.int_range(count, eager=True)
    numbers = {name: pl.lit(0.9) for name in ("match_probability", "link_probability", "match_weight")}
    links = pl.DataFrame({"alice": rows, "bob": rows, "link_id": [f"{number:016x}" for number in range(count)]})
    return links.with_columns(**numbers)


WAITS = "has not countersigned Carole's audit log up to the release yet"


def test_nothing_is_fetched_while_the_other_shows_an_old_view(make_world, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Carole who forks her log has nothing newer of the other's than what it countersigned before the fork."""
    monkeypatch.setattr(witnessing, "PATIENCE_SECONDS", 0.0)
    world = make_world(40)
    carole = world.carole
    with running(world.alice, world.bob):
        carole.wait_for(lambda: carole.state == CONTRIBUTED)
        carole.audit.frozen = dict(carole.audit.noted)
        carole.release(links_of(world.people))
        reported(world.alice, words=f"Bob {WAITS}")
        reported(world.bob, words=f"Alice {WAITS}")
        assert not any(method == "FetchResult" for method, _ in carole.calls)
        # Alice's operator has her share without Bob's countersignature; Bob's has not decided.
        with (
            world.alice.control() as operator,
            pytest.raises(GemelError, match="a decision needs a reason"),
        ):
            operator.fetch_alone(carole.spec.project, " ")
        with served(world.alice) as console:
            token, path = console.enter(), f"/projects/{carole.spec.project}/fetch-alone"
            assert "Fetch the share without Bob's countersignature?" in unescape(console.client.get(path).text)
            assert console.post(path, csrf=token, reason="Bob's registry was closed in May")[0] == 303
        carole.wait_for(lambda: carole.acknowledged == {Side.ALICE}, 60)
        carole.audit.frozen = None
        carole.wait_for(lambda: len(carole.acknowledged) == 2, 60)
        assert carole.alone == {Side.ALICE: "Bob's registry was closed in May", Side.BOB: ""}
        eventually(lambda: "fetch-alone" not in shown(world.bob).decisions)
        with (
            world.bob.control() as operator,
            pytest.raises(GemelError, match="no share waits for the other custodian's countersignature"),
        ):
            operator.fetch_alone(carole.spec.project, "there is nothing to fetch")


def test_a_fork_after_the_last_common_view_is_found_before_the_fetch(make_world) -> None:
    """Each is shown the release in a history of its own, and what the other has countersigned of the other history."""
    world = make_world(40)
    carole = world.carole
    with running(world.alice, world.bob):
        carole.wait_for(lambda: carole.state == CONTRIBUTED)
        for side in Side:
            carole.audit.leaves[side].append(leaf_hash(f"shown to {side} alone".encode()))
        carole.release(links_of(world.people))
        # Whoever looks first finds nothing newer of the other's, and countersigns: then the other finds the fork.
        reported(*world.folders, words="another audit log")
    assert not any(method == "FetchResult" for method, _ in carole.calls)


@pytest.mark.parametrize("shown", ["none", "of another run", "not in the log"])
def test_a_release_that_is_not_in_the_log_is_not_fetched(make_world, shown: str) -> None:
    world = make_world(40)
    carole = world.carole
    with running(world.alice, world.bob):
        carole.wait_for(lambda: carole.state == CONTRIBUTED)
        run, log = "0" * 32, carole.audit
        if shown == "of another run":
            log.release(carole.spec.project, "1" * 32)
            log.releases[run] = log.releases["1" * 32]
        elif shown == "not in the log":
            log.release(carole.spec.project, run)
            log.releases[run] = replace(log.releases[run], at=2)
        with carole.changed():
            carole.run, carole.state = run, project_pb2.PROJECT_STATE_RELEASED
        words = {
            "none": "a released run whose release is not in her audit log",
            "of another run": "another entry of her audit log for a run's release",
            "not in the log": "an entry that is not in the log she has signed",
        }
        reported(world.alice, words=words[shown])
    assert not any(method == "FetchResult" for method, _ in carole.calls)


def test_a_custodian_keeps_what_it_has_believed(make_world) -> None:
    world = make_world(40)
    carole = world.carole
    with running(world.alice, world.bob) as (alice, _):
        carole.wait_for(lambda: carole.state == CONTRIBUTED)
        kept = alice._context.state.seen()
    assert len(kept) >= 3
    assert [checkpoint.size for checkpoint in kept] == sorted({checkpoint.size for checkpoint in kept})
    for checkpoint in kept:
        checkpoint.verify(carole.audit.identity.public)
