"""A project as its rules see it: only what decides what may happen next.

These are values: an operation returns a new `Project`, and the store writes down what differs. Times, each `at`, are
milliseconds since 1970, set by Carole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Any

from gemel.common.audit.statements import HandOver
from gemel.common.parties import Role, Side
from gemel.common.specification.model.granted_variables import Transfer

# The states of a project and of a run, as numbered on the wire and in the database.


class State(IntEnum):
    """The state of a project."""

    DRAFT = 1
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


@dataclass(frozen=True)
class Approval:
    """One member's signed consent to the specification."""

    member: str
    digest: bytes
    signature: bytes = field(repr=False)
    at: int = 0
    epoch: int = 1
    """Which the signature covers."""


@dataclass(frozen=True)
class Decline:
    """A custodian's signed refusal of the specification."""

    member: str
    digest: bytes
    reason: str
    signature: bytes = field(repr=False)
    at: int = 0


@dataclass(frozen=True)
class NewEpoch:
    """The coordinator's signed act that has opened an epoch after the first."""

    epoch: int
    member: str
    reason: str
    signature: bytes = field(repr=False)
    at: int = 0


@dataclass(frozen=True)
class PendingHandOver:
    """A signed offer of a project, which its successor has not taken over yet."""

    statement: HandOver
    member: str
    """Who has signed it: the owner, or a steward."""
    signature: bytes = field(repr=False)
    at: int = 0


@dataclass(frozen=True)
class KeyReport:
    """A custodian's key report: eight bytes that show whether seeds are equal, and the canary digest."""

    key_check_value: bytes
    canary_digest: bytes
    canary_parts: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}), compare=False)
    """A digest of each part of the canary, by its name: which differ shows why."""


@dataclass(frozen=True)
class Upload:
    """A contribution, complete or in progress."""

    upload: str
    committed: bool
    rows: int
    total_bytes: int
    received_bytes: int = 0
    expired: bool = False
    """Its keys are destroyed, because its retention time is over."""
    layout: str = field(default="", repr=False)
    """The byte layout of its manifest, as text: equal texts are equal layouts."""


@dataclass(frozen=True)
class Run:
    """One attempt, or several, at linking the two contributions."""

    run: str
    request: str
    state: RunState
    stage: str = ""
    fraction: float = 0.0
    error: str = ""
    links: int = 0
    attempt: int = 0
    released: bool = False
    """Whether its result may be fetched."""
    handles_received_from: frozenset[Side] = frozenset()
    """Sides that have submitted handles for the rows of its candidate pairs, in mode block_keyed."""
    call: str = ""
    """The call that requested it, as Carole's log has it."""


@dataclass(frozen=True)
class PolicyDecision:
    """The result of assessing a run's combined output."""

    measures: Mapping[str, float]
    """Each measure's value, as compared with its limit."""
    breaches: tuple[str, ...]
    report: bytes
    """SHA-256 of the report."""
    compared: int = 0
    unseen: int = 0
    """`compared`, `unseen`: earlier releases of the same custodians: those that the result was compared with, and those
    that it could not be compared with."""
    reason: str = ""
    """What a breach consists in, where there is more to say than the measure; it names no value."""
    coarsened: Mapping[str, str] = field(default_factory=dict)
    """By variable the step of `assessment.protect` by which it is released coarsened; the measures are of that."""
    breached_before: tuple[str, ...] = ()
    """The measures that were above their limits before it was coarsened."""


@dataclass(frozen=True)
class ReleaseSignature:
    """A steward's signature about a held result: on its release, where others must sign too, or on its refusal."""

    run: str
    member: str
    identity: str
    """By which it was made, in hexadecimal: of a member that has another one since, it counts no more."""
    report: bytes
    """SHA-256 of the report that the steward has read."""
    signature: bytes = field(repr=False)
    at: int = 0


