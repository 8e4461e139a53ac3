"""Three parties of a computation, each with its own connection to a real Carole, in threads."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from gemel.carole.service.computation_sessions import Session
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import ComputeParty
from gemel.serving.dispatch import run_in_loop
from gemel.shared.session.computation_calls import ComputationCalls
from gemel.shared.session.handshake import SessionTerms
from gemel.shared.session.joined_session import JoinedSession, joined_session
from tests.carole.deployment import Deployment

NAMES = ("carole", "coordinator", "steward")
RUN = "0" * 32

Result = TypeVar("Result")


def announced(deployment: Deployment, prepare: Callable[[Session], None] = lambda session: None) -> Session:
    """A session of Carole's that is open to the three, without a run."""
    sessions = deployment.computation.sessions

    async def add() -> Session:
        number, absence = secrets.token_bytes(16), sessions.absence
        session = Session("trial", RUN, number, NAMES, {}, absence, {}, sessions.capacity)
        prepare(session)
        sessions.add(session)
        return session

    return run_in_loop(add())


def calls_of(deployment: Deployment, own: ComputeParty, session: Session) -> ComputationCalls:
    """A party's calls in a session."""
    process = b"" if own is ComputeParty.CAROLE else secrets.token_bytes(16)
    return ComputationCalls(deployment.connect(NAMES[own]), session.number, process)


def take_part(
    deployment: Deployment, own: ComputeParty, session: Session, job: Callable[[JoinedSession], Result]
) -> Result:
    """One party, from its first call to its last."""
    calls = calls_of(deployment, own, session)
    folder, members = deployment.parties.parties[NAMES[own]], deployment.parties.members
    three = [members.named(name) for name in NAMES]
    terms = SessionTerms("trial", RUN, session.number, b"d" * 32, NAMES)
    present: frozenset[ComputeParty] = frozenset()
    while len(present) < len(ComputeParty):
        present = calls.attend(present)
    identity, key = open_identity(None, folder.identity), SealingKey.load(folder.sealing)
    with joined_session(calls, own, terms, three, identity, key) as joined:
        return job(joined)


def together(
    deployment: Deployment, session: Session, jobs: Mapping[ComputeParty, Callable[[JoinedSession], Result]]
) -> dict[ComputeParty, Result | Exception]:
    """What each party's job has given, or the error that ended it."""

    def run(own: ComputeParty) -> Result | Exception:
        try:
            return take_part(deployment, own, session, jobs[own])
        except Exception as error:  # noqa: BLE001 - looked at by the test
            return error

    with ThreadPoolExecutor(len(jobs)) as pool:
        return dict(zip(jobs, pool.map(run, jobs), strict=True))
