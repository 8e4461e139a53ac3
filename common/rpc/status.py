"""How an error crosses the wire: a gRPC status for machines, the typed error in trailing metadata for people.

One table holds for each code its status, whether a caller may try again, and, for failures of the service itself (its
database, its disk, its keys, its configuration), what a caller of another organisation reads instead of the error. The
error itself names paths, hosts and remedies of the service's own machine: these are for its operator, in its log.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import grpc
from grpc import StatusCode

from gemel.common.errors import FULL, ErrorCode, GemelError
from gemel.common.missing_module import missing_module
from gemel.common.rpc.access import OWN_PROTOCOL

METADATA_KEY = "gemel-error-bin"
_TEXTS = ("what", "where", "got", "remedy")
_MAX_TEXT = 1500
"""Longest text of an error on the wire, in characters: gRPC bounds all metadata of a call to 8 KiB."""

MAX_RETRY_SECONDS = 300.0
"""A caller waits no longer for what a service requests."""


@dataclass(frozen=True)
class Crossing:
    """How errors of one code cross the wire."""

    status: StatusCode
    retry: bool = False
    own: str = ""


_REFUSED = {
    StatusCode.INTERNAL: (ErrorCode.INTERNAL,),
    StatusCode.INVALID_ARGUMENT: (
        ErrorCode.PARAMETER, ErrorCode.MALFORMED, ErrorCode.SPECIFICATION, ErrorCode.NOT_IDENTIFIED,
        ErrorCode.SIGNATURE, ErrorCode.SEALED, ErrorCode.DEADLINE_MISSING,
    ),
    StatusCode.PERMISSION_DENIED: (ErrorCode.NOT_ADMITTED,),
    StatusCode.NOT_FOUND: (ErrorCode.NOT_FOUND,),
    StatusCode.FAILED_PRECONDITION: (
        ErrorCode.WRONG_STATE, ErrorCode.RUN_ACTIVE, ErrorCode.AUDIT, ErrorCode.LEAKAGE, ErrorCode.DEVIATION,
        ErrorCode.KEY_MISMATCH, ErrorCode.CANARY_MISMATCH, ErrorCode.EPOCH_MISMATCH, ErrorCode.ENCODING_MISMATCH,
        ErrorCode.UPLOAD_GAPS,
    ),
    StatusCode.RESOURCE_EXHAUSTED: (ErrorCode.UPLOAD_LIMIT,),
    StatusCode.DATA_LOSS: (ErrorCode.UPLOAD_CORRUPT,),
    StatusCode.ALREADY_EXISTS: (ErrorCode.CHUNK_CONFLICT, ErrorCode.EXISTS),
}  # fmt: skip
"""Codes about the request, by their status."""

CROSSINGS: Mapping[ErrorCode, Crossing] = MappingProxyType(
    {
        **{code: Crossing(status) for status, codes in _REFUSED.items() for code in codes},
        ErrorCode.TOO_MANY_CALLS: Crossing(StatusCode.RESOURCE_EXHAUSTED, retry=True),
        # Failures of the service itself.
        ErrorCode.UNAVAILABLE: Crossing(StatusCode.UNAVAILABLE, True, "the service cannot answer now"),
        ErrorCode.BUSY: Crossing(StatusCode.UNAVAILABLE, True, "the service is busy"),
        ErrorCode.DATABASE: Crossing(StatusCode.UNAVAILABLE, True, "the service's storage has failed"),
        ErrorCode.STORAGE_FULL: Crossing(StatusCode.RESOURCE_EXHAUSTED, True, "the service's storage is full"),
        ErrorCode.MEMORY: Crossing(StatusCode.RESOURCE_EXHAUSTED, own="the service's memory does not suffice"),
        ErrorCode.VAULT: Crossing(StatusCode.DATA_LOSS, own="the service cannot read what it has stored"),
        ErrorCode.CONFIGURATION: Crossing(StatusCode.FAILED_PRECONDITION, own="the service's configuration is wrong"),
        ErrorCode.CERTIFICATE: Crossing(StatusCode.FAILED_PRECONDITION, own="the service's certificates are wrong"),
        ErrorCode.MODULE_MISSING: Crossing(StatusCode.FAILED_PRECONDITION, own="the service's installation is wrong"),
        # Of a source of records, which only a custodian's own operator is shown.
        ErrorCode.SOURCE: Crossing(StatusCode.FAILED_PRECONDITION, own="the service's records cannot be read"),
        ErrorCode.FIELD_MISSING: Crossing(StatusCode.FAILED_PRECONDITION, own="the service's records lack a field"),
        ErrorCode.DUPLICATE_IDENTIFIER: Crossing(StatusCode.FAILED_PRECONDITION, own="the service's records are wrong"),
        ErrorCode.EMPTY_SOURCE: Crossing(StatusCode.FAILED_PRECONDITION, own="the service has no records"),
        ErrorCode.TEXT_ENCODING: Crossing(StatusCode.FAILED_PRECONDITION, own="the service's records are wrong"),
    }
)
"""Every code. Names of codes that cross as they are give away nothing of the service; those with a text of their own
cross with their code and this text."""

_WAIT = "the call is repeated by itself; the service's operator finds the reason in the service's log"
_REPORT = "ask the service's operator, who finds the reason in the service's log"


def status_of(code: ErrorCode) -> StatusCode:
    return CROSSINGS[code].status


def passes(code: ErrorCode) -> bool:
    """Whether errors of this code pass by themselves, so that a call may be tried again."""
    return CROSSINGS[code].retry


def is_own_failure(code: ErrorCode) -> bool:
    """Whether errors of this code are failures of the service that raises them, which its operator must know of."""
    return bool(CROSSINGS[code].own)


def for_others(error: GemelError) -> GemelError:
    """The error as a caller of another organisation may read it."""
    crossing = CROSSINGS[error.code]
    if not crossing.own:
        return error
    remedy = _WAIT if crossing.retry else _REPORT
    return GemelError(error.code, crossing.own, remedy=remedy, retry_seconds=error.retry_seconds)


def typed(error: Exception) -> GemelError | None:
    """An exception of Python's own that has a meaning to an operator, as a typed error; None for any other."""
    if isinstance(error, GemelError):
        return error
    if isinstance(error, MemoryError):
        return GemelError(ErrorCode.MEMORY, "there was not enough memory", remedy="give the service more of it")
    if isinstance(error, ModuleNotFoundError):
        return missing_module(error)
    if isinstance(error, OSError) and error.errno in FULL:
        where = str(error.filename or "")
        return GemelError(ErrorCode.STORAGE_FULL, "the disk is full", where=where, remedy="make room on it")
    return None


