"""A party's signatures of the checkpoints that it has verified: Gemel's own, and one for any reader of signed notes."""

from __future__ import annotations

import time

from gemel.common.audit import Checkpoint
from gemel.common.audit.signed_note import Cosignature
from gemel.common.keys.identity import Identity
from gemel.common.wire.checkpoints import checkpoint_to_wire
from gemel.protos.linkage.v1 import audit_pb2


class Countersigner:
    """Makes each signature once, since the identity may be on a token or in a vault.

    Parameters
    ----------
    identity
        The party's own.
    """

    def __init__(self, identity: Identity) -> None:
        self._identity = identity
        self._last: tuple[Checkpoint, bytes, Cosignature] | None = None

    def put(self, request: audit_pb2.WitnessRequest, seen: Checkpoint) -> None:
        """Put a checkpoint into a request, with both signatures.

        Raises
        ------
        GemelError
            As `Identity.sign`.
        """
        if self._last is None or self._last[0] != seen:
            cosignature = Cosignature.make(self._identity, int(time.time()), seen.log, seen.size, seen.root)
            self._last = seen, seen.countersign(self._identity), cosignature
        _, countersignature, cosignature = self._last
        request.seen.CopyFrom(checkpoint_to_wire(seen))
        request.countersignature = countersignature
        request.cosigned_at, request.cosignature = cosignature.at, cosignature.signature
