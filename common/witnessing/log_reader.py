"""A party's reading of Carole's audit log: it must continue what the party has seen, or have been restored openly.

The reader requests the newest checkpoint with the proof that it continues the newest one that the party has verified.
Where it does not, the log was put back from a backup, rewritten, or shown differently. A restoration that Carole has
recorded can be accepted, by a signature, for each project: the party then reads on from the restored log. Nothing else
can be accepted.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gemel.common.audit import AuditEntry, Checkpoint, Witness, verify_consistency
from gemel.common.audit.checkpoint import REMEDY
from gemel.common.audit.signed_note import Cosignature
from gemel.common.audit.statements import RestorationDecision, normalized_reason
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, PublicIdentity
from gemel.common.rpc.client import Connection
from gemel.common.wire.checkpoints import checkpoint_from_wire, checkpoint_to_wire, proof_from_wire
from gemel.common.witnessing.shown_entry import believed_entry, believed_release
from gemel.protos.linkage.v1 import audit_pb2, audit_pb2_grpc, project_pb2, restoration_pb2, restoration_pb2_grpc


class LogMemory(Protocol):
    """What `LogReader` needs of a party's memory."""

    def seen(self) -> list[Checkpoint]:
        """The verified checkpoints of the log as it is now accepted, oldest first."""

    def newest_seen(self) -> Checkpoint | None:
        """The newest of them."""

    def see(self, checkpoint: Checkpoint) -> None:
        """Store a checkpoint that was verified, and continues the others."""

    def set_aside(self, restoration: int, size: int) -> None:
        """Take the checkpoints above a size for those of a log that a restoration has cut; they are kept apart."""

    def lost(self, restoration: int) -> Checkpoint | None:
        """The newest checkpoint that was set aside for a restoration."""


# A party's signatures of the checkpoints that it has verified: Gemel's own, and one for any reader of signed notes.


class Countersigner:
    """Makes each signature once, since the identity may be on a token or in a vault."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity
        self._last: tuple[Checkpoint, bytes, Cosignature] | None = None

    def put(self, request: audit_pb2.WitnessRequest, seen: Checkpoint) -> None:
        """Put a checkpoint into a request, with both signatures. Raises as `Identity.sign`."""
        if self._last is None or self._last[0] != seen:
            cosignature = Cosignature.make(self._identity, int(time.time()), seen.log, seen.size, seen.root)
            self._last = seen, seen.countersign(self._identity), cosignature
        _, countersignature, cosignature = self._last
        request.seen.CopyFrom(checkpoint_to_wire(seen))
        request.countersignature = countersignature
        request.cosigned_at, request.cosignature = cosignature.at, cosignature.signature


_ATTEMPTS = 3
_ACTION = "restore"
_NOT_RESTORED = "Carole shows a restoration that is not in the log she has signed"
_RESTORATION_WORDS = "Carole's store was restored from a backup, and her audit log has lost entries that were seen here"


@dataclass(frozen=True)
class Restored:
    """A restoration of Carole's store, as a party has verified it."""

    restoration: int
    made_at: int
    """Time of the backup as Carole names it, in milliseconds since 1970."""
    restored: Checkpoint
    newest: Checkpoint
    """The log as it was put back, and as it is now."""
    agreed: int
    """Entries of the newest checkpoint of the party's that the log still continues."""
    lost: Checkpoint | None
    """The party's newest checkpoint, if the log does not continue it any more."""


