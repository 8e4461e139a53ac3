"""A custodian's refusal in the store, on each database: kept until it approves, its keys destroyed, its run lost."""

from __future__ import annotations

from collections.abc import Callable

from gemel.carole.projects.project import State
from gemel.carole.store import Store
from gemel.common.errors import ErrorCode
from gemel.common.parties import Role, Side
from tests.carole.refusals import refusal
from tests.carole.trial import DIGEST, Contribution, contribute, contributed, take

REASON = "the committee of data protection has withdrawn"


def test_a_refusal_survives_a_restart_and_its_upload_does_not(
    open_store: Callable[[], Store], small: dict[Side, Contribution]
) -> None:
    store = open_store()
    contributed(store, small)
    store.runs.start("trial", "coordinator", "request", "0" * 32)
    lease = take(store)
    store.projects.decline("trial", Side.BOB, "bob", DIGEST, REASON, b"s" * 64)
    assert not store.runs.renew_lease(lease, "compare", 0.5)
    with refusal(ErrorCode.WRONG_STATE):
        store.runs.finish(lease, 3, {str(Role.CUSTODIAN_A): [b"share"]})
    store = open_store()
    project = store.projects.get("trial")
    assert (project.state, set(project.uploads), set(project.declines)) == (State.DRAFT, {Side.ALICE}, {Side.BOB})
    assert (project.declines[Side.BOB].reason, project.declines[Side.BOB].signature) == (REASON, b"s" * 64)
    assert store.sweep().keys == 0  # nothing that a kill would have to leave
    store.projects.approve("trial", Role.CUSTODIAN_B, "bob", DIGEST, b"s" * 64)
    project = store.projects.get("trial")
    assert (project.state, dict(project.declines)) == (State.KEYED, {})
    contribute(store, Side.BOB, small[Side.BOB], "c" * 32)
    assert store.projects.get("trial").state is State.CONTRIBUTED
