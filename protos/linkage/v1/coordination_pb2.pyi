from gemel.protos.linkage.v1 import audit_pb2 as _audit_pb2
from gemel.protos.linkage.v1 import project_pb2 as _project_pb2
from gemel.protos.linkage.v1 import resolution_pb2 as _resolution_pb2
from gemel.protos.linkage.v1 import transfer_pb2 as _transfer_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CreateProjectRequest(_message.Message):
    __slots__ = ("specification",)
    SPECIFICATION_FIELD_NUMBER: _ClassVar[int]
    specification: str
    def __init__(self, specification: _Optional[str] = ...) -> None: ...

class CreateProjectResponse(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: _project_pb2.ProjectStatus
    def __init__(self, status: _Optional[_Union[_project_pb2.ProjectStatus, _Mapping]] = ...) -> None: ...

class AmendProjectRequest(_message.Message):
    __slots__ = ("specification",)
    SPECIFICATION_FIELD_NUMBER: _ClassVar[int]
    specification: str
    def __init__(self, specification: _Optional[str] = ...) -> None: ...

class AmendProjectResponse(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: _project_pb2.ProjectStatus
    def __init__(self, status: _Optional[_Union[_project_pb2.ProjectStatus, _Mapping]] = ...) -> None: ...

class ApproveProjectRequest(_message.Message):
    __slots__ = ("project", "specification_digest", "signature", "epoch")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    SPECIFICATION_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    project: str
    specification_digest: bytes
    signature: bytes
    epoch: int
    def __init__(self, project: _Optional[str] = ..., specification_digest: _Optional[bytes] = ..., signature: _Optional[bytes] = ..., epoch: _Optional[int] = ...) -> None: ...

class ApproveProjectResponse(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: _project_pb2.ProjectStatus
    def __init__(self, status: _Optional[_Union[_project_pb2.ProjectStatus, _Mapping]] = ...) -> None: ...

class NewEpochRequest(_message.Message):
    __slots__ = ("project", "epoch", "reason", "signature")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    project: str
    epoch: int
    reason: str
    signature: bytes
    def __init__(self, project: _Optional[str] = ..., epoch: _Optional[int] = ..., reason: _Optional[str] = ..., signature: _Optional[bytes] = ...) -> None: ...

class NewEpochResponse(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: _project_pb2.ProjectStatus
    def __init__(self, status: _Optional[_Union[_project_pb2.ProjectStatus, _Mapping]] = ...) -> None: ...

class HandOverRequest(_message.Message):
    __slots__ = ("project", "successor", "reason", "seen", "signature")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    SUCCESSOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SEEN_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    project: str
    successor: str
    reason: str
    seen: int
    signature: bytes
    def __init__(self, project: _Optional[str] = ..., successor: _Optional[str] = ..., reason: _Optional[str] = ..., seen: _Optional[int] = ..., signature: _Optional[bytes] = ...) -> None: ...

class HandOverResponse(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: _project_pb2.ProjectStatus
    def __init__(self, status: _Optional[_Union[_project_pb2.ProjectStatus, _Mapping]] = ...) -> None: ...

class HandOver(_message.Message):
    __slots__ = ("former", "successor", "member", "reason", "seen", "signature", "at_unix_ms")
    FORMER_FIELD_NUMBER: _ClassVar[int]
    SUCCESSOR_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SEEN_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    AT_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    former: str
    successor: str
    member: str
    reason: str
    seen: _audit_pb2.Checkpoint
    signature: bytes
    at_unix_ms: int
    def __init__(self, former: _Optional[str] = ..., successor: _Optional[str] = ..., member: _Optional[str] = ..., reason: _Optional[str] = ..., seen: _Optional[_Union[_audit_pb2.Checkpoint, _Mapping]] = ..., signature: _Optional[bytes] = ..., at_unix_ms: _Optional[int] = ...) -> None: ...

class TakeOverRequest(_message.Message):
    __slots__ = ("project", "seen", "signature", "specification_digest", "approval", "epoch", "epoch_signature")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    SEEN_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    SPECIFICATION_DIGEST_FIELD_NUMBER: _ClassVar[int]
    APPROVAL_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    EPOCH_SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    project: str
    seen: int
    signature: bytes
    specification_digest: bytes
    approval: bytes
    epoch: int
    epoch_signature: bytes
    def __init__(self, project: _Optional[str] = ..., seen: _Optional[int] = ..., signature: _Optional[bytes] = ..., specification_digest: _Optional[bytes] = ..., approval: _Optional[bytes] = ..., epoch: _Optional[int] = ..., epoch_signature: _Optional[bytes] = ...) -> None: ...

class TakeOverResponse(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: _project_pb2.ProjectStatus
    def __init__(self, status: _Optional[_Union[_project_pb2.ProjectStatus, _Mapping]] = ...) -> None: ...

class GetProjectRequest(_message.Message):
    __slots__ = ("project",)
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    project: str
    def __init__(self, project: _Optional[str] = ...) -> None: ...

class GetProjectResponse(_message.Message):
    __slots__ = ("status", "specification", "hand_over", "new_epoch", "certificates")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    SPECIFICATION_FIELD_NUMBER: _ClassVar[int]
    HAND_OVER_FIELD_NUMBER: _ClassVar[int]
    NEW_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATES_FIELD_NUMBER: _ClassVar[int]
    status: _project_pb2.ProjectStatus
    specification: str
    hand_over: HandOver
    new_epoch: _project_pb2.NewEpoch
    certificates: _containers.RepeatedCompositeFieldContainer[_project_pb2.EndingCertificate]
    def __init__(self, status: _Optional[_Union[_project_pb2.ProjectStatus, _Mapping]] = ..., specification: _Optional[str] = ..., hand_over: _Optional[_Union[HandOver, _Mapping]] = ..., new_epoch: _Optional[_Union[_project_pb2.NewEpoch, _Mapping]] = ..., certificates: _Optional[_Iterable[_Union[_project_pb2.EndingCertificate, _Mapping]]] = ...) -> None: ...

class ListProjectsRequest(_message.Message):
    __slots__ = ("after", "maximum")
    AFTER_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    after: str
    maximum: int
    def __init__(self, after: _Optional[str] = ..., maximum: _Optional[int] = ...) -> None: ...

class ListProjectsResponse(_message.Message):
    __slots__ = ("projects", "next", "certificates")
    PROJECTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATES_FIELD_NUMBER: _ClassVar[int]
    projects: _containers.RepeatedCompositeFieldContainer[_project_pb2.ProjectStatus]
    next: str
    certificates: _containers.RepeatedCompositeFieldContainer[_project_pb2.EndingCertificate]
    def __init__(self, projects: _Optional[_Iterable[_Union[_project_pb2.ProjectStatus, _Mapping]]] = ..., next: _Optional[str] = ..., certificates: _Optional[_Iterable[_Union[_project_pb2.EndingCertificate, _Mapping]]] = ...) -> None: ...

class StartRunRequest(_message.Message):
    __slots__ = ("project", "request")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    project: str
    request: str
    def __init__(self, project: _Optional[str] = ..., request: _Optional[str] = ...) -> None: ...

class StartRunResponse(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: _project_pb2.RunStatus
    def __init__(self, run: _Optional[_Union[_project_pb2.RunStatus, _Mapping]] = ...) -> None: ...

class GetRunRequest(_message.Message):
    __slots__ = ("project", "run")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    project: str
    run: str
    def __init__(self, project: _Optional[str] = ..., run: _Optional[str] = ...) -> None: ...

class GetRunResponse(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: _project_pb2.RunStatus
    def __init__(self, run: _Optional[_Union[_project_pb2.RunStatus, _Mapping]] = ...) -> None: ...

class WatchRunRequest(_message.Message):
    __slots__ = ("project", "run")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    project: str
    run: str
    def __init__(self, project: _Optional[str] = ..., run: _Optional[str] = ...) -> None: ...

class GetStatisticsRequest(_message.Message):
    __slots__ = ("project", "run", "index")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    project: str
    run: str
    index: int
    def __init__(self, project: _Optional[str] = ..., run: _Optional[str] = ..., index: _Optional[int] = ...) -> None: ...

class GetStatisticsResponse(_message.Message):
    __slots__ = ("chunk",)
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    chunk: _transfer_pb2.Chunk
    def __init__(self, chunk: _Optional[_Union[_transfer_pb2.Chunk, _Mapping]] = ...) -> None: ...

class EraseProjectRequest(_message.Message):
    __slots__ = ("project",)
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    project: str
    def __init__(self, project: _Optional[str] = ...) -> None: ...

class EraseProjectResponse(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: _project_pb2.ProjectStatus
    def __init__(self, status: _Optional[_Union[_project_pb2.ProjectStatus, _Mapping]] = ...) -> None: ...