def to_metadata(error: GemelError) -> tuple[tuple[str, str | bytes], ...]:
    """The error as trailing metadata: code, what, where, got and remedy, and when to try again if that is known. The
    protocol comes with it, by which its reader knows whether the service is of a release that it can call at all."""
    payload: dict[str, Any] = {"code": int(error.code)}
    payload |= {name: getattr(error, name)[:_MAX_TEXT] for name in _TEXTS}
    if error.retry_seconds > 0:
        payload["retry_seconds"] = round(error.retry_seconds, 3)
    return ((METADATA_KEY, json.dumps(payload).encode()), *OWN_PROTOCOL)


def from_rpc_error(error: grpc.RpcError, where: str) -> GemelError:
    """The typed error of a failed call, or UNAVAILABLE for a failure of the connection itself. The other side's bytes
    are not trusted: metadata that does not parse is reported as an unexpected status."""
    found = _typed(error, where)
    found.remote = True
    return found


def _typed(error: grpc.RpcError, where: str) -> GemelError:
    trailing: Iterable[Any] = (error.trailing_metadata() if hasattr(error, "trailing_metadata") else None) or ()
    for key, value in trailing:
        if key == METADATA_KEY:
            try:
                return _read(json.loads(value), error)
            except (ValueError, KeyError, TypeError, AttributeError):
                break
    status = error.code() if hasattr(error, "code") else StatusCode.UNKNOWN
    if status in (StatusCode.UNAVAILABLE, StatusCode.CANCELLED):  # a service that stops cancels what is under way
        what = "the service does not answer, or refuses this certificate"
        remedy = "check that it runs, its address, and that both sides trust each other's certificate authority"
        return GemelError(ErrorCode.UNAVAILABLE, what, where=where, remedy=remedy)
    if status is StatusCode.DEADLINE_EXCEEDED:
        remedy = "try again; if it stays so, look at the service's log"
        return GemelError(ErrorCode.UNAVAILABLE, "no answer within the deadline", where=where, remedy=remedy)
    if status is StatusCode.RESOURCE_EXHAUSTED and "larger than max" not in (error.details() or ""):
        # gRPC's own refusal, for instance of a service of an older version.
        what, remedy = "the service has too many calls", "try again a little later"
        return GemelError(ErrorCode.TOO_MANY_CALLS, what, where=where, remedy=remedy)
    got = f"gRPC status {status.name}"
    return GemelError(ErrorCode.INTERNAL, "the call failed", where=where, got=got, remedy="see the service's log")


def _read(payload: Mapping[str, Any], error: grpc.RpcError) -> GemelError:
    texts = [payload[name] for name in _TEXTS]
    seconds = payload.get("retry_seconds", 0.0)
    if not all(isinstance(text, str) and len(text) <= _MAX_TEXT for text in texts):
        raise ValueError("texts of another type or too long")
    if not isinstance(seconds, int | float) or not (math.isfinite(seconds) and seconds >= 0):
        raise ValueError("no duration")
    what, where, got, remedy = texts
    code, wait = _known(payload["code"], error), min(float(seconds), MAX_RETRY_SECONDS)
    return GemelError(code, what, where=where, got=got, remedy=remedy, retry_seconds=wait)


def _known(number: Any, error: grpc.RpcError) -> ErrorCode:
    """The code of a number; one of a newer release is known by its status only, and its words are kept."""
    if number in set(ErrorCode):
        return ErrorCode(number)
    if not isinstance(number, int):
        raise ValueError("no code")
    return ErrorCode.UNAVAILABLE if error.code() is StatusCode.UNAVAILABLE else ErrorCode.INTERNAL


MAX_MESSAGE_BYTES = 2 << 20
"""Twice a chunk. A larger message is refused before it is read."""

SWITCH_SECONDS = 0.0005
"""After which a thread that computes gives way, in a process that answers calls or carries messages. A call goes from
the event loop to a thread and to the database and back, and would wait at each, by Python's own setting up to 5 ms."""
