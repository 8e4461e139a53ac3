"""The states of a project and of a run, as numbered on the wire and in the database."""

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
    ASSESSED = 6
    """The result's disclosure risk has been judged; it is not released, because a limit is breached."""
    HELD = 7
    """Judged too risky by the policy; a steward decides."""
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
    RESOLVING = 5
    """Waits for the custodians' handles and for the resolver's answer; nobody works on it."""

    @property
    def active(self) -> bool:
        """Whether the run may still come to something."""
        return self in (RunState.QUEUED, RunState.RUNNING, RunState.RESOLVING)


class Grant(StrEnum):
    """What the specification lets a recipient have of the result."""

    LINKS = "links"
    PAIRS = "pairs"
    STATISTICS = "statistics"
    NOTHING = "nothing"


class Policy(StrEnum):
    """What a specification asks for before a release."""

    NONE = "none"
    """No assessment."""
    REFUSE = "refuse"
    """An assessment; a result that breaches a limit is not released."""
    HOLD = "hold"
    """An assessment; a result that breaches a limit waits for a steward."""


class JoinedBy(StrEnum):
    """Who is told, in mode block_keyed, which rows are one record, and so joins them."""

    RESOLVER = "resolver"
    """The coordinator's process, which holds no signature."""
    CAROLE = "carole"
    """The linkage unit itself: the fall-back, as the specification may let it."""


class MessageKind(IntEnum):
    """A step of the seed agreement, left in Carole's mailbox for the other custodian."""

    OFFER = 1
    CONFIRMATION = 2
