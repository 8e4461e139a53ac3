"""Watching Carole's audit log: before every step, check that it continues what both custodians have seen of it.

A log that was rewritten, rolled back, restarted or shown differently to the two custodians stops every step with an
error for the operator. The verified checkpoints are kept as long as the state is; `tryst audit verify --kept` takes
them as evidence.
"""

from __future__ import annotations

from tryst.common.custodian.steps.step_context import StepContext
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.wire.checkpoints import checkpoint_from_wire, proof_from_wire


def witness(context: StepContext, *, released: bool) -> None:
    """Verify the log's newest checkpoint and store it.

    Parameters
    ----------
    released
        Whether the next step fetches a released result: then the other custodian's countersigned checkpoint must be
        present, and agree.

    Raises
    ------
    TrystError
        AUDIT or SIGNATURE.
    """
    believed, response = context.log_reader.read()
    other = context.party.side.other.title()
    if response.HasField("other"):
        theirs = checkpoint_from_wire(response.other)
        theirs.verify_countersignature(response.other_countersignature, context.keyring.peer)
        believed.compare(theirs, proof_from_wire(response.other_continues), other)
    elif released:
        raise TrystError(
            ErrorCode.AUDIT,
            f"Carole does not show what {other} has seen of her audit log, so the two cannot be compared",
            where="audit log",
            remedy=f"check with {other} that its service runs; if it does, report this to Carole's operator",
        )
    context.log_reader.keep(believed)
