from tryst.protos.linkage.v1 import project_pb2 as _project_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Paper(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PAPER_UNSPECIFIED: _ClassVar[Paper]
    PAPER_ROWS: _ClassVar[Paper]
    PAPER_HANDLES: _ClassVar[Paper]
    PAPER_QUESTION: _ClassVar[Paper]
    PAPER_ANSWER: _ClassVar[Paper]
PAPER_UNSPECIFIED: Paper
PAPER_ROWS: Paper
PAPER_HANDLES: Paper
PAPER_QUESTION: Paper
PAPER_ANSWER: Paper

class FetchPaperRequest(_message.Message):
    __slots__ = ("project", "run", "paper", "side", "index")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    PAPER_FIELD_NUMBER: _ClassVar[int]
    SIDE_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    project: str
    run: str
    paper: Paper
    side: _project_pb2.Side
    index: int
    def __init__(self, project: _Optional[str] = ..., run: _Optional[str] = ..., paper: _Optional[_Union[Paper, str]] = ..., side: _Optional[_Union[_project_pb2.Side, str]] = ..., index: _Optional[int] = ...) -> None: ...

class FetchPaperResponse(_message.Message):
    __slots__ = ("data", "pieces", "sha256")
    DATA_FIELD_NUMBER: _ClassVar[int]
    PIECES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    pieces: int
    sha256: bytes
    def __init__(self, data: _Optional[bytes] = ..., pieces: _Optional[int] = ..., sha256: _Optional[bytes] = ...) -> None: ...

class PutPaperRequest(_message.Message):
    __slots__ = ("project", "run", "paper", "index", "pieces", "sha256", "data")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    PAPER_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    PIECES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    project: str
    run: str
    paper: Paper
    index: int
    pieces: int
    sha256: bytes
    data: bytes
    def __init__(self, project: _Optional[str] = ..., run: _Optional[str] = ..., paper: _Optional[_Union[Paper, str]] = ..., index: _Optional[int] = ..., pieces: _Optional[int] = ..., sha256: _Optional[bytes] = ..., data: _Optional[bytes] = ...) -> None: ...

class PutPaperResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
