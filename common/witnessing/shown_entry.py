"""An entry of Carole's audit log as she shows it to another party: believed with its proof, and not otherwise."""

from __future__ import annotations

from gemel.common.audit import AuditEntry, Checkpoint, verify_inclusion
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.wire.checkpoints import proof_from_wire
from gemel.protos.linkage.v1 import audit_pb2

_NOT_IN_IT = "Carole shows an entry that is not in the log she has signed"

RELEASE = "release"
"""Action of the entry by which the recipients may fetch a run's result."""


def believed_entry(shown: audit_pb2.AuditEntry, under: Checkpoint, refusal: str = _NOT_IN_IT) -> AuditEntry:
    """The entry, proven to be among those that a verified checkpoint covers; otherwise AUDIT, in the words of
    `refusal`."""
    entry = AuditEntry(
        shown.sequence, shown.at_unix_ms, shown.project, shown.actor, shown.action, shown.details, bytes(shown.salt)
    )
    proof = proof_from_wire(shown.included)
    if not verify_inclusion(entry.leaf, entry.sequence - 1, under.size, proof, under.root):
        remedy = "keep what she has shown, and ask Carole's operator"
        raise GemelError(ErrorCode.AUDIT, refusal, where=f"audit log, entry {entry.sequence}", remedy=remedy)
    return entry


def believed_release(
    response: audit_pb2.WitnessResponse, under: Checkpoint | None, project: str, run: str
) -> AuditEntry:
    """The entry of a run's release, proven to be in the log as it was last verified (None: an empty log). Raises AUDIT
    if there is none, or if what is shown is another entry."""
    if under is None or not response.HasField("release"):
        what = "Carole names a released run whose release is not in her audit log"
        remedy = "fetch nothing, keep the checkpoints, and ask Carole's operator"
        raise GemelError(ErrorCode.AUDIT, what, where=f"project {project}, run {run}", remedy=remedy)
    entry = believed_entry(response.release, under)
    if (entry.project, entry.action, _run_of(entry)) != (project, RELEASE, run):
        what = "Carole shows another entry of her audit log for a run's release"
        where = f"project {project}, run {run}"
        remedy = "fetch nothing, keep the checkpoints, and ask Carole's operator"
        raise GemelError(ErrorCode.AUDIT, what, where=where, got=f"entry {entry.sequence}", remedy=remedy)
    return entry


def _run_of(entry: AuditEntry) -> object:
    """The run that an entry names; None where its details are none that Carole's program writes."""
    try:
        return entry.details["run"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
