from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Chunk(_message.Message):
    __slots__ = ("index", "count", "root", "sha256", "data")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    ROOT_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    index: int
    count: int
    root: bytes
    sha256: bytes
    data: bytes
    def __init__(self, index: _Optional[int] = ..., count: _Optional[int] = ..., root: _Optional[bytes] = ..., sha256: _Optional[bytes] = ..., data: _Optional[bytes] = ...) -> None: ...
