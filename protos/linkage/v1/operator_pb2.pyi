from gemel.protos.linkage.v1 import audit_pb2 as _audit_pb2
from gemel.protos.linkage.v1 import project_pb2 as _project_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StatusRequest(_message.Message):
    __slots__ = ("after", "maximum")
    AFTER_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    after: str
    maximum: int
    def __init__(self, after: _Optional[str] = ..., maximum: _Optional[int] = ...) -> None: ...

class StatusResponse(_message.Message):
    __slots__ = ("party", "carole", "connected", "projects", "next", "identity_fingerprint", "certificate", "certificates", "member", "refusal")
    PARTY_FIELD_NUMBER: _ClassVar[int]
    CAROLE_FIELD_NUMBER: _ClassVar[int]
    CONNECTED_FIELD_NUMBER: _ClassVar[int]
    PROJECTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATE_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATES_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    party: str
    carole: str
    connected: bool
    projects: _containers.RepeatedCompositeFieldContainer[CustodianProject]
    next: str
    identity_fingerprint: str
    certificate: str
    certificates: _containers.RepeatedCompositeFieldContainer[_project_pb2.EndingCertificate]
    member: str
    refusal: str
    def __init__(self, party: _Optional[str] = ..., carole: _Optional[str] = ..., connected: _Optional[bool] = ..., projects: _Optional[_Iterable[_Union[CustodianProject, _Mapping]]] = ..., next: _Optional[str] = ..., identity_fingerprint: _Optional[str] = ..., certificate: _Optional[str] = ..., certificates: _Optional[_Iterable[_Union[_project_pb2.EndingCertificate, _Mapping]]] = ..., member: _Optional[str] = ..., refusal: _Optional[str] = ...) -> None: ...

class CustodianProject(_message.Message):
    __slots__ = ("project", "state", "stage", "fraction", "blocking_error", "specification_digest", "rows", "links", "results", "mode", "waits_for_operator", "epoch", "decisions", "upload_bytes")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    FRACTION_FIELD_NUMBER: _ClassVar[int]
    BLOCKING_ERROR_FIELD_NUMBER: _ClassVar[int]
    SPECIFICATION_DIGEST_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    WAITS_FOR_OPERATOR_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    UPLOAD_BYTES_FIELD_NUMBER: _ClassVar[int]
    project: str
    state: _project_pb2.ProjectState
    stage: str
    fraction: float
    blocking_error: str
    specification_digest: bytes
    rows: int
    links: int
    results: str
    mode: str
    waits_for_operator: bool
    epoch: int
    decisions: _containers.RepeatedScalarFieldContainer[str]
    upload_bytes: int
    def __init__(self, project: _Optional[str] = ..., state: _Optional[_Union[_project_pb2.ProjectState, str]] = ..., stage: _Optional[str] = ..., fraction: _Optional[float] = ..., blocking_error: _Optional[str] = ..., specification_digest: _Optional[bytes] = ..., rows: _Optional[int] = ..., links: _Optional[int] = ..., results: _Optional[str] = ..., mode: _Optional[str] = ..., waits_for_operator: _Optional[bool] = ..., epoch: _Optional[int] = ..., decisions: _Optional[_Iterable[str]] = ..., upload_bytes: _Optional[int] = ...) -> None: ...

class ProfileRequest(_message.Message):
    __slots__ = ("project",)
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    project: str
    def __init__(self, project: _Optional[str] = ...) -> None: ...

class ProfileResponse(_message.Message):
    __slots__ = ("json",)
    JSON_FIELD_NUMBER: _ClassVar[int]
    json: str
    def __init__(self, json: _Optional[str] = ...) -> None: ...

class SpecificationRequest(_message.Message):
    __slots__ = ("project",)
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    project: str
    def __init__(self, project: _Optional[str] = ...) -> None: ...

class SpecificationResponse(_message.Message):
    __slots__ = ("text", "digest", "notes", "epoch")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    text: str
    digest: bytes
    notes: _containers.RepeatedScalarFieldContainer[str]
    epoch: int
    def __init__(self, text: _Optional[str] = ..., digest: _Optional[bytes] = ..., notes: _Optional[_Iterable[str]] = ..., epoch: _Optional[int] = ...) -> None: ...

class OperatorApproveRequest(_message.Message):
    __slots__ = ("project", "specification_digest", "epoch")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    SPECIFICATION_DIGEST_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    project: str
    specification_digest: bytes
    epoch: int
    def __init__(self, project: _Optional[str] = ..., specification_digest: _Optional[bytes] = ..., epoch: _Optional[int] = ...) -> None: ...

class OperatorApproveResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DeclineRequest(_message.Message):
    __slots__ = ("project", "reason")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    project: str
    reason: str
    def __init__(self, project: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class DeclineResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class LeakageRequest(_message.Message):
    __slots__ = ("project",)
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    project: str
    def __init__(self, project: _Optional[str] = ...) -> None: ...

class LeakageResponse(_message.Message):
    __slots__ = ("json", "reason")
    JSON_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    json: str
    reason: str
    def __init__(self, json: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class OverrideRequest(_message.Message):
    __slots__ = ("project", "reason")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    project: str
    reason: str
    def __init__(self, project: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class OverrideResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class FetchAloneRequest(_message.Message):
    __slots__ = ("project", "reason")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    project: str
    reason: str
    def __init__(self, project: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class FetchAloneResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListCheckpointsRequest(_message.Message):
    __slots__ = ("minimum", "lost")
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    minimum: int
    lost: bool
    def __init__(self, minimum: _Optional[int] = ..., lost: _Optional[bool] = ...) -> None: ...

class ListCheckpointsResponse(_message.Message):
    __slots__ = ("checkpoints",)
    CHECKPOINTS_FIELD_NUMBER: _ClassVar[int]
    checkpoints: _containers.RepeatedCompositeFieldContainer[_audit_pb2.Checkpoint]
    def __init__(self, checkpoints: _Optional[_Iterable[_Union[_audit_pb2.Checkpoint, _Mapping]]] = ...) -> None: ...

class ShowRestoredRequest(_message.Message):
    __slots__ = ("project",)
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    project: str
    def __init__(self, project: _Optional[str] = ...) -> None: ...

class ShowRestoredResponse(_message.Message):
    __slots__ = ("restoration", "lines")
    RESTORATION_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    restoration: int
    lines: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, restoration: _Optional[int] = ..., lines: _Optional[_Iterable[str]] = ...) -> None: ...

class DecideRestoredRequest(_message.Message):
    __slots__ = ("project", "restoration", "accept", "reason")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    RESTORATION_FIELD_NUMBER: _ClassVar[int]
    ACCEPT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    project: str
    restoration: int
    accept: bool
    reason: str
    def __init__(self, project: _Optional[str] = ..., restoration: _Optional[int] = ..., accept: _Optional[bool] = ..., reason: _Optional[str] = ...) -> None: ...

class DecideRestoredResponse(_message.Message):
    __slots__ = ("awaits",)
    AWAITS_FIELD_NUMBER: _ClassVar[int]
    awaits: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, awaits: _Optional[_Iterable[str]] = ...) -> None: ...

class StopRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StopResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
