from gemel.protos.linkage.v1 import project_pb2 as _project_pb2
from gemel.protos.linkage.v1 import transfer_pb2 as _transfer_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PutVariablesRequest(_message.Message):
    __slots__ = ("project", "run", "recipient", "chunk")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    RECIPIENT_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    project: str
    run: str
    recipient: str
    chunk: _transfer_pb2.Chunk
    def __init__(self, project: _Optional[str] = ..., run: _Optional[str] = ..., recipient: _Optional[str] = ..., chunk: _Optional[_Union[_transfer_pb2.Chunk, _Mapping]] = ...) -> None: ...

class PutVariablesResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class FetchVariablesRequest(_message.Message):
    __slots__ = ("project", "run", "sender", "index")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    project: str
    run: str
    sender: _project_pb2.Side
    index: int
    def __init__(self, project: _Optional[str] = ..., run: _Optional[str] = ..., sender: _Optional[_Union[_project_pb2.Side, str]] = ..., index: _Optional[int] = ...) -> None: ...

class FetchVariablesResponse(_message.Message):
    __slots__ = ("chunk",)
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    chunk: _transfer_pb2.Chunk
    def __init__(self, chunk: _Optional[_Union[_transfer_pb2.Chunk, _Mapping]] = ...) -> None: ...

class AcknowledgeVariablesRequest(_message.Message):
    __slots__ = ("project", "run", "sender", "root")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    ROOT_FIELD_NUMBER: _ClassVar[int]
    project: str
    run: str
    sender: _project_pb2.Side
    root: bytes
    def __init__(self, project: _Optional[str] = ..., run: _Optional[str] = ..., sender: _Optional[_Union[_project_pb2.Side, str]] = ..., root: _Optional[bytes] = ...) -> None: ...

class AcknowledgeVariablesResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListVariablesRequest(_message.Message):
    __slots__ = ("after", "maximum")
    AFTER_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    after: str
    maximum: int
    def __init__(self, after: _Optional[str] = ..., maximum: _Optional[int] = ...) -> None: ...

class ListVariablesResponse(_message.Message):
    __slots__ = ("projects", "next")
    PROJECTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    projects: _containers.RepeatedCompositeFieldContainer[VariableTransfers]
    next: str
    def __init__(self, projects: _Optional[_Iterable[_Union[VariableTransfers, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class VariableTransfers(_message.Message):
    __slots__ = ("project", "specification", "run", "sent", "received")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    SPECIFICATION_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    SENT_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    project: str
    specification: str
    run: str
    sent: _containers.RepeatedScalarFieldContainer[_project_pb2.Side]
    received: _containers.RepeatedScalarFieldContainer[_project_pb2.Side]
    def __init__(self, project: _Optional[str] = ..., specification: _Optional[str] = ..., run: _Optional[str] = ..., sent: _Optional[_Iterable[_Union[_project_pb2.Side, str]]] = ..., received: _Optional[_Iterable[_Union[_project_pb2.Side, str]]] = ...) -> None: ...
