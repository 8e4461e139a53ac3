from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Checkpoint(_message.Message):
    __slots__ = ("log", "size", "root", "at_unix_ms", "signature")
    LOG_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    ROOT_FIELD_NUMBER: _ClassVar[int]
    AT_UNIX_MS_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    log: str
    size: int
    root: bytes
    at_unix_ms: int
    signature: bytes
    def __init__(self, log: _Optional[str] = ..., size: _Optional[int] = ..., root: _Optional[bytes] = ..., at_unix_ms: _Optional[int] = ..., signature: _Optional[bytes] = ...) -> None: ...

class WitnessRequest(_message.Message):
    __slots__ = ("seen", "countersignature")
    SEEN_FIELD_NUMBER: _ClassVar[int]
    COUNTERSIGNATURE_FIELD_NUMBER: _ClassVar[int]
    seen: Checkpoint
    countersignature: bytes
    def __init__(self, seen: _Optional[_Union[Checkpoint, _Mapping]] = ..., countersignature: _Optional[bytes] = ...) -> None: ...

class WitnessResponse(_message.Message):
    __slots__ = ("newest", "continues", "other", "other_countersignature", "other_continues")
    NEWEST_FIELD_NUMBER: _ClassVar[int]
    CONTINUES_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    OTHER_COUNTERSIGNATURE_FIELD_NUMBER: _ClassVar[int]
    OTHER_CONTINUES_FIELD_NUMBER: _ClassVar[int]
    newest: Checkpoint
    continues: _containers.RepeatedScalarFieldContainer[bytes]
    other: Checkpoint
    other_countersignature: bytes
    other_continues: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, newest: _Optional[_Union[Checkpoint, _Mapping]] = ..., continues: _Optional[_Iterable[bytes]] = ..., other: _Optional[_Union[Checkpoint, _Mapping]] = ..., other_countersignature: _Optional[bytes] = ..., other_continues: _Optional[_Iterable[bytes]] = ...) -> None: ...
