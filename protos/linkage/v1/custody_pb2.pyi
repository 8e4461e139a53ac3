from gemel.protos.linkage.v1 import contribution_pb2 as _contribution_pb2
from gemel.protos.linkage.v1 import project_pb2 as _project_pb2
from gemel.protos.linkage.v1 import resolution_pb2 as _resolution_pb2
from gemel.protos.linkage.v1 import transfer_pb2 as _transfer_pb2
from gemel.protos.linkage.v1 import variables_pb2 as _variables_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TaskKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TASK_KIND_UNSPECIFIED: _ClassVar[TaskKind]
    TASK_KIND_IDLE: _ClassVar[TaskKind]
    TASK_KIND_APPROVE: _ClassVar[TaskKind]
    TASK_KIND_AGREE: _ClassVar[TaskKind]
    TASK_KIND_CONTRIBUTE: _ClassVar[TaskKind]
    TASK_KIND_FETCH: _ClassVar[TaskKind]
    TASK_KIND_HANDLES: _ClassVar[TaskKind]
    TASK_KIND_SEND_VARIABLES: _ClassVar[TaskKind]
    TASK_KIND_FETCH_VARIABLES: _ClassVar[TaskKind]

class AgreementMessageKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AGREEMENT_MESSAGE_KIND_UNSPECIFIED: _ClassVar[AgreementMessageKind]
    AGREEMENT_MESSAGE_KIND_OFFER: _ClassVar[AgreementMessageKind]
    AGREEMENT_MESSAGE_KIND_CONFIRMATION: _ClassVar[AgreementMessageKind]
TASK_KIND_UNSPECIFIED: TaskKind
TASK_KIND_IDLE: TaskKind
TASK_KIND_APPROVE: TaskKind
TASK_KIND_AGREE: TaskKind
TASK_KIND_CONTRIBUTE: TaskKind
TASK_KIND_FETCH: TaskKind
TASK_KIND_HANDLES: TaskKind
TASK_KIND_SEND_VARIABLES: TaskKind
TASK_KIND_FETCH_VARIABLES: TaskKind
AGREEMENT_MESSAGE_KIND_UNSPECIFIED: AgreementMessageKind
AGREEMENT_MESSAGE_KIND_OFFER: AgreementMessageKind
AGREEMENT_MESSAGE_KIND_CONFIRMATION: AgreementMessageKind

class AgreementMessage(_message.Message):
    __slots__ = ("kind", "sender", "payload")
    KIND_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    kind: AgreementMessageKind
    sender: _project_pb2.Side
    payload: bytes
    def __init__(self, kind: _Optional[_Union[AgreementMessageKind, str]] = ..., sender: _Optional[_Union[_project_pb2.Side, str]] = ..., payload: _Optional[bytes] = ...) -> None: ...

class NextTaskRequest(_message.Message):
    __slots__ = ("wait_ms", "waiting", "conditions", "since")
    WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    CONDITIONS_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    wait_ms: int
    waiting: _containers.RepeatedScalarFieldContainer[str]
    conditions: _containers.RepeatedCompositeFieldContainer[ProjectCondition]
    since: StatusPosition
    def __init__(self, wait_ms: _Optional[int] = ..., waiting: _Optional[_Iterable[str]] = ..., conditions: _Optional[_Iterable[_Union[ProjectCondition, _Mapping]]] = ..., since: _Optional[_Union[StatusPosition, _Mapping]] = ...) -> None: ...

class StatusPosition(_message.Message):
    __slots__ = ("entry", "leaf", "open")
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    LEAF_FIELD_NUMBER: _ClassVar[int]
    OPEN_FIELD_NUMBER: _ClassVar[int]
    entry: int
    leaf: bytes
    open: str
    def __init__(self, entry: _Optional[int] = ..., leaf: _Optional[bytes] = ..., open: _Optional[str] = ...) -> None: ...

class ProjectCondition(_message.Message):
    __slots__ = ("project", "condition")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    CONDITION_FIELD_NUMBER: _ClassVar[int]
    project: str
    condition: _project_pb2.CustodianCondition
    def __init__(self, project: _Optional[str] = ..., condition: _Optional[_Union[_project_pb2.CustodianCondition, str]] = ...) -> None: ...

