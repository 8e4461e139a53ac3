"""Words as messages between two compute parties, and the moment when all three have got somewhere."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from tryst.common.errors import ErrorCode, TrystError
from tryst.common.sharing.channel import Channel
from tryst.common.sharing.compute_parties import ComputeParty

_REMEDY = "run the same version of Tryst at Carole, the coordinator and the steward; if you do, one of the two parties "
_REMEDY += "named does not follow the protocol"


def exchanged(
    channel: Channel, to: ComputeParty, words: NDArray[np.uint64], sender: ComputeParty, stage: str
) -> NDArray[np.uint64]:
    """Send words to one party, and receive as many from one.

    Parameters
    ----------
    words
        uint64, of any shape; as large as one message may be.
    stage
        What is computed, for errors.

    Returns
    -------
    ndarray of uint64, of the same shape

    Raises
    ------
    TrystError
        DEVIATION if the sender's message is of another length; as `Channel`.
    """
    channel.send(to, np.ascontiguousarray(words, dtype="<u8").tobytes())
    content = channel.receive(sender)
    if len(content) != 8 * words.size:
        raise TrystError(
            ErrorCode.DEVIATION,
            f"{sender.title} sent {channel.own.title} another number of words than both have agreed on",
            where=stage,
            got=f"{len(content)} bytes instead of {8 * words.size}",
            remedy=_REMEDY,
        )
    return np.frombuffer(content, dtype="<u8").astype(np.uint64, copy=False).reshape(words.shape)


def wait_for_all(channel: Channel, stage: str) -> None:
    """Return when all three parties have called this, with the same stage.

    Raises
    ------
    TrystError
        DEVIATION if a party is somewhere else; as `Channel`.
    """
    mark = hashlib.sha256(stage.encode()).digest()
    others = channel.own.next, channel.own.previous
    for other in others:
        channel.send(other, mark)
    for other in others:
        if channel.receive(other) != mark:
            raise TrystError(
                ErrorCode.DEVIATION,
                f"{other.title} and {channel.own.title} are not in the same place of the protocol",
                where=stage,
                remedy=_REMEDY,
            )
