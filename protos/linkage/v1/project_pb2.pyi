from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ProjectState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROJECT_STATE_UNSPECIFIED: _ClassVar[ProjectState]
    PROJECT_STATE_DRAFT: _ClassVar[ProjectState]
    PROJECT_STATE_APPROVED: _ClassVar[ProjectState]
    PROJECT_STATE_KEYED: _ClassVar[ProjectState]
    PROJECT_STATE_CONTRIBUTED: _ClassVar[ProjectState]
    PROJECT_STATE_RUN: _ClassVar[ProjectState]
    PROJECT_STATE_ASSESSED: _ClassVar[ProjectState]
    PROJECT_STATE_HELD: _ClassVar[ProjectState]
    PROJECT_STATE_RELEASED: _ClassVar[ProjectState]
    PROJECT_STATE_ERASED: _ClassVar[ProjectState]

class Side(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SIDE_UNSPECIFIED: _ClassVar[Side]
    SIDE_ALICE: _ClassVar[Side]
    SIDE_BOB: _ClassVar[Side]

class CustodianCondition(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CUSTODIAN_CONDITION_UNSPECIFIED: _ClassVar[CustodianCondition]
    CUSTODIAN_CONDITION_APPROVAL: _ClassVar[CustodianCondition]
    CUSTODIAN_CONDITION_LEAKAGE: _ClassVar[CustodianCondition]
    CUSTODIAN_CONDITION_SOURCE: _ClassVar[CustodianCondition]
    CUSTODIAN_CONDITION_CONFIGURATION: _ClassVar[CustodianCondition]
    CUSTODIAN_CONDITION_INSTALLATION: _ClassVar[CustodianCondition]
    CUSTODIAN_CONDITION_STORAGE: _ClassVar[CustodianCondition]
    CUSTODIAN_CONDITION_AUDIT: _ClassVar[CustodianCondition]
    CUSTODIAN_CONDITION_OTHER: _ClassVar[CustodianCondition]
    CUSTODIAN_CONDITION_RESTORE: _ClassVar[CustodianCondition]

class RunState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_STATE_UNSPECIFIED: _ClassVar[RunState]
    RUN_STATE_QUEUED: _ClassVar[RunState]
    RUN_STATE_RUNNING: _ClassVar[RunState]
    RUN_STATE_DONE: _ClassVar[RunState]
    RUN_STATE_FAILED: _ClassVar[RunState]
    RUN_STATE_RESOLVING: _ClassVar[RunState]
PROJECT_STATE_UNSPECIFIED: ProjectState
PROJECT_STATE_DRAFT: ProjectState
PROJECT_STATE_APPROVED: ProjectState
PROJECT_STATE_KEYED: ProjectState
PROJECT_STATE_CONTRIBUTED: ProjectState
PROJECT_STATE_RUN: ProjectState
PROJECT_STATE_ASSESSED: ProjectState
PROJECT_STATE_HELD: ProjectState
PROJECT_STATE_RELEASED: ProjectState
PROJECT_STATE_ERASED: ProjectState
SIDE_UNSPECIFIED: Side
SIDE_ALICE: Side
SIDE_BOB: Side
CUSTODIAN_CONDITION_UNSPECIFIED: CustodianCondition
CUSTODIAN_CONDITION_APPROVAL: CustodianCondition
CUSTODIAN_CONDITION_LEAKAGE: CustodianCondition
CUSTODIAN_CONDITION_SOURCE: CustodianCondition
CUSTODIAN_CONDITION_CONFIGURATION: CustodianCondition
CUSTODIAN_CONDITION_INSTALLATION: CustodianCondition
CUSTODIAN_CONDITION_STORAGE: CustodianCondition
CUSTODIAN_CONDITION_AUDIT: CustodianCondition
CUSTODIAN_CONDITION_OTHER: CustodianCondition
CUSTODIAN_CONDITION_RESTORE: CustodianCondition
RUN_STATE_UNSPECIFIED: RunState
RUN_STATE_QUEUED: RunState
RUN_STATE_RUNNING: RunState
RUN_STATE_DONE: RunState
RUN_STATE_FAILED: RunState
RUN_STATE_RESOLVING: RunState

class Approval(_message.Message):
    __slots__ = ("member", "specification_digest", "signature", "at_unix_ms")
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    SPECIFICATION_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    AT_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    member: str
    specification_digest: bytes
    signature: bytes
    at_unix_ms: int
    def __init__(self, member: _Optional[str] = ..., specification_digest: _Optional[bytes] = ..., signature: _Optional[bytes] = ..., at_unix_ms: _Optional[int] = ...) -> None: ...

class ProjectStatus(_message.Message):
    __slots__ = ("project", "state", "specification_digest", "encoding_digest", "epoch", "approvals", "contributions", "blocking_error", "run", "sides", "restore_awaits", "owner", "successor", "signatures", "signed", "former_projects", "former_links", "transfers", "signers")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SPECIFICATION_DIGEST_FIELD_NUMBER: _ClassVar[int]
    ENCODING_DIGEST_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    APPROVALS_FIELD_NUMBER: _ClassVar[int]
    CONTRIBUTIONS_FIELD_NUMBER: _ClassVar[int]
    BLOCKING_ERROR_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    SIDES_FIELD_NUMBER: _ClassVar[int]
    RESTORE_AWAITS_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    SUCCESSOR_FIELD_NUMBER: _ClassVar[int]
    SIGNATURES_FIELD_NUMBER: _ClassVar[int]
    SIGNED_FIELD_NUMBER: _ClassVar[int]
    FORMER_PROJECTS_FIELD_NUMBER: _ClassVar[int]
    FORMER_LINKS_FIELD_NUMBER: _ClassVar[int]
    TRANSFERS_FIELD_NUMBER: _ClassVar[int]
    SIGNERS_FIELD_NUMBER: _ClassVar[int]
    project: str
    state: ProjectState
    specification_digest: bytes
    encoding_digest: bytes
    epoch: int
    approvals: _containers.RepeatedCompositeFieldContainer[Approval]
    contributions: _containers.RepeatedCompositeFieldContainer[ContributionStatus]
    blocking_error: str
    run: RunStatus
    sides: _containers.RepeatedCompositeFieldContainer[SideStatus]
    restore_awaits: _containers.RepeatedScalarFieldContainer[str]
    owner: str
    successor: str
    signatures: int
    signed: _containers.RepeatedScalarFieldContainer[str]
    former_projects: int
    former_links: int
    transfers: _containers.RepeatedCompositeFieldContainer[GrantedTransfer]
    signers: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, project: _Optional[str] = ..., state: _Optional[_Union[ProjectState, str]] = ..., specification_digest: _Optional[bytes] = ..., encoding_digest: _Optional[bytes] = ..., epoch: _Optional[int] = ..., approvals: _Optional[_Iterable[_Union[Approval, _Mapping]]] = ..., contributions: _Optional[_Iterable[_Union[ContributionStatus, _Mapping]]] = ..., blocking_error: _Optional[str] = ..., run: _Optional[_Union[RunStatus, _Mapping]] = ..., sides: _Optional[_Iterable[_Union[SideStatus, _Mapping]]] = ..., restore_awaits: _Optional[_Iterable[str]] = ..., owner: _Optional[str] = ..., successor: _Optional[str] = ..., signatures: _Optional[int] = ..., signed: _Optional[_Iterable[str]] = ..., former_projects: _Optional[int] = ..., former_links: _Optional[int] = ..., transfers: _Optional[_Iterable[_Union[GrantedTransfer, _Mapping]]] = ..., signers: _Optional[_Iterable[str]] = ...) -> None: ...

class GrantedTransfer(_message.Message):
    __slots__ = ("sender", "recipient", "sent", "received")
    SENDER_FIELD_NUMBER: _ClassVar[int]
    RECIPIENT_FIELD_NUMBER: _ClassVar[int]
    SENT_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    sender: Side
    recipient: str
    sent: bool
    received: bool
    def __init__(self, sender: _Optional[_Union[Side, str]] = ..., recipient: _Optional[str] = ..., sent: _Optional[bool] = ..., received: _Optional[bool] = ...) -> None: ...

class EndingCertificate(_message.Message):
    __slots__ = ("member", "ends_unix_ms", "urgent")
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    ENDS_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    URGENT_FIELD_NUMBER: _ClassVar[int]
    member: str
    ends_unix_ms: int
    urgent: bool
    def __init__(self, member: _Optional[str] = ..., ends_unix_ms: _Optional[int] = ..., urgent: _Optional[bool] = ...) -> None: ...

class NewEpoch(_message.Message):
    __slots__ = ("epoch", "member", "reason", "signature", "at_unix_ms")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    AT_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    member: str
    reason: str
    signature: bytes
    at_unix_ms: int
    def __init__(self, epoch: _Optional[int] = ..., member: _Optional[str] = ..., reason: _Optional[str] = ..., signature: _Optional[bytes] = ..., at_unix_ms: _Optional[int] = ...) -> None: ...

class SideStatus(_message.Message):
    __slots__ = ("side", "approved", "keyed", "contributed", "result_acknowledged", "declined", "condition", "condition_since_unix_ms", "last_poll_unix_ms", "decline_reason")
    SIDE_FIELD_NUMBER: _ClassVar[int]
    APPROVED_FIELD_NUMBER: _ClassVar[int]
    KEYED_FIELD_NUMBER: _ClassVar[int]
    CONTRIBUTED_FIELD_NUMBER: _ClassVar[int]
    RESULT_ACKNOWLEDGED_FIELD_NUMBER: _ClassVar[int]
    DECLINED_FIELD_NUMBER: _ClassVar[int]
    CONDITION_FIELD_NUMBER: _ClassVar[int]
    CONDITION_SINCE_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    LAST_POLL_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    DECLINE_REASON_FIELD_NUMBER: _ClassVar[int]
    side: Side
    approved: bool
    keyed: bool
    contributed: bool
    result_acknowledged: bool
    declined: bool
    condition: CustodianCondition
    condition_since_unix_ms: int
    last_poll_unix_ms: int
    decline_reason: str
    def __init__(self, side: _Optional[_Union[Side, str]] = ..., approved: _Optional[bool] = ..., keyed: _Optional[bool] = ..., contributed: _Optional[bool] = ..., result_acknowledged: _Optional[bool] = ..., declined: _Optional[bool] = ..., condition: _Optional[_Union[CustodianCondition, str]] = ..., condition_since_unix_ms: _Optional[int] = ..., last_poll_unix_ms: _Optional[int] = ..., decline_reason: _Optional[str] = ...) -> None: ...

class ContributionStatus(_message.Message):
    __slots__ = ("side", "rows", "bytes_expected", "bytes_received", "committed")
    SIDE_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    BYTES_EXPECTED_FIELD_NUMBER: _ClassVar[int]
    BYTES_RECEIVED_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_FIELD_NUMBER: _ClassVar[int]
    side: Side
    rows: int
    bytes_expected: int
    bytes_received: int
    committed: bool
    def __init__(self, side: _Optional[_Union[Side, str]] = ..., rows: _Optional[int] = ..., bytes_expected: _Optional[int] = ..., bytes_received: _Optional[int] = ..., committed: _Optional[bool] = ...) -> None: ...

class RunStatus(_message.Message):
    __slots__ = ("run", "state", "stage", "fraction", "error", "links", "attempt", "links_withheld")
    RUN_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    FRACTION_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    LINKS_WITHHELD_FIELD_NUMBER: _ClassVar[int]
    run: str
    state: RunState
    stage: str
    fraction: float
    error: str
    links: int
    attempt: int
    links_withheld: bool
    def __init__(self, run: _Optional[str] = ..., state: _Optional[_Union[RunState, str]] = ..., stage: _Optional[str] = ..., fraction: _Optional[float] = ..., error: _Optional[str] = ..., links: _Optional[int] = ..., attempt: _Optional[int] = ..., links_withheld: _Optional[bool] = ...) -> None: ...