class NextTaskResponse(_message.Message):
    __slots__ = ("kind", "status", "specification", "messages", "run", "new_epoch", "projects", "position", "more", "upload", "recipient", "countersign", "certificates")
    KIND_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    SPECIFICATION_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    NEW_EPOCH_FIELD_NUMBER: _ClassVar[int]
    PROJECTS_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    UPLOAD_FIELD_NUMBER: _ClassVar[int]
    RECIPIENT_FIELD_NUMBER: _ClassVar[int]
    COUNTERSIGN_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATES_FIELD_NUMBER: _ClassVar[int]
    kind: TaskKind
    status: _project_pb2.ProjectStatus
    specification: str
    messages: _containers.RepeatedCompositeFieldContainer[AgreementMessage]
    run: str
    new_epoch: _project_pb2.NewEpoch
    projects: _containers.RepeatedCompositeFieldContainer[_project_pb2.ProjectStatus]
    position: StatusPosition
    more: bool
    upload: str
    recipient: str
    countersign: int
    certificates: _containers.RepeatedCompositeFieldContainer[_project_pb2.EndingCertificate]
    def __init__(self, kind: _Optional[_Union[TaskKind, str]] = ..., status: _Optional[_Union[_project_pb2.ProjectStatus, _Mapping]] = ..., specification: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[AgreementMessage, _Mapping]]] = ..., run: _Optional[str] = ..., new_epoch: _Optional[_Union[_project_pb2.NewEpoch, _Mapping]] = ..., projects: _Optional[_Iterable[_Union[_project_pb2.ProjectStatus, _Mapping]]] = ..., position: _Optional[_Union[StatusPosition, _Mapping]] = ..., more: _Optional[bool] = ..., upload: _Optional[str] = ..., recipient: _Optional[str] = ..., countersign: _Optional[int] = ..., certificates: _Optional[_Iterable[_Union[_project_pb2.EndingCertificate, _Mapping]]] = ...) -> None: ...

class ApproveRequest(_message.Message):
    __slots__ = ("project", "specification_digest", "signature", "epoch", "file")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    SPECIFICATION_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    project: str
    specification_digest: bytes
    signature: bytes
    epoch: int
    file: FileStatement
    def __init__(self, project: _Optional[str] = ..., specification_digest: _Optional[bytes] = ..., signature: _Optional[bytes] = ..., epoch: _Optional[int] = ..., file: _Optional[_Union[FileStatement, _Mapping]] = ...) -> None: ...

class FileStatement(_message.Message):
    __slots__ = ("records", "origin", "signature")
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    records: int
    origin: str
    signature: bytes
    def __init__(self, records: _Optional[int] = ..., origin: _Optional[str] = ..., signature: _Optional[bytes] = ...) -> None: ...

class ApproveResponse(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: _project_pb2.ProjectStatus
    def __init__(self, status: _Optional[_Union[_project_pb2.ProjectStatus, _Mapping]] = ...) -> None: ...

class CustodyDeclineRequest(_message.Message):
    __slots__ = ("project", "specification_digest", "reason", "signature")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    SPECIFICATION_DIGEST_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    project: str
    specification_digest: bytes
    reason: str
    signature: bytes
    def __init__(self, project: _Optional[str] = ..., specification_digest: _Optional[bytes] = ..., reason: _Optional[str] = ..., signature: _Optional[bytes] = ...) -> None: ...

class CustodyDeclineResponse(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: _project_pb2.ProjectStatus
    def __init__(self, status: _Optional[_Union[_project_pb2.ProjectStatus, _Mapping]] = ...) -> None: ...

class PostMessageRequest(_message.Message):
    __slots__ = ("project", "epoch", "message")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    project: str
    epoch: int
    message: AgreementMessage
    def __init__(self, project: _Optional[str] = ..., epoch: _Optional[int] = ..., message: _Optional[_Union[AgreementMessage, _Mapping]] = ...) -> None: ...

class PostMessageResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ReportKeysRequest(_message.Message):
    __slots__ = ("project", "epoch", "key_check_value", "canary_digest", "canary_parts")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    KEY_CHECK_VALUE_FIELD_NUMBER: _ClassVar[int]
    CANARY_DIGEST_FIELD_NUMBER: _ClassVar[int]
    CANARY_PARTS_FIELD_NUMBER: _ClassVar[int]
    project: str
    epoch: int
    key_check_value: bytes
    canary_digest: bytes
    canary_parts: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, project: _Optional[str] = ..., epoch: _Optional[int] = ..., key_check_value: _Optional[bytes] = ..., canary_digest: _Optional[bytes] = ..., canary_parts: _Optional[_Iterable[bytes]] = ...) -> None: ...

class ReportKeysResponse(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: _project_pb2.ProjectStatus
    def __init__(self, status: _Optional[_Union[_project_pb2.ProjectStatus, _Mapping]] = ...) -> None: ...

class FetchResultRequest(_message.Message):
    __slots__ = ("project", "run", "index")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    project: str
    run: str
    index: int
    def __init__(self, project: _Optional[str] = ..., run: _Optional[str] = ..., index: _Optional[int] = ...) -> None: ...

class FetchResultResponse(_message.Message):
    __slots__ = ("chunk",)
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    chunk: _transfer_pb2.Chunk
    def __init__(self, chunk: _Optional[_Union[_transfer_pb2.Chunk, _Mapping]] = ...) -> None: ...

class AcknowledgeResultRequest(_message.Message):
    __slots__ = ("project", "run", "root", "alone")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    ROOT_FIELD_NUMBER: _ClassVar[int]
    ALONE_FIELD_NUMBER: _ClassVar[int]
    project: str
    run: str
    root: bytes
    alone: str
    def __init__(self, project: _Optional[str] = ..., run: _Optional[str] = ..., root: _Optional[bytes] = ..., alone: _Optional[str] = ...) -> None: ...

class AcknowledgeResultResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
