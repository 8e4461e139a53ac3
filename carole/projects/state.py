"""The states of a project and of a run, as numbered on the wire and in the database.

The wire knows two states more, ASSESSED and HELD; no transition leads to them yet, so they are not here.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum


class State(IntEnum):
    """Where a project stands."""

    DRAFT = 1
    """Created; its specification waits for approvals."""
    APPROVED = 2
    """Coordinator and both custodians have signed the specification."""
    KEYED = 3
    """Both custodians hold the same seed and the same normaliser."""
    CONTRIBUTED = 4
    """Both uploads are complete."""
    RUN = 5
    """A run has ended with links."""
    RELEASED = 8
    """Each recipient can fetch its share."""
    ERASED = 9
    """The keys of everything uploaded are destroyed."""


class RunState(IntEnum):
    """Where a run stands."""

    QUEUED = 1
    RUNNING = 2
    DONE = 3
    FAILED = 4

    @property
    def active(self) -> bool:
        """Whether the run may still come to something."""
        return self in (RunState.QUEUED, RunState.RUNNING)


class Grant(StrEnum):
    """What the specification lets a recipient have of the result."""

    LINKS = "links"
    PAIRS = "pairs"
    STATISTICS = "statistics"
    NOTHING = "nothing"


class LetterKind(IntEnum):
    """A step of the seed agreement, left in Carole's mailbox for the other custodian."""

    OFFER = 1
    CONFIRMATION = 2
