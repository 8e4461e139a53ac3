from gemel.protos.linkage.v1 import project_pb2 as _project_pb2
from gemel.protos.linkage.v1 import transfer_pb2 as _transfer_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FieldContent(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FIELD_CONTENT_UNSPECIFIED: _ClassVar[FieldContent]
    FIELD_CONTENT_VALUES: _ClassVar[FieldContent]
    FIELD_CONTENT_FIXED: _ClassVar[FieldContent]
    FIELD_CONTENT_SHARED: _ClassVar[FieldContent]
    FIELD_CONTENT_WITHHELD: _ClassVar[FieldContent]
FIELD_CONTENT_UNSPECIFIED: FieldContent
FIELD_CONTENT_VALUES: FieldContent
FIELD_CONTENT_FIXED: FieldContent
FIELD_CONTENT_SHARED: FieldContent
FIELD_CONTENT_WITHHELD: FieldContent

class FieldLayout(_message.Message):
    __slots__ = ("name", "bits", "distinct", "content")
    NAME_FIELD_NUMBER: _ClassVar[int]
    BITS_FIELD_NUMBER: _ClassVar[int]
    DISTINCT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    name: str
    bits: int
    distinct: int
    content: FieldContent
    def __init__(self, name: _Optional[str] = ..., bits: _Optional[int] = ..., distinct: _Optional[int] = ..., content: _Optional[_Union[FieldContent, str]] = ...) -> None: ...

class VariableLayout(_message.Message):
    __slots__ = ("name", "categories")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CATEGORIES_FIELD_NUMBER: _ClassVar[int]
    name: str
    categories: int
    def __init__(self, name: _Optional[str] = ..., categories: _Optional[int] = ...) -> None: ...

class SetLayout(_message.Message):
    __slots__ = ("rule", "rows", "fields", "block_rules", "variables", "interval", "intervals", "tag_rules")
    RULE_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_RULES_FIELD_NUMBER: _ClassVar[int]
    VARIABLES_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_FIELD_NUMBER: _ClassVar[int]
    INTERVALS_FIELD_NUMBER: _ClassVar[int]
    TAG_RULES_FIELD_NUMBER: _ClassVar[int]
    rule: str
    rows: int
    fields: _containers.RepeatedCompositeFieldContainer[FieldLayout]
    block_rules: _containers.RepeatedScalarFieldContainer[str]
    variables: _containers.RepeatedCompositeFieldContainer[VariableLayout]
    interval: int
    intervals: int
    tag_rules: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, rule: _Optional[str] = ..., rows: _Optional[int] = ..., fields: _Optional[_Iterable[_Union[FieldLayout, _Mapping]]] = ..., block_rules: _Optional[_Iterable[str]] = ..., variables: _Optional[_Iterable[_Union[VariableLayout, _Mapping]]] = ..., interval: _Optional[int] = ..., intervals: _Optional[int] = ..., tag_rules: _Optional[_Iterable[str]] = ...) -> None: ...

class Manifest(_message.Message):
    __slots__ = ("version", "project", "side", "encoding_digest", "epoch", "sets", "key_check_value", "records", "sealed_seeds")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    SIDE_FIELD_NUMBER: _ClassVar[int]
    ENCODING_DIGEST_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    SETS_FIELD_NUMBER: _ClassVar[int]
    KEY_CHECK_VALUE_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    SEALED_SEEDS_FIELD_NUMBER: _ClassVar[int]
    version: int
    project: str
    side: _project_pb2.Side
    encoding_digest: bytes
    epoch: int
    sets: _containers.RepeatedCompositeFieldContainer[SetLayout]
    key_check_value: bytes
    records: int
    sealed_seeds: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, version: _Optional[int] = ..., project: _Optional[str] = ..., side: _Optional[_Union[_project_pb2.Side, str]] = ..., encoding_digest: _Optional[bytes] = ..., epoch: _Optional[int] = ..., sets: _Optional[_Iterable[_Union[SetLayout, _Mapping]]] = ..., key_check_value: _Optional[bytes] = ..., records: _Optional[int] = ..., sealed_seeds: _Optional[_Iterable[bytes]] = ...) -> None: ...

class LeakageStatement(_message.Message):
    __slots__ = ("worst", "limit", "overridden", "reason")
    WORST_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    OVERRIDDEN_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    worst: float
    limit: float
    overridden: bool
    reason: str
    def __init__(self, worst: _Optional[float] = ..., limit: _Optional[float] = ..., overridden: _Optional[bool] = ..., reason: _Optional[str] = ...) -> None: ...

class BeginUploadRequest(_message.Message):
    __slots__ = ("manifest", "upload", "leakage")
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    UPLOAD_FIELD_NUMBER: _ClassVar[int]
    LEAKAGE_FIELD_NUMBER: _ClassVar[int]
    manifest: Manifest
    upload: str
    leakage: LeakageStatement
    def __init__(self, manifest: _Optional[_Union[Manifest, _Mapping]] = ..., upload: _Optional[str] = ..., leakage: _Optional[_Union[LeakageStatement, _Mapping]] = ...) -> None: ...

class BeginUploadResponse(_message.Message):
    __slots__ = ("total_bytes", "chunk_bytes", "chunks", "missing", "committed")
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    CHUNK_BYTES_FIELD_NUMBER: _ClassVar[int]
    CHUNKS_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_FIELD_NUMBER: _ClassVar[int]
    total_bytes: int
    chunk_bytes: int
    chunks: int
    missing: _containers.RepeatedCompositeFieldContainer[IndexRange]
    committed: bool
    def __init__(self, total_bytes: _Optional[int] = ..., chunk_bytes: _Optional[int] = ..., chunks: _Optional[int] = ..., missing: _Optional[_Iterable[_Union[IndexRange, _Mapping]]] = ..., committed: _Optional[bool] = ...) -> None: ...

class IndexRange(_message.Message):
    __slots__ = ("first", "last")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    first: int
    last: int
    def __init__(self, first: _Optional[int] = ..., last: _Optional[int] = ...) -> None: ...

class PutChunkRequest(_message.Message):
    __slots__ = ("project", "upload", "chunk")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    UPLOAD_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    project: str
    upload: str
    chunk: _transfer_pb2.Chunk
    def __init__(self, project: _Optional[str] = ..., upload: _Optional[str] = ..., chunk: _Optional[_Union[_transfer_pb2.Chunk, _Mapping]] = ...) -> None: ...

class PutChunkResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CommitUploadRequest(_message.Message):
    __slots__ = ("project", "upload", "chunks", "total_bytes", "root")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    UPLOAD_FIELD_NUMBER: _ClassVar[int]
    CHUNKS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    ROOT_FIELD_NUMBER: _ClassVar[int]
    project: str
    upload: str
    chunks: int
    total_bytes: int
    root: bytes
    def __init__(self, project: _Optional[str] = ..., upload: _Optional[str] = ..., chunks: _Optional[int] = ..., total_bytes: _Optional[int] = ..., root: _Optional[bytes] = ...) -> None: ...

class CommitUploadResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
