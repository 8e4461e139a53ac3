from gemel.protos.linkage.v1 import audit_pb2 as _audit_pb2
from gemel.protos.linkage.v1 import project_pb2 as _project_pb2
from gemel.protos.linkage.v1 import transfer_pb2 as _transfer_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListAssessedRequest(_message.Message):
    __slots__ = ("after", "maximum")
    AFTER_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    after: str
    maximum: int
    def __init__(self, after: _Optional[str] = ..., maximum: _Optional[int] = ...) -> None: ...

class ListAssessedResponse(_message.Message):
    __slots__ = ("projects", "next", "certificates")
    PROJECTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATES_FIELD_NUMBER: _ClassVar[int]
    projects: _containers.RepeatedCompositeFieldContainer[_project_pb2.ProjectStatus]
    next: str
    certificates: _containers.RepeatedCompositeFieldContainer[_project_pb2.EndingCertificate]
    def __init__(self, projects: _Optional[_Iterable[_Union[_project_pb2.ProjectStatus, _Mapping]]] = ..., next: _Optional[str] = ..., certificates: _Optional[_Iterable[_Union[_project_pb2.EndingCertificate, _Mapping]]] = ...) -> None: ...

class GetReportRequest(_message.Message):
    __slots__ = ("project", "run", "index")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    project: str
    run: str
    index: int
    def __init__(self, project: _Optional[str] = ..., run: _Optional[str] = ..., index: _Optional[int] = ...) -> None: ...

class GetReportResponse(_message.Message):
    __slots__ = ("chunk",)
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    chunk: _transfer_pb2.Chunk
    def __init__(self, chunk: _Optional[_Union[_transfer_pb2.Chunk, _Mapping]] = ...) -> None: ...

class DecideRequest(_message.Message):
    __slots__ = ("project", "run", "release", "reason", "signature")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    project: str
    run: str
    release: bool
    reason: str
    signature: bytes
    def __init__(self, project: _Optional[str] = ..., run: _Optional[str] = ..., release: _Optional[bool] = ..., reason: _Optional[str] = ..., signature: _Optional[bytes] = ...) -> None: ...

class DecideResponse(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: _project_pb2.ProjectStatus
    def __init__(self, status: _Optional[_Union[_project_pb2.ProjectStatus, _Mapping]] = ...) -> None: ...

class StewardHandOverRequest(_message.Message):
    __slots__ = ("project", "former", "successor", "reason", "seen", "signature")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    FORMER_FIELD_NUMBER: _ClassVar[int]
    SUCCESSOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SEEN_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    project: str
    former: str
    successor: str
    reason: str
    seen: int
    signature: bytes
    def __init__(self, project: _Optional[str] = ..., former: _Optional[str] = ..., successor: _Optional[str] = ..., reason: _Optional[str] = ..., seen: _Optional[int] = ..., signature: _Optional[bytes] = ...) -> None: ...

class StewardHandOverResponse(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: _project_pb2.ProjectStatus
    def __init__(self, status: _Optional[_Union[_project_pb2.ProjectStatus, _Mapping]] = ...) -> None: ...

class ListEntriesRequest(_message.Message):
    __slots__ = ("project", "after")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    project: str
    after: int
    def __init__(self, project: _Optional[str] = ..., after: _Optional[int] = ...) -> None: ...

class ListEntriesResponse(_message.Message):
    __slots__ = ("entries", "checkpoint")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[_audit_pb2.AuditEntry]
    checkpoint: _audit_pb2.Checkpoint
    def __init__(self, entries: _Optional[_Iterable[_Union[_audit_pb2.AuditEntry, _Mapping]]] = ..., checkpoint: _Optional[_Union[_audit_pb2.Checkpoint, _Mapping]] = ...) -> None: ...
