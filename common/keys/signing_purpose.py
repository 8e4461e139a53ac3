"""The purposes of Ed25519 signatures: a signature for one purpose never verifies for another."""

from __future__ import annotations

from enum import StrEnum


class SigningPurpose(StrEnum):
    """Each is signed with the contents. Never change one: former signatures would not verify."""

    APPROVAL = "approve-specification"
    """A member consents to a specification."""
    AGREEMENT_OFFER = "seed agreement: offer"
    AGREEMENT_CONFIRMATION = "seed agreement: confirmation"
    HANDLES = "give-handles"
    """A custodian submits which rows of a run's candidate pairs are one record."""
    ROW_SHARES = "give-row-shares"
    """A compute party gives a custodian its share of the row numbers of a run's pairs above the floor."""
    RESULT = "resolve-run"
    """A resolver answers for its result."""
    DECISION = "decide-release"
    """A steward releases a held result, or refuses it."""
    CHECKPOINT = "audit-checkpoint"
    """Carole states the size and root of the audit log."""
    WITNESS = "audit-witness"
    """A party has verified a checkpoint."""
    RESTORATION = "accept-restored-log"
    """A party accepts a log that was put back from a backup, or refuses it."""
    ENROLMENT = "enrolment request"
    """A party requests to become a member."""
    DECLINE = "decline-specification"
    """A custodian does not take part under a specification, or no longer."""
    FILE = "state-file"
    """A custodian states how many records its file has, and where they come from."""
    NEW_EPOCH = "open-epoch"
    """The coordinator opens a project's next epoch."""
    HAND_OVER = "hand-over-project"
    """A project is offered to another coordinator: by its owner, or by a steward where that one has left."""
    TAKE_OVER = "take-over-project"
    """A coordinator becomes the owner of a project."""
    VARIABLES = "send-variables"
    """A custodian sends columns of its linked records to a recipient."""
    READINESS = "readiness"
    """Nothing: a service looks whether its identity can sign. No one takes such a signature for anything."""
