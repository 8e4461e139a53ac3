"""A project that goes from one coordinator to another, on SQLite and PostgreSQL: kept, in the log, and not replayed."""

from __future__ import annotations

from collections.abc import Callable

from gemel.carole.projects.project import Project
from gemel.carole.store import Store
from gemel.common.audit.hand_over import HandOver, TakeOver
from gemel.common.audit.restoration import RestorationDecision
from gemel.common.errors import ErrorCode
from gemel.common.parties import Role
from tests.carole.refusals import refusal
from tests.carole.store.test_restoring import PARTIES, put_back, queued
from tests.carole.trial import DIGEST, NEW, PROJECT, keyed

__all__ = ["put_back", "queued"]

Reopen = Callable[[], Store]


def offer(store: Store, former: str, successor: str, size: int | None = None) -> HandOver:
    """An offer; the service has verified its signature."""
    seen = store.audit.at(store.audit.checkpoint().size if size is None else size)
    return HandOver(PROJECT, former, successor, seen, "she leaves for the ministry")


def take(store: Store, former: str, successor: str, signature: bytes) -> Project:
    seen = store.audit.checkpoint()
    statement = TakeOver(PROJECT, former, successor, seen, signature)
    return store.projects.take_over(statement, b"t" * 64, DIGEST, b"c" * 64, 1)


def test_what_is_handed_over_is_kept_and_taken_over(open_store: Reopen) -> None:
    store = open_store()
    keyed(store)
    statement = offer(store, "coordinator", "rival")
    project = store.projects.hand_over(Role.COORDINATOR, "coordinator", statement, b"h" * 64)
    store.close()
    store = open_store()
    assert store.projects.get(PROJECT) == project
    assert project.hand_over is not None
    assert (project.hand_over.statement, project.owner) == (statement, "coordinator")
    with refusal(ErrorCode.NOT_ADMITTED, "belongs to the coordinator coordinator"):
        take(store, "coordinator", "third", b"h" * 64)
    taken = take(store, "coordinator", "rival", b"h" * 64)
    store.close()
    store = open_store()
    assert store.projects.get(PROJECT) == taken
    assert (taken.owner, taken.hand_over, taken.approvals[Role.COORDINATOR].member) == ("rival", None, "rival")
    shown = [(entry.actor, entry.action, entry.details.get("former")) for entry in store.audit.entries(PROJECT)]
    assert shown[-2:] == [("coordinator", "hand-over", "coordinator"), ("rival", "take-over", "coordinator")]
    with refusal(ErrorCode.EXISTS, "belongs to another coordinator"):
        store.projects.create(NEW, "coordinator")


def test_an_offer_of_a_time_before_the_present_owners_is_not_taken_again(open_store: Reopen) -> None:
    """The project has come back to its first owner: what that one signed once does not take it away again."""
    store = open_store()
    keyed(store)
    first = offer(store, "coordinator", "rival")
    store.projects.hand_over(Role.COORDINATOR, "coordinator", first, b"1" * 64)
    take(store, "coordinator", "rival", b"1" * 64)
    store.projects.hand_over(Role.COORDINATOR, "rival", offer(store, "rival", "coordinator"), b"2" * 64)
    take(store, "rival", "coordinator", b"2" * 64)
    with refusal(ErrorCode.AUDIT, "since the project came to its owner"):
        store.projects.hand_over(Role.COORDINATOR, "coordinator", first, b"1" * 64)
    assert store.projects.get(PROJECT).hand_over is None
    with refusal(ErrorCode.AUDIT, "does not name a checkpoint"):
        offer(store, "coordinator", "rival", store.audit.checkpoint().size + 1)


def test_an_offer_ends_with_the_project(open_store: Reopen) -> None:
    store = open_store()
    keyed(store)
    store.projects.hand_over(Role.COORDINATOR, "coordinator", offer(store, "coordinator", "rival"), b"h" * 64)
    assert store.projects.erase(PROJECT, Role.COORDINATOR, "coordinator").hand_over is None
    assert store.projects.get(PROJECT).hand_over is None


def test_another_coordinator_reads_on_after_a_restoration_and_decides_nothing(put_back: Reopen) -> None:
    store = put_back()
    found = store.restorations.newest()
    assert found is not None

    def decide(member: str, *, accept: bool = True) -> None:
        reason = "" if accept else "no one can tell what was lost"
        runs = {"9" * 32: b""}  # released, as it says, and unknown to the restored store
        made = RestorationDecision(PROJECT, found.entry.sequence, found.restored, None, accept, reason, runs)
        store.restorations.decide(Role.COORDINATOR, member, made, b"s" * 64)

    decide("rival")
    with refusal(ErrorCode.NOT_ADMITTED, "belongs to the coordinator coordinator"):
        decide("rival", accept=False)
    (recorded,) = store.projects.get(PROJECT).restore_decisions
    assert (recorded.member, recorded.decides) == ("rival", False)
    (entry,) = [one for one in store.audit.entries(PROJECT) if one.action == "accept-restore"]
    assert (entry.actor, entry.details["owner"]) == ("rival", "coordinator")
    for role, member in PARTIES.items():
        made = RestorationDecision(PROJECT, found.entry.sequence, found.restored, None, True)
        store.restorations.decide(role, member, made, b"s" * 64)
    lease = store.runs.take("worker")
    assert lease is not None, "what another coordinator names as released stops nothing"
    with refusal(ErrorCode.NOT_ADMITTED, "belongs to"):
        store.runs.start(PROJECT, "rival", "another", "2" * 32)
