"""Carole's part in a computation of mode shared, in her worker: a session with the two other parties.

A run waits until both others are there. Where one of them goes away, or Carole's service does not answer, the session
is lost and the computation begins again in another one: that is no attempt of the run's.
"""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from gemel.carole.service.health import OwnService
from gemel.carole.store import Store
from gemel.carole.store.runs import Lease
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity
from gemel.common.logging_setup import log
from gemel.common.parties import ComputeParty, Side
from gemel.common.pki.members import compute_members
from gemel.common.pki.reader import Reader
from gemel.common.progress import Progress
from gemel.common.rpc.client import Connection
from gemel.common.rpc.status import SWITCH_SECONDS
from gemel.common.signatures.party_sets import PartyContribution
from gemel.common.specification import Specification, encoding_digest, specification_digest
from gemel.common.wire.share_headers import HeaderAbout, open_header
from gemel.shared.session.computation_calls import ComputationCalls
from gemel.shared.session.handshake import SESSION_BYTES, SessionTerms
from gemel.shared.session.joined_session import JoinedSession, joined_session

AWAIT_PARTIES = "await-parties"
AWAIT_COORDINATOR = "await-coordinator"
AWAIT_STEWARD = "await-steward"

_STAGES = {
    frozenset({ComputeParty.COORDINATOR, ComputeParty.STEWARD}): AWAIT_PARTIES,
    frozenset({ComputeParty.COORDINATOR}): AWAIT_COORDINATOR,
    frozenset({ComputeParty.STEWARD}): AWAIT_STEWARD,
}
"""The stage of a run that waits, by who is absent."""

WAIT_MS = 1000
GIVE_WAY_SECONDS = 10.0
"""How long an absent party is waited for before a run of another project may have the worker."""

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.2, 10.0

Result = TypeVar("Result")


class GaveWayError(Exception):
    """The run waits for another party in the queue: the worker may take another one."""


@dataclass(frozen=True)
class Computing:
    service: OwnService
    identity: Identity
    give_way: Callable[[Lease], bool]

    def computed(
        self,
        lease: Lease,
        spec: Specification,
        reader: Reader,
        progress: Progress,
        job: Callable[[JoinedSession], Result],
    ) -> Result:
        """What a job gives in a session with both others; in as many sessions as it takes until one is not lost."""
        sys.setswitchinterval(SWITCH_SECONDS)
        pause = _FIRST_PAUSE_SECONDS
        while True:
            began = time.monotonic()
            try:
                with self.session(lease, spec, reader, progress) as session:
                    return job(session)
            except GemelError as error:
                if error.code is not ErrorCode.UNAVAILABLE:
                    raise
                log.warning("computation begins again", project=lease.project, reason=str(error))
            if time.monotonic() - began > _LONGEST_PAUSE_SECONDS:
                pause = _FIRST_PAUSE_SECONDS
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    @contextmanager
    def session(self, lease: Lease, spec: Specification, reader: Reader, progress: Progress) -> Iterator[JoinedSession]:
        """One session, from its announcement to its end with the block; errors as `computed`, and UNAVAILABLE."""
        members = compute_members(reader.members, spec)
        names = (members[0].name, members[1].name, members[2].name)
        number = secrets.token_bytes(SESSION_BYTES)
        terms = SessionTerms(lease.project, lease.run, number, specification_digest(spec), names, spec.suite)
        with self.service.connect() as connection:
            calls = self._opened(connection, lease, terms, progress)
            log.info("computation begun", project=lease.project, coordinator=names[1], steward=names[2])
            with joined_session(calls, ComputeParty.CAROLE, terms, members, self.identity, reader.key) as session:
                yield session
            log.info("computation ended", project=lease.project, sent=session.channel.sent_bytes)

    def _opened(
        self, connection: Connection, lease: Lease, terms: SessionTerms, progress: Progress
    ) -> ComputationCalls:
        """Announce the session, and wait until both others have joined; the run's progress says for whom."""
        calls = ComputationCalls(connection, terms.session)
        calls.open(terms.project, terms.run)
        present = frozenset({ComputeParty.CAROLE})
        ahead = time.monotonic() + GIVE_WAY_SECONDS
        try:
            while absent := frozenset(ComputeParty) - present:
                progress(_STAGES[absent], len(present) / len(ComputeParty))
                present = calls.attend(present, WAIT_MS)
                if len(present) < len(ComputeParty) and time.monotonic() > ahead and self.give_way(lease):
                    raise GaveWayError
        except BaseException:
            calls.give_up(GemelError(ErrorCode.UNAVAILABLE, "the run was taken from the worker"))
            raise
        return calls


def own_contribution(store: Store, spec: Specification, reader: Reader, side: Side) -> PartyContribution:
    """A contribution as Carole reads it, in her worker: from her own store."""
    found, there = store.uploads.shares(spec.project, side), store.uploads.open(spec.project, side)
    about = HeaderAbout(
        *(spec.project, side, encoding_digest(spec), found.epoch, found.upload, found.layout),
        *(reader.name, ComputeParty.CAROLE, spec.suite),
    )
    custodian = reader.members.in_role(side.role).identity
    header = open_header(reader.key, custodian, about, found.sealed_seeds[ComputeParty.CAROLE])

    def read(number: int, size: int) -> memoryview:
        stored = there.reference(number)
        return stored.reader.read(stored.start, stored.start + size)

    return PartyContribution(ComputeParty.CAROLE, header, found.layout, read)
