"""The states of a project and of a run, as numbered on the wire and in the database."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class State(IntEnum):
    """The state of a project."""

    DRAFT = 1
    """Created; its specification waits for approvals."""
    APPROVED = 2
    """Coordinator and both custodians have signed the specification."""
    KEYED = 3
    """Both custodians hold the same seed and compute the same signatures."""
    CONTRIBUTED = 4
    """Both uploads are complete."""
    RUN = 5
    """A run has ended with links."""
    ASSESSED = 6
    """The result's disclosure risk has been assessed; it is not released, because a limit is breached."""
    HELD = 7
    """A limit is breached, and by the policy a steward decides."""
    RELEASED = 8
    """Each recipient can fetch its share."""
    ERASED = 9
    """The keys of everything uploaded are destroyed."""


class RunState(IntEnum):
    """The state of a run."""

    QUEUED = 1
    RUNNING = 2
    DONE = 3
    FAILED = 4
    RESOLVING = 5
    """Waits for the custodians' handles and for the resolver's result; no worker has it."""

    @property
    def active(self) -> bool:
        """Whether the run may still produce a result."""
        return self in (RunState.QUEUED, RunState.RUNNING, RunState.RESOLVING)


class Grant(StrEnum):
    """What the specification lets a recipient have of the result."""

    LINKS = "links"
    DRAWS = "draws"
    PAIRS = "pairs"
    STATISTICS = "statistics"
    NOTHING = "nothing"


class Policy(StrEnum):
    """What a specification requires before a release."""

    NONE = "none"
    """No assessment."""
    REFUSE = "refuse"
    """An assessment; a result that breaches a limit is not released."""
    HOLD = "hold"
    """An assessment; a result that breaches a limit waits for a steward."""


class JoinedBy(StrEnum):
    """The party that learns, in mode block_keyed, which rows are one record, and so joins them."""

    RESOLVER = "resolver"
    """The coordinator's process, which holds no signature."""
    CAROLE = "carole"
    """The linkage unit itself: the fall-back, where the specification allows it."""


class MessageKind(IntEnum):
    """A step of the seed agreement, posted in Carole's mailbox for the other custodian."""

    OFFER = 1
    CONFIRMATION = 2
