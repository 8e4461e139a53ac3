from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Checkpoint(_message.Message):
    __slots__ = ("log", "size", "root", "at_unix_ms", "signature", "note_signature")
    LOG_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    ROOT_FIELD_NUMBER: _ClassVar[int]
    AT_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    NOTE_SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    log: str
    size: int
    root: bytes
    at_unix_ms: int
    signature: bytes
    note_signature: bytes
    def __init__(self, log: _Optional[str] = ..., size: _Optional[int] = ..., root: _Optional[bytes] = ..., at_unix_ms: _Optional[int] = ..., signature: _Optional[bytes] = ..., note_signature: _Optional[bytes] = ...) -> None: ...

class WitnessRequest(_message.Message):
    __slots__ = ("seen", "countersignature", "project", "run", "cosigned_at", "cosignature")
    SEEN_FIELD_NUMBER: _ClassVar[int]
    COUNTERSIGNATURE_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    COSIGNED_AT_FIELD_NUMBER: _ClassVar[int]
    COSIGNATURE_FIELD_NUMBER: _ClassVar[int]
    seen: Checkpoint
    countersignature: bytes
    project: str
    run: str
    cosigned_at: int
    cosignature: bytes
    def __init__(self, seen: _Optional[_Union[Checkpoint, _Mapping]] = ..., countersignature: _Optional[bytes] = ..., project: _Optional[str] = ..., run: _Optional[str] = ..., cosigned_at: _Optional[int] = ..., cosignature: _Optional[bytes] = ...) -> None: ...

class WitnessResponse(_message.Message):
    __slots__ = ("newest", "continues", "other", "other_countersignature", "other_continues", "release")
    NEWEST_FIELD_NUMBER: _ClassVar[int]
    CONTINUES_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    OTHER_COUNTERSIGNATURE_FIELD_NUMBER: _ClassVar[int]
    OTHER_CONTINUES_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    newest: Checkpoint
    continues: _containers.RepeatedScalarFieldContainer[bytes]
    other: Checkpoint
    other_countersignature: bytes
    other_continues: _containers.RepeatedScalarFieldContainer[bytes]
    release: AuditEntry
    def __init__(self, newest: _Optional[_Union[Checkpoint, _Mapping]] = ..., continues: _Optional[_Iterable[bytes]] = ..., other: _Optional[_Union[Checkpoint, _Mapping]] = ..., other_countersignature: _Optional[bytes] = ..., other_continues: _Optional[_Iterable[bytes]] = ..., release: _Optional[_Union[AuditEntry, _Mapping]] = ...) -> None: ...

class AuditEntry(_message.Message):
    __slots__ = ("sequence", "at_unix_ms", "project", "actor", "action", "details", "salt", "included")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    AT_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    SALT_FIELD_NUMBER: _ClassVar[int]
    INCLUDED_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    at_unix_ms: int
    project: str
    actor: str
    action: str
    details: str
    salt: bytes
    included: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, sequence: _Optional[int] = ..., at_unix_ms: _Optional[int] = ..., project: _Optional[str] = ..., actor: _Optional[str] = ..., action: _Optional[str] = ..., details: _Optional[str] = ..., salt: _Optional[bytes] = ..., included: _Optional[_Iterable[bytes]] = ...) -> None: ...
