"""``--dry-run``: a command does all that it would do, but for the call that changes something, which is shown instead.

The request is the very one that the command makes; it is withheld at the channel, below everything that makes requests.
Its signatures are made, and not shown. Calls that only read are made: so the connection, the certificates and what the
command checks first are checked. What is no reading method is withheld, also one that a later release adds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
from google.protobuf.message import Message

from gemel.common.rpc.access import READING
from gemel.common.terminal.options import end_dry_run

SIGNED = ("signature", "approval")
"""How the names of fields end that hold a signature: whoever saw one could bring it to Carole as a consent that was
only tried out."""


class NotSentError(Exception):
    """A request that a dry run has not sent."""

    def __init__(self, method: str, address: str, request: Message) -> None:
        self.method, self.address, self.request = method, address, request
        super().__init__(f"{method} to {address} was not sent")

    def document(self) -> dict[str, Any]:
        """As plain values; bytes as hexadecimal digits, signatures as their length only."""
        return {"method": self.method.lstrip("/"), "to": self.address, "request": _plain(self.request)}

    def lines(self) -> Iterator[str]:
        yield f"Dry run: nothing was sent. {self.method.lstrip('/')} would go to {self.address}, with"
        yield from _lines(_plain(self.request), "  ")


class WithheldCalls(grpc.UnaryUnaryClientInterceptor):  # type: ignore[misc]
    """Withholds calls that change something; the outermost interceptor of its channel."""

    def __init__(self, address: str) -> None:
        self._address = address

    def intercept_unary_unary(self, continuation: Callable[[Any, Any], Any], details: Any, request: Any) -> Any:
        if details.method not in READING:
            raise NotSentError(details.method, self._address, request)
        return continuation(details, request)


@contextmanager
def withheld_shown() -> Iterator[None]:
    """A command whose request was withheld ends here, with what it would have sent, and exit code 0."""
    try:
        yield
    except NotSentError as withheld:
        end_dry_run(list(withheld.lines()), withheld.document())


def _plain(message: Message) -> dict[str, Any]:
    return {
        field.name: f"{len(value)} bytes, not shown" if field.name.endswith(SIGNED) else _value(field, value)
        for field, value in message.ListFields()
    }


def _value(field: Any, value: Any) -> Any:
    if isinstance(value, Message):
        return _plain(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, str | bool | float):
        return value
    if isinstance(value, int):
        return field.enum_type.values_by_number[value].name if field.enum_type is not None else value
    return [_value(field, each) for each in value]


def _lines(shown: dict[str, Any], indent: str) -> Iterator[str]:
    for name, value in shown.items():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                yield f"{indent}{name}:"
                yield from _lines(each, indent + "  ")
            elif isinstance(each, str) and "\n" in each:
                yield f"{indent}{name}:"
                yield from (f"{indent}  {line}".rstrip() for line in each.splitlines())
            else:
                yield f"{indent}{name}: {each}"
