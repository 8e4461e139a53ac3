"""A party's part in one session of a computation, from its handshakes to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import ComputeParty, Side
from gemel.common.pki.members import Member, Members
from gemel.common.rpc.status import typed
from gemel.common.wire.named_rows import NamedRowsContext, seal_row_share
from gemel.shared.gates.party import Party
from gemel.shared.session.computation_calls import ComputationCalls
from gemel.shared.session.handshake import Handshake, SessionTerms
from gemel.shared.session.relayed_channel import RelayedChannel


@dataclass(frozen=True)
class JoinedSession:
    """A session that all three have joined, after the handshakes.

    `keys`: of shares, with the previous party and with the next one, as `Party` takes them.
    """

    terms: SessionTerms
    channel: RelayedChannel
    keys: tuple[bytes, bytes] = field(repr=False)
    calls: ComputationCalls = field(repr=False)

    def party(self) -> Party:
        """This party's computation, from its beginning; once in a session."""
        return Party(self.own, self.keys, self.channel)

    @property
    def own(self) -> ComputeParty:
        return self.channel.own


@contextmanager
def joined_session(
    calls: ComputationCalls,
    own: ComputeParty,
    terms: SessionTerms,
    members: Sequence[Member],
    identity: Identity,
    key: SealingKey,
) -> Iterator[JoinedSession]:
    """Take part in a session until the block ends: well, or with an error, which ends it for the others too.

    A block that is left by anything but an error of its own, such as a signal, was interrupted: the others may begin
    again. Raises `GemelError`: DEVIATION if another party's messages are not of this session; UNAVAILABLE if it has
    ended, or Carole is away.
    """
    channel = RelayedChannel(calls, own)
    try:
        keys = channel.agree(Handshake(own, terms, members, identity, key))
        yield JoinedSession(terms, channel, keys, calls)
        channel.finish()
    except BaseException as error:
        channel.give_up(_ending(error))
        raise


def _ending(error: BaseException) -> GemelError:
    if isinstance(error, Exception):
        return typed(error) or GemelError(ErrorCode.INTERNAL, "something unforeseen happened")
    return GemelError(ErrorCode.UNAVAILABLE, "it was interrupted")


def row_part(
    session: JoinedSession, identity: Identity, members: Members, uploads: Mapping[Side, str]
) -> Callable[[Side, NDArray[np.uint32], NDArray[np.uint32]], bytes]:
    """What makes this party's part for one custodian, from its first and its second share of the pairs' row numbers.

    `members` names the custodians and their keys, `uploads` their uploads. NOT_FOUND if a role has no member.
    """
    terms = session.terms

    def context(side: Side) -> NamedRowsContext:
        custodian = members.in_role(side.role)
        return NamedRowsContext(
            terms.project, terms.run, terms.session, side, terms.specification_digest, uploads[side],
            custodian.name, custodian.sealing, terms.suite,
        )  # fmt: skip

    contexts = {side: context(side) for side in Side}
    return lambda side, first, second: seal_row_share(identity, session.own, contexts[side], first, second)
