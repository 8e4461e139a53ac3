"""Signatures on the release of a held result, on SQLite and PostgreSQL: kept until the last, and no longer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import text

from gemel.carole.projects.project import Policy, PolicyDecision, Project, ReleaseSignature, State
from gemel.carole.store import Store
from gemel.carole.store.results import REPORT
from tests.carole.store.test_migrations import transaction
from tests.carole.store.test_sweeping import SHARES
from tests.carole.trial import NEW, PROJECT, contributed, taken, tiny

RUN = "1" * 32
REASON = "used inside the secure room only, see May"
STEWARDS = {"steward": "aa", "second": "bb"}
BREACH = PolicyDecision({"correct_matches": 0.4}, ("correct_matches",), b"r" * 32)


def held(store: Store) -> Project:
    new = replace(NEW, policy=Policy.HOLD, signatures=2)
    contributed(store, tiny(), new)
    lease = taken(store, RUN)
    store.runs.finish(lease, 1, {**SHARES, REPORT: [b"{}"]}, BREACH)
    return store.projects.get(PROJECT)


def sign(store: Store, member: str) -> Project:
    given = ReleaseSignature(RUN, member, STEWARDS[member], b"r" * 32, b"s" * 64)
    return store.runs.override(PROJECT, given, REASON, STEWARDS)


def test_the_first_signature_is_kept_and_the_second_releases(open_store: Callable[[], Store], url: str) -> None:
    store = open_store()
    assert held(store).state is State.HELD
    first = sign(store, "steward")
    store.close()
    store = open_store()
    assert store.projects.get(PROJECT) == first
    assert [(one.member, one.at > 0) for one in first.release_signatures] == [("steward", True)]
    entries = len(store.audit.entries(PROJECT))
    assert sign(store, "steward") == first
    assert len(store.audit.entries(PROJECT)) == entries
    second = sign(store, "second")
    assert (second.state, second.signatures) == (State.RELEASED, 2)
    store.close()
    store = open_store()
    assert store.projects.get(PROJECT) == second
    with transaction(url) as connection:
        assert connection.execute(text("SELECT count(*) FROM release_signatures")).scalar() == 0


def test_an_amendment_changes_how_many_must_sign(open_store: Callable[[], Store]) -> None:
    store = open_store()
    held(store)
    sign(store, "steward")
    amended = store.projects.amend(
        replace(NEW, specification_digest=b"\3" * 32, policy=Policy.HOLD, signatures=1), "coordinator"
    )
    assert (amended.signatures, amended.release_signatures, amended.state) == (1, (), State.DRAFT)
    assert store.projects.get(PROJECT) == amended
