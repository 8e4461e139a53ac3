"""A party's part in one session of a computation, from its handshakes to its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys.identity import Identity
from tryst.common.keys.sealing_key import SealingKey
from tryst.common.pki.members import Member
from tryst.common.rpc.computation_calls import ComputationCalls
from tryst.common.rpc.relayed_channel import RelayedChannel
from tryst.common.rpc.status import typed
from tryst.common.sharing.compute_parties import ComputeParty
from tryst.common.sharing.handshake import Handshake, SessionMember, SessionTerms
from tryst.common.sharing.party import Party


@dataclass(frozen=True)
class JoinedSession:
    """A session that all three have joined, after the handshakes.

    Attributes
    ----------
    terms
        What it is for.
    channel
        To the two others.
    keys
        Of shares, with the previous party and with the next one, as `Party` takes them.
    calls
        For the sets of the contributions.
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
        """This party."""
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
    again.

    Raises
    ------
    TrystError
        DEVIATION if another party's messages are not of this session; UNAVAILABLE if it has ended, or Carole is away.
    """
    known = [SessionMember(member.name, member.identity, member.sealing) for member in members]
    channel = RelayedChannel(calls, own)
    try:
        keys = channel.agree(Handshake(own, terms, known, identity, key))
        yield JoinedSession(terms, channel, keys, calls)
        channel.finish()
    except BaseException as error:
        channel.give_up(_ending(error))
        raise


def _ending(error: BaseException) -> TrystError:
    if isinstance(error, Exception):
        return typed(error) or TrystError(ErrorCode.INTERNAL, "something unforeseen happened")
    return TrystError(ErrorCode.UNAVAILABLE, "it was interrupted")