@dataclass(frozen=True)
class RestoreDecision:
    """A party's decision on a restored log, in a project."""

    restoration: int
    """Sequence number of the restoration's entry in the audit log."""
    role: Role
    member: str
    """`role`, `member`: who decided."""
    accepted: bool
    """Whether it goes on with the restored log."""
    reason: str = ""
    released: frozenset[str] = frozenset()
    """The runs that it knows to have been released."""
    fetched: frozenset[str] = frozenset()
    """Those of which it has proven, by the digest of its sealed share, that Carole had released them to it."""
    decides: bool = True
    """Whether it counts in the project: not that of a coordinator that the project did not belong to."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a specification decides of a project, as the project's fields of the same names have it."""

    specification_digest: bytes
    encoding_digest: bytes
    grants: Mapping[Role, Grant]
    policy: Policy
    signatures: int = 1
    transfers: tuple[Transfer, ...] = ()

    @property
    def parts(self) -> dict[str, Any]:
        return {part.name: getattr(self, part.name) for part in fields(Terms)}


@dataclass(frozen=True)
class Project:
    """A project's state."""

    name: str
    specification_digest: bytes
    encoding_digest: bytes
    grants: Mapping[Role, Grant]
    """What the specification grants each recipient, by role: Alice's, Bob's and the coordinator's."""
    state: State = State.DRAFT
    epoch: int = 1
    """`name`, `specification_digest`, `encoding_digest`, `epoch`: identity of the project. An epoch is one agreed
    seed."""
    owner: str = ""
    hand_over: PendingHandOver | None = None
    new_epoch: NewEpoch | None = None
    """What has opened the present epoch; None in the first."""
    approvals: Mapping[Role, Approval] = field(default_factory=lambda: MappingProxyType({}))
    declines: Mapping[Side, Decline] = field(default_factory=lambda: MappingProxyType({}))
    """Of the specification, by those who have not approved it since."""
    messages: Mapping[tuple[Side, MessageKind], bytes] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    reports: Mapping[Side, KeyReport] = field(default_factory=lambda: MappingProxyType({}))
    uploads: Mapping[Side, Upload] = field(default_factory=lambda: MappingProxyType({}))
    """The newest upload of each custodian: the committed one where there is one."""
    pending: Mapping[Side, Upload] = field(default_factory=lambda: MappingProxyType({}))
    """Beside a committed upload, the one in progress that will replace it."""
    runs: tuple[Run, ...] = ()
    """Oldest first."""
    acknowledged: frozenset[Side] = frozenset()
    """Sides that have confirmed that they hold their share of the newest released run."""
    transfers: tuple[Transfer, ...] = ()
    """Whose columns the specification grants to whom, in its order."""
    sent: frozenset[Transfer] = frozenset()
    received: frozenset[Transfer] = frozenset()
    """`sent`, `received`: those of the newest released run that have been sent, and of these those that have been
    received."""
    policy: Policy = Policy.NONE
    signatures: int = 1
    """How many stewards must sign the release of a held result."""
    release_signatures: tuple[ReleaseSignature, ...] = ()
    """Of the held result's release, oldest first, while others are awaited."""
    restoration: int = 0
    """Sequence number of the newest restoration of the store since the project was created; 0 if there was none."""
    restore_decisions: tuple[RestoreDecision, ...] = ()
    """The parties' decisions on this restoration and former ones, oldest first (see `restoration`)."""

    @property
    def newest_run(self) -> Run | None:
        return self.runs[-1] if self.runs else None

    @property
    def released_run(self) -> Run | None:
        return next((run for run in reversed(self.runs) if run.released), None)

    @property
    def shares_awaited(self) -> bool:
        """Whether a custodian has yet to fetch its share of the released result."""
        return self.state is State.RELEASED and any(
            self.grant(side.role) is not Grant.NOTHING and side not in self.acknowledged for side in Side
        )

    @property
    def active_run(self) -> Run | None:
        """The run that may still produce a result; there is never more than one."""
        return next((run for run in self.runs if run.state.active), None)

    def run(self, name: str) -> Run | None:
        return next((run for run in self.runs if run.run == name), None)

    def contributed(self, side: Side) -> bool:
        """Whether the side's upload is complete and still stored."""
        upload = self.uploads.get(side)
        return upload is not None and upload.committed and not upload.expired

    def grant(self, role: Role) -> Grant:
        """What a role may have of the result; nothing, unless the specification grants it."""
        return self.grants.get(role, Grant.NOTHING)
