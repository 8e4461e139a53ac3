"""The errors of Gemel: what is wrong, where, the value found, and the remedy.

A message never holds a record's value, a key or a secret: it is shown to operators, written to logs and sent to
the other side of a connection. Codes cross the wire as numbers, so this list is only ever appended to.
"""

from __future__ import annotations

import errno
from enum import IntEnum
from functools import partial
from pathlib import Path


class ErrorCode(IntEnum):
    """The kind of error, as a number that means the same in every version. Append only."""

    INTERNAL = 1
    PARAMETER = 2
    SPECIFICATION = 3
    CONFIGURATION = 4
    SOURCE = 5
    FIELD_MISSING = 6
    DUPLICATE_IDENTIFIER = 7
    EMPTY_SOURCE = 8
    TEXT_ENCODING = 9
    KEY_MISMATCH = 10
    CANARY_MISMATCH = 11
    EPOCH_MISMATCH = 12
    ENCODING_MISMATCH = 13
    SIGNATURE = 14
    CERTIFICATE = 15
    NOT_ADMITTED = 16
    NOT_FOUND = 17
    WRONG_STATE = 18
    DEADLINE_MISSING = 19
    UPLOAD_LIMIT = 20
    CHUNK_CONFLICT = 21
    UPLOAD_GAPS = 22
    UPLOAD_CORRUPT = 23
    RUN_ACTIVE = 24
    UNAVAILABLE = 25
    MEMORY = 26
    NOT_IDENTIFIED = 27
    SEALED = 28
    VAULT = 29
    BUSY = 30
    EXISTS = 31
    DATABASE = 32
    AUDIT = 33
    LEAKAGE = 34
    STORAGE_FULL = 35
    TOO_MANY_CALLS = 36
    MALFORMED = 37
    MODULE_MISSING = 38
    DEVIATION = 39


MAX_SHOWN = 100
"""Errors in the text of several."""

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Numbers of the operating system's errors for a full disk, a used-up quota, a file above the size allowed."""


class GemelError(Exception):
    """An error a person can act on.

    Its code is stable across versions and across the wire; `what` is a sentence without its full stop, `where` the
    path, column, setting or method concerned, `got` what was found instead: a count, a type, a name, never a record's
    value. `retry_seconds` is for an error that passes by itself, where it is known.
    """

    remote = False
    """Whether another service has reported it."""

    def __init__(
        self,
        code: ErrorCode,
        what: str,
        *,
        where: str = "",
        got: str = "",
        remedy: str = "",
        retry_seconds: float = 0.0,
    ) -> None:
        self.code, self.what, self.where, self.got, self.remedy = code, what, where, got, remedy
        self.retry_seconds = retry_seconds
        super().__init__(str(self))

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        if self.got:
            text += f", got {self.got}"
        if self.remedy:
            text += f"; {self.remedy}"
        return text

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions with keyword-only arguments do not pickle by themselves, and the worker's errors must.
        made = partial(GemelError, self.code, self.what, where=self.where, got=self.got, remedy=self.remedy)
        return (partial(made, retry_seconds=self.retry_seconds), ())


class GemelErrors(GemelError):
    """Several errors found together, so that they can be corrected together; the text has the first `MAX_SHOWN`."""

    def __init__(self, code: ErrorCode, errors: list[GemelError], *, where: str = "") -> None:
        self.errors = tuple(errors)
        count = len(errors)
        lines = "".join(f"\n  - {error}" for error in errors[:MAX_SHOWN])
        more = f"\n  and {count - MAX_SHOWN:,} more" if count > MAX_SHOWN else ""
        super().__init__(code, f"{count:,} error{'s' if count != 1 else ''}:{lines}{more}", where=where)

    def __reduce__(self) -> tuple[object, ...]:
        return (partial(GemelErrors, self.code, list(self.errors), where=self.where), ())


def parameter(where: str, what: str, got: str = "", remedy: str = "") -> GemelError:
    """An argument that cannot be: of `where`, with `what` was expected, what was `got` and the remedy."""
    return GemelError(ErrorCode.PARAMETER, what, where=where, got=got, remedy=remedy)


def code_of(error: OSError, otherwise: ErrorCode) -> ErrorCode:
    """STORAGE_FULL for a disk that is full; `otherwise` for anything else that the operating system refuses."""
    return ErrorCode.STORAGE_FULL if error.errno in FULL else otherwise


def file_error(
    code: ErrorCode, what: str, path: Path, error: OSError, remedy: str = "", *, inline: bool = False
) -> GemelError:
    """A file or folder that the operating system refuses, whose reason is what was got, or `inline` in the same
    sentence."""
    reason = error.strerror or type(error).__name__
    if inline:
        return GemelError(code, f"{what}: {reason.lower()}", where=str(path), remedy=remedy)
    return GemelError(code, what, where=str(path), got=reason, remedy=remedy)
