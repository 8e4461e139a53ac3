from gemel.protos.linkage.v1 import project_pb2 as _project_pb2
from gemel.protos.linkage.v1 import transfer_pb2 as _transfer_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RunArtifact(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_ARTIFACT_UNSPECIFIED: _ClassVar[RunArtifact]
    RUN_ARTIFACT_ROWS: _ClassVar[RunArtifact]
    RUN_ARTIFACT_HANDLES: _ClassVar[RunArtifact]
    RUN_ARTIFACT_RESOLUTION_REQUEST: _ClassVar[RunArtifact]
    RUN_ARTIFACT_RESOLUTION_RESULT: _ClassVar[RunArtifact]
RUN_ARTIFACT_UNSPECIFIED: RunArtifact
RUN_ARTIFACT_ROWS: RunArtifact
RUN_ARTIFACT_HANDLES: RunArtifact
RUN_ARTIFACT_RESOLUTION_REQUEST: RunArtifact
RUN_ARTIFACT_RESOLUTION_RESULT: RunArtifact

class FetchArtifactRequest(_message.Message):
    __slots__ = ("project", "run", "artifact", "side", "index")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    SIDE_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    project: str
    run: str
    artifact: RunArtifact
    side: _project_pb2.Side
    index: int
    def __init__(self, project: _Optional[str] = ..., run: _Optional[str] = ..., artifact: _Optional[_Union[RunArtifact, str]] = ..., side: _Optional[_Union[_project_pb2.Side, str]] = ..., index: _Optional[int] = ...) -> None: ...

class FetchArtifactResponse(_message.Message):
    __slots__ = ("chunk",)
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    chunk: _transfer_pb2.Chunk
    def __init__(self, chunk: _Optional[_Union[_transfer_pb2.Chunk, _Mapping]] = ...) -> None: ...

class PutArtifactRequest(_message.Message):
    __slots__ = ("project", "run", "artifact", "chunk", "signature")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    project: str
    run: str
    artifact: RunArtifact
    chunk: _transfer_pb2.Chunk
    signature: bytes
    def __init__(self, project: _Optional[str] = ..., run: _Optional[str] = ..., artifact: _Optional[_Union[RunArtifact, str]] = ..., chunk: _Optional[_Union[_transfer_pb2.Chunk, _Mapping]] = ..., signature: _Optional[bytes] = ...) -> None: ...

class PutArtifactResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
