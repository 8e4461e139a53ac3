"""Lists that grow as long as a service lives, in pages that are smaller than a message may be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from google.protobuf.message import Message

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.rpc.status import MAX_MESSAGE_BYTES

PAGE_BYTES = MAX_MESSAGE_BYTES // 2
"""Of the entries on a page; what else is in an answer has the other half."""

_ENTRY_BYTES = 6
"""Of an entry's number and length, at most."""

M = TypeVar("M", bound=Message)


def size_of(entry: Message) -> int:
    return entry.ByteSize() + _ENTRY_BYTES


def page(entries: Iterable[tuple[str, M]], maximum: int = 0) -> tuple[list[M], str]:
    """The entries of one page of at most `PAGE_BYTES`, and the name after which the next page begins; "" after the
    last.

    Of the entries after the page before, each with its name, no more are read than one that has no place; a larger
    entry has a page of its own. `maximum` entries at most; 0 for as many as fit.
    """
    found: list[M] = []
    size, last = 0, ""
    for name, entry in entries:
        size += size_of(entry)
        if found and (size > PAGE_BYTES or len(found) == maximum):
            return found, last
        found.append(entry)
        last = name
    return found, ""


def every_page(call: Callable[[str], Any], where: str) -> Iterator[Any]:
    """The answers with all pages of a list, which `call` requests after a name and whose `next` has the name for the
    next one. Raises MALFORMED if the pages do not end; errors of the call."""
    after, named = "", set[str]()
    while True:
        answer = call(after)
        yield answer
        after = answer.next
        if not after:
            return
        if after in named:
            what = "the pages of a list do not end"
            remedy = "report it to the operator of the service"
            raise GemelError(ErrorCode.MALFORMED, what, where=where, got="a page for the second time", remedy=remedy)
        named.add(after)
