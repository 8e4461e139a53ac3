"""How an error crosses the wire: a gRPC status for machines, the typed error in trailing metadata for people."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import grpc

from tryst.common.errors import ErrorCode, TrystError

METADATA_KEY = "tryst-error-bin"
_MAX_TEXT = 1500
"""Longest text of an error on the wire, in characters: gRPC bounds all metadata of a call to 8 KiB."""

_STATUS = {
    ErrorCode.INTERNAL: grpc.StatusCode.INTERNAL,
    ErrorCode.NOT_ADMITTED: grpc.StatusCode.PERMISSION_DENIED,
    ErrorCode.NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    ErrorCode.WRONG_STATE: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorCode.RUN_ACTIVE: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorCode.UPLOAD_GAPS: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorCode.UPLOAD_LIMIT: grpc.StatusCode.RESOURCE_EXHAUSTED,
    ErrorCode.CHUNK_CONFLICT: grpc.StatusCode.ALREADY_EXISTS,
    ErrorCode.EXISTS: grpc.StatusCode.ALREADY_EXISTS,
    ErrorCode.UPLOAD_CORRUPT: grpc.StatusCode.DATA_LOSS,
    ErrorCode.UNAVAILABLE: grpc.StatusCode.UNAVAILABLE,
    ErrorCode.BUSY: grpc.StatusCode.UNAVAILABLE,
}


def status_of(code: ErrorCode) -> grpc.StatusCode:
    """The gRPC status of an error code; most are a caller's error."""
    return _STATUS.get(code, grpc.StatusCode.INVALID_ARGUMENT)


def to_metadata(error: TrystError) -> tuple[tuple[str, bytes], ...]:
    """The error as trailing metadata: code, what, where, got and remedy."""
    payload = {
        "code": int(error.code),
        "what": error.what[:_MAX_TEXT],
        "where": error.where[:_MAX_TEXT],
        "got": error.got[:_MAX_TEXT],
        "remedy": error.remedy[:_MAX_TEXT],
    }
    return ((METADATA_KEY, json.dumps(payload).encode()),)


def from_rpc_error(error: grpc.RpcError, where: str) -> TrystError:
    """The typed error of a failed call, or UNAVAILABLE for a failure of the connection itself.

    The other side's bytes are not trusted: metadata that does not parse is reported as an unexpected status.
    """
    trailing: Iterable[Any] = (error.trailing_metadata() if hasattr(error, "trailing_metadata") else None) or ()
    for key, value in trailing:
        if key == METADATA_KEY:
            try:
                payload = json.loads(value)
                texts = [payload[name] for name in ("what", "where", "got", "remedy")]
                if all(isinstance(text, str) and len(text) <= _MAX_TEXT for text in texts):
                    what, where_there, got, remedy = texts
                    return TrystError(ErrorCode(payload["code"]), what, where=where_there, got=got, remedy=remedy)
            except (ValueError, KeyError, TypeError):
                break
    status = error.code() if hasattr(error, "code") else grpc.StatusCode.UNKNOWN
    if status is grpc.StatusCode.UNAVAILABLE:
        return TrystError(
            ErrorCode.UNAVAILABLE,
            "the service does not answer, or refuses this certificate",
            where=where,
            remedy="check that it runs, its address, and that both sides trust each other's certificate authority",
        )
    if status is grpc.StatusCode.DEADLINE_EXCEEDED:
        return TrystError(
            ErrorCode.UNAVAILABLE,
            "no answer within the deadline",
            where=where,
            remedy="try again; if it stays so, look at the service's log",
        )
    return TrystError(
        ErrorCode.INTERNAL,
        "the call failed",
        where=where,
        got=f"gRPC status {status.name}",
        remedy="see the service's log",
    )
