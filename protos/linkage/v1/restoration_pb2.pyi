from gemel.protos.linkage.v1 import audit_pb2 as _audit_pb2
from gemel.protos.linkage.v1 import project_pb2 as _project_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetRestorationRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetRestorationResponse(_message.Message):
    __slots__ = ("newest", "entry", "restored", "continues")
    NEWEST_FIELD_NUMBER: _ClassVar[int]
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    RESTORED_FIELD_NUMBER: _ClassVar[int]
    CONTINUES_FIELD_NUMBER: _ClassVar[int]
    newest: _audit_pb2.Checkpoint
    entry: _audit_pb2.AuditEntry
    restored: _audit_pb2.Checkpoint
    continues: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, newest: _Optional[_Union[_audit_pb2.Checkpoint, _Mapping]] = ..., entry: _Optional[_Union[_audit_pb2.AuditEntry, _Mapping]] = ..., restored: _Optional[_Union[_audit_pb2.Checkpoint, _Mapping]] = ..., continues: _Optional[_Iterable[bytes]] = ...) -> None: ...

class DecideRestorationRequest(_message.Message):
    __slots__ = ("project", "restoration", "accept", "reason", "lost", "runs", "signature")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    RESTORATION_FIELD_NUMBER: _ClassVar[int]
    ACCEPT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    project: str
    restoration: int
    accept: bool
    reason: str
    lost: _audit_pb2.Checkpoint
    runs: _containers.RepeatedCompositeFieldContainer[ReleasedRun]
    signature: bytes
    def __init__(self, project: _Optional[str] = ..., restoration: _Optional[int] = ..., accept: _Optional[bool] = ..., reason: _Optional[str] = ..., lost: _Optional[_Union[_audit_pb2.Checkpoint, _Mapping]] = ..., runs: _Optional[_Iterable[_Union[ReleasedRun, _Mapping]]] = ..., signature: _Optional[bytes] = ...) -> None: ...

class DecideRestorationResponse(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: _project_pb2.ProjectStatus
    def __init__(self, status: _Optional[_Union[_project_pb2.ProjectStatus, _Mapping]] = ...) -> None: ...

class ReleasedRun(_message.Message):
    __slots__ = ("run", "root")
    RUN_FIELD_NUMBER: _ClassVar[int]
    ROOT_FIELD_NUMBER: _ClassVar[int]
    run: str
    root: bytes
    def __init__(self, run: _Optional[str] = ..., root: _Optional[bytes] = ...) -> None: ...
