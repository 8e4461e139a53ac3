"""What Ed25519 signatures are made for: a signature for one purpose never verifies for another."""

from __future__ import annotations

from enum import StrEnum


class SigningPurpose(StrEnum):
    """Each is signed with the contents it is made for. Never change one: former signatures would not verify."""

    APPROVAL = "approve-specification"
    """A member consents to a specification."""
    AGREEMENT_OFFER = "seed agreement: offer"
    AGREEMENT_CONFIRMATION = "seed agreement: confirmation"
    HANDLES = "give-handles"
    """A custodian answers which rows of a run's candidate pairs are one record."""
    DECISION = "decide-release"
    """A steward releases a held result, or refuses it."""
    CHECKPOINT = "audit-checkpoint"
    """Carole states the size and root of the audit log."""
    WITNESS = "audit-witness"
    """A custodian has believed a checkpoint."""
    ENROLMENT = "enrolment card"
    """A party asks to become a member."""
