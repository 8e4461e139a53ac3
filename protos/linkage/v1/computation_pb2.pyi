from gemel.protos.linkage.v1 import contribution_pb2 as _contribution_pb2
from gemel.protos.linkage.v1 import project_pb2 as _project_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ComputeParty(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COMPUTE_PARTY_UNSPECIFIED: _ClassVar[ComputeParty]
    COMPUTE_PARTY_CAROLE: _ClassVar[ComputeParty]
    COMPUTE_PARTY_COORDINATOR: _ClassVar[ComputeParty]
    COMPUTE_PARTY_STEWARD: _ClassVar[ComputeParty]
COMPUTE_PARTY_UNSPECIFIED: ComputeParty
COMPUTE_PARTY_CAROLE: ComputeParty
COMPUTE_PARTY_COORDINATOR: ComputeParty
COMPUTE_PARTY_STEWARD: ComputeParty

class NextComputationRequest(_message.Message):
    __slots__ = ("wait_ms", "process")
    WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    PROCESS_FIELD_NUMBER: _ClassVar[int]
    wait_ms: int
    process: bytes
    def __init__(self, wait_ms: _Optional[int] = ..., process: _Optional[bytes] = ...) -> None: ...

class NextComputationResponse(_message.Message):
    __slots__ = ("project", "specification", "run", "session", "epoch", "approvals", "inputs")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    SPECIFICATION_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    APPROVALS_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    project: str
    specification: str
    run: str
    session: bytes
    epoch: int
    approvals: _containers.RepeatedCompositeFieldContainer[_project_pb2.Approval]
    inputs: _containers.RepeatedCompositeFieldContainer[ComputationInput]
    def __init__(self, project: _Optional[str] = ..., specification: _Optional[str] = ..., run: _Optional[str] = ..., session: _Optional[bytes] = ..., epoch: _Optional[int] = ..., approvals: _Optional[_Iterable[_Union[_project_pb2.Approval, _Mapping]]] = ..., inputs: _Optional[_Iterable[_Union[ComputationInput, _Mapping]]] = ...) -> None: ...

class ComputationInput(_message.Message):
    __slots__ = ("upload", "manifest")
    UPLOAD_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    upload: str
    manifest: _contribution_pb2.Manifest
    def __init__(self, upload: _Optional[str] = ..., manifest: _Optional[_Union[_contribution_pb2.Manifest, _Mapping]] = ...) -> None: ...

class OpenSessionRequest(_message.Message):
    __slots__ = ("project", "run", "session")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    project: str
    run: str
    session: bytes
    def __init__(self, project: _Optional[str] = ..., run: _Optional[str] = ..., session: _Optional[bytes] = ...) -> None: ...

class OpenSessionResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AttendSessionRequest(_message.Message):
    __slots__ = ("session", "wait_ms", "present", "process")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    PRESENT_FIELD_NUMBER: _ClassVar[int]
    PROCESS_FIELD_NUMBER: _ClassVar[int]
    session: bytes
    wait_ms: int
    present: _containers.RepeatedScalarFieldContainer[ComputeParty]
    process: bytes
    def __init__(self, session: _Optional[bytes] = ..., wait_ms: _Optional[int] = ..., present: _Optional[_Iterable[_Union[ComputeParty, str]]] = ..., process: _Optional[bytes] = ...) -> None: ...

class AttendSessionResponse(_message.Message):
    __slots__ = ("present",)
    PRESENT_FIELD_NUMBER: _ClassVar[int]
    present: _containers.RepeatedScalarFieldContainer[ComputeParty]
    def __init__(self, present: _Optional[_Iterable[_Union[ComputeParty, str]]] = ...) -> None: ...

class FetchSetRequest(_message.Message):
    __slots__ = ("session", "side", "set", "index")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    SIDE_FIELD_NUMBER: _ClassVar[int]
    SET_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    session: bytes
    side: _project_pb2.Side
    set: int
    index: int
    def __init__(self, session: _Optional[bytes] = ..., side: _Optional[_Union[_project_pb2.Side, str]] = ..., set: _Optional[int] = ..., index: _Optional[int] = ...) -> None: ...

class FetchSetResponse(_message.Message):
    __slots__ = ("data",)
    DATA_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    def __init__(self, data: _Optional[bytes] = ...) -> None: ...

class SendMessageRequest(_message.Message):
    __slots__ = ("session", "to", "number", "part", "parts", "data")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    session: bytes
    to: ComputeParty
    number: int
    part: int
    parts: int
    data: bytes
    def __init__(self, session: _Optional[bytes] = ..., to: _Optional[_Union[ComputeParty, str]] = ..., number: _Optional[int] = ..., part: _Optional[int] = ..., parts: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class SendMessageResponse(_message.Message):
    __slots__ = ("taken",)
    TAKEN_FIELD_NUMBER: _ClassVar[int]
    taken: bool
    def __init__(self, taken: _Optional[bool] = ...) -> None: ...

class ReceiveMessageRequest(_message.Message):
    __slots__ = ("session", "sender", "number", "part", "wait_ms")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    session: bytes
    sender: ComputeParty
    number: int
    part: int
    wait_ms: int
    def __init__(self, session: _Optional[bytes] = ..., sender: _Optional[_Union[ComputeParty, str]] = ..., number: _Optional[int] = ..., part: _Optional[int] = ..., wait_ms: _Optional[int] = ...) -> None: ...

class ReceiveMessageResponse(_message.Message):
    __slots__ = ("parts", "data")
    PARTS_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    parts: int
    data: bytes
    def __init__(self, parts: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class EndComputationRequest(_message.Message):
    __slots__ = ("session", "code", "what")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    WHAT_FIELD_NUMBER: _ClassVar[int]
    session: bytes
    code: int
    what: str
    def __init__(self, session: _Optional[bytes] = ..., code: _Optional[int] = ..., what: _Optional[str] = ...) -> None: ...

class EndComputationResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