class LogReader:
    """Reads Carole's log for one party, whose identity countersigns what was seen, and signs decisions. Checkpoints
    must have the linker's signature; `command` is that by which the party's operator accepts a restored log."""

    def __init__(
        self, connection: Connection, identity: Identity, linker: PublicIdentity, memory: LogMemory, command: str
    ) -> None:
        self._connection = connection
        self._identity = identity
        self._linker = linker
        self._memory = memory
        self._command = command
        self._countersigner = Countersigner(identity)
        self._auditor = connection.stub(audit_pb2_grpc.AuditStub)
        self._restorer = connection.stub(restoration_pb2_grpc.RestorationStub)

    def check(self) -> None:
        """Verify that the log continues what was seen, and keep its newest checkpoint; errors as `read`."""
        believed, _ = self.read()
        self.keep(believed)

    def read(self, project: str = "", run: str = "") -> tuple[Witness, audit_pb2.WitnessResponse]:
        """Verify that the log continues what was seen; its newest checkpoint, which is not kept yet.

        Carole is to show the entry of a project's run, if one is given, with its proof. Raises SIGNATURE; AUDIT, with
        the command that helps where a restoration is the cause.
        """
        seen = self._memory.newest_seen()
        try:
            return self._continued(seen, project, run)
        except GemelError as error:
            if error.code is not ErrorCode.AUDIT or seen is None:
                raise
            raise self._explained(error, seen) from None

    def check_release(self, project: str, run: str) -> AuditEntry:
        """Verify that the log continues what was seen and has the release of a run; the entry. Raises as `read`; AUDIT
        if it has no such entry."""
        believed, response = self.read(project, run)
        self.keep(believed)
        return believed_release(response, believed.seen, project, run)

    def keep(self, believed: Witness) -> None:
        if believed.seen is not None:
            self._memory.see(believed.seen)

    def restored(self) -> Restored:
        """The newest restoration of Carole's store, and what this party has lost by it.

        The longest kept checkpoint that the log continues is found by halving. Raises NOT_FOUND if she has recorded
        none; AUDIT if what she shows is not proven, or does not explain why the log no longer continues what was seen.
        """
        response = self._call(self._restorer.GetRestoration, restoration_pb2.GetRestorationRequest())
        newest = checkpoint_from_wire(response.newest)
        newest.verify(self._linker)
        if not response.HasField("entry"):
            what = "Carole has recorded no restoration of her store"
            remedy = (
                "if her operator has put back an old copy by other means, they stop her and declare it: "
                "`gemel carole declare-restored`"
            )
            raise GemelError(ErrorCode.NOT_FOUND, what, where="audit log", remedy=remedy)
        restored = checkpoint_from_wire(response.restored)
        restored.verify(self._linker)
        made_at = _proven(response.entry, restored, newest, proof_from_wire(response.continues))
        seen = self._memory.seen()
        # The size of the largest of these that the log still continues; what continues one continues all before it.
        continued = bisect_left(seen, True, key=lambda checkpoint: not self._continues(checkpoint))
        agreed = seen[continued - 1].size if continued else 0
        lost = seen[-1] if seen and seen[-1].size > agreed else self._memory.lost(response.entry.sequence)
        # What Carole signed after she had recorded the restoration was not lost by it, but by another one.
        later = seen and seen[-1].size > agreed and seen[-1].at > response.entry.at_unix_ms
        if later or (seen and seen[-1].size > agreed > restored.size):
            what = "Carole's audit log has lost entries that were seen here after the restoration she has recorded"
            got = f"restored to {restored.size} entries; seen: {agreed} that are there, and {seen[-1].size}"
            remedy = (
                "ask the linkage unit, and keep both checkpoints as evidence; if her operator has put back "
                "another copy since, they stop her and declare it: `gemel carole declare-restored`"
            )
            raise GemelError(ErrorCode.AUDIT, what, where="audit log", got=got, remedy=remedy)
        return Restored(response.entry.sequence, made_at, restored, newest, agreed, lost)

    def decide(
        self, project: str, restored: Restored, runs: Mapping[str, bytes], *, accept: bool, reason: str = ""
    ) -> project_pb2.ProjectStatus:
        """Sign a decision on a restoration for a project, and send it; the project's status after it.

        A party that accepts reads on from the restored log, also where other projects are concerned; what it has seen
        of the lost log is kept apart. Raises PARAMETER for a refusal without a reason; NOT_FOUND, WRONG_STATE:
        Carole's.
        """
        stated = "" if accept else normalized_reason(reason)
        decision = RestorationDecision(
            project, restored.restoration, restored.restored, restored.lost, accept, stated, runs
        )
        request = restoration_pb2.DecideRestorationRequest(
            project=project,
            restoration=restored.restoration,
            accept=accept,
            reason=stated,
            runs=[restoration_pb2.ReleasedRun(run=run, root=root) for run, root in sorted(runs.items())],
            signature=decision.sign(self._identity),
        )
        if restored.lost is not None:
            request.lost.CopyFrom(checkpoint_to_wire(restored.lost))
        status: project_pb2.ProjectStatus = self._call(self._restorer.DecideRestoration, request).status
        if accept:
            self._memory.set_aside(restored.restoration, restored.agreed)
            self._memory.see(restored.newest)
        return status

    def _continues(self, checkpoint: Checkpoint) -> bool:
        try:
            self._continued(checkpoint)
        except GemelError as error:
            if error.code is not ErrorCode.AUDIT:
                raise
            return False
        return True

    def _continued(
        self, seen: Checkpoint | None, project: str = "", run: str = ""
    ) -> tuple[Witness, audit_pb2.WitnessResponse]:
        request = audit_pb2.WitnessRequest(project=project, run=run)
        if seen is not None:
            self._countersigner.put(request, seen)
        response = self._call(self._auditor.Witness, request)
        newest = checkpoint_from_wire(response.newest)
        return Witness(self._linker, seen).believe(newest, proof_from_wire(response.continues)), response

    def _explained(self, error: GemelError, seen: Checkpoint) -> GemelError:
        """The error of a log that does not continue what was seen, with what can be done about it."""
        try:
            restored = self.restored()
        except GemelError as other:
            if other.code in (ErrorCode.AUDIT, ErrorCode.SIGNATURE):
                return other
            if other.code is not ErrorCode.NOT_FOUND:
                return error
            remedy = f"{REMEDY}; {other.remedy}, and you accept that by `{self._command} PROJECT`"
            return GemelError(ErrorCode.AUDIT, error.what, where="audit log", got=error.got, remedy=remedy)
        got = f"restored to {restored.restored.size} entries, and {seen.size} were seen"
        remedy = f"nothing is sent or fetched before you accept it: `{self._command} PROJECT` shows what was lost"
        return GemelError(ErrorCode.AUDIT, _RESTORATION_WORDS, where="audit log", got=got, remedy=remedy)

    def _call(self, method: Callable[..., Any], request: Any) -> Any:
        return self._connection.call(method, request, attempts=_ATTEMPTS)


