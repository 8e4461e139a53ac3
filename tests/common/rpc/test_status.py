"""Every error code has a place in the table, and what a caller reads of it names nothing of the service's machine."""

from __future__ import annotations

import errno
import json
import pickle
from typing import Any

import grpc
import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.missing_module import installing
from gemel.common.rpc.status import (
    CROSSINGS,
    MAX_RETRY_SECONDS,
    METADATA_KEY,
    for_others,
    from_rpc_error,
    is_own_failure,
    passes,
    status_of,
    to_metadata,
    typed,
)

PLANTED = "/srv/secret/carole.db"


class Failed(grpc.RpcError):
    """A failed call as a client sees it."""

    def __init__(self, status: grpc.StatusCode, metadata: Any = (), details: str = "") -> None:
        self._status, self._metadata, self._details = status, metadata, details

    def code(self) -> grpc.StatusCode:
        return self._status

    def details(self) -> str:
        return self._details

    def trailing_metadata(self) -> Any:
        return self._metadata


@pytest.mark.parametrize("code", ErrorCode)
def test_every_code(code: ErrorCode) -> None:
    error = GemelError(code, f"planted {PLANTED}", where=PLANTED, got=PLANTED, remedy=PLANTED, retry_seconds=2.5)
    status = status_of(code)
    sent = for_others(error)
    assert status is not grpc.StatusCode.OK
    # A failure of the service is never the caller's fault, names nothing, and keeps what the caller acts on.
    if is_own_failure(code):
        assert status is not grpc.StatusCode.INVALID_ARGUMENT
        assert PLANTED not in str(sent)
        assert "operator" in sent.remedy
    else:
        assert sent is error
    read = from_rpc_error(Failed(status, to_metadata(sent)), "elsewhere")
    assert (read.code, read.what, read.retry_seconds) == (code, sent.what, 2.5)
    # What may be tried again is known by its status too, to a client that does not know the code.
    assert passes(code) <= (status in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED))


def test_the_table_is_complete_and_storage_is_never_the_callers_fault() -> None:
    assert set(CROSSINGS) == set(ErrorCode)
    for code in (ErrorCode.DATABASE, ErrorCode.STORAGE_FULL, ErrorCode.BUSY, ErrorCode.UNAVAILABLE):
        assert passes(code)
        assert is_own_failure(code)


def test_exceptions_of_pythons_own_that_an_operator_can_act_on() -> None:
    full = typed(OSError(errno.ENOSPC, "No space left on device", PLANTED))
    assert full is not None
    assert (full.code, full.where) == (ErrorCode.STORAGE_FULL, PLANTED)
    assert typed(MemoryError()).code is ErrorCode.MEMORY  # type: ignore[union-attr]
    driver = typed(ModuleNotFoundError("No module named 'psycopg'", name="psycopg"))
    assert driver is not None
    assert (driver.code, driver.remedy) == (ErrorCode.MODULE_MISSING, installing("postgres"))
    folder = typed(ModuleNotFoundError("No module named 'gemel.risk'", name="gemel.risk"))
    assert folder is not None
    assert "gemel.risk" in folder.what
    assert "deploy/README.md" in folder.remedy
    assert typed(OSError(errno.EACCES, "Permission denied")) is None
    assert typed(KeyError("x")) is None


@pytest.mark.parametrize("seconds", [-1, "soon", float("inf"), float("nan"), None])
def test_a_pause_that_is_none_is_not_believed(seconds: object) -> None:
    payload = {"code": 36, "what": "", "where": "", "got": "", "remedy": "", "retry_seconds": seconds}
    read = from_rpc_error(
        Failed(grpc.StatusCode.RESOURCE_EXHAUSTED, ((METADATA_KEY, json.dumps(payload).encode()),)), "here"
    )
    assert read.retry_seconds == 0.0


def test_a_long_pause_is_bounded_and_an_older_service_names_none() -> None:
    entry, _ = to_metadata(GemelError(ErrorCode.TOO_MANY_CALLS, "x", retry_seconds=1e9))
    read = from_rpc_error(Failed(grpc.StatusCode.RESOURCE_EXHAUSTED, (entry,)), "here")
    assert read.retry_seconds == MAX_RETRY_SECONDS
    entry, _ = to_metadata(GemelError(ErrorCode.NOT_FOUND, "x"))
    assert "retry_seconds" not in json.loads(entry[1])


def test_a_call_that_a_stopping_service_cancels_is_made_again() -> None:
    assert from_rpc_error(Failed(grpc.StatusCode.CANCELLED, ()), "here").code is ErrorCode.UNAVAILABLE


def test_refusals_of_grpc_itself() -> None:
    many = Failed(grpc.StatusCode.RESOURCE_EXHAUSTED, details="Concurrent RPC limit exceeded!")
    large = Failed(grpc.StatusCode.RESOURCE_EXHAUSTED, details="SERVER: Received message larger than max (3 vs. 2)")
    assert from_rpc_error(many, "here").code is ErrorCode.TOO_MANY_CALLS
    assert from_rpc_error(large, "here").code is ErrorCode.INTERNAL


def test_an_error_keeps_its_pause_between_processes() -> None:
    error = pickle.loads(pickle.dumps(GemelError(ErrorCode.BUSY, "x", retry_seconds=1.5)))  # noqa: S301
    assert error.retry_seconds == 1.5


@pytest.mark.parametrize(
    ("status", "code"),
    [(grpc.StatusCode.UNAVAILABLE, ErrorCode.UNAVAILABLE), (grpc.StatusCode.DATA_LOSS, ErrorCode.INTERNAL)],
)
def test_the_words_of_a_code_that_is_newer_than_this_release_are_shown(
    status: grpc.StatusCode, code: ErrorCode
) -> None:
    payload = {"code": 9999, "what": "of a newer kind", "where": "a", "got": "b", "remedy": "do c"}
    read = from_rpc_error(Failed(status, ((METADATA_KEY, json.dumps(payload).encode()),)), "here")
    assert (read.code, str(read)) == (code, "a: of a newer kind, got b; do c")