def newest_checkpoint(connection: Connection, linker: PublicIdentity) -> Checkpoint:
    """Request Carole's newest checkpoint, by which a caller sees that it is she who answers, and verify its signature;
    nothing is kept, here or at hers. Raises SIGNATURE if it is not signed by `linker`; her error, or UNAVAILABLE."""
    response = connection.call(connection.stub(audit_pb2_grpc.AuditStub).Witness, audit_pb2.WitnessRequest())
    newest = checkpoint_from_wire(response.newest)
    Witness(linker, None).believe(newest, proof_from_wire(response.continues))
    return newest


def _proven(shown: audit_pb2.AuditEntry, restored: Checkpoint, newest: Checkpoint, proof: Sequence[bytes]) -> int:
    """The time of the backup, from an entry that is proven to record this restoration right after the restored log."""
    entry = believed_entry(shown, newest, _NOT_RESTORED)
    continued = restored.log == newest.log and verify_consistency(
        restored.size, newest.size, restored.root, newest.root, proof
    )
    about = entry.action == _ACTION and entry.sequence == restored.size + 1
    if not (continued and about) or entry.details.get("root") != restored.root.hex():
        remedy = "keep what she has shown, and ask Carole's operator"
        raise GemelError(ErrorCode.AUDIT, _NOT_RESTORED, where=f"audit log, entry {entry.sequence}", remedy=remedy)
    return int(entry.details["made_at"])
