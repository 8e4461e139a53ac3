"""A list of projects: those that a filter leaves, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from gemel.common.language import gettext

PAGE = 25


def in_epoch(state: str, epoch: int) -> str:
    """A project's state in words, with its epoch after the first."""
    return gettext("{state} (epoch {epoch})").format(state=state, epoch=epoch) if epoch > 1 else state


def listed(rows: Sequence[Mapping[str, Any]], query: QueryParams, path: str) -> dict[str, Any]:
    """What ``list.html.j2`` shows.

    Parameters
    ----------
    rows
        All projects in their order, each with `project`, `state` in words, `kind` of its badge, and `waits`: what it
        waits for.
    query
        Of the page's address: ``q``, a part of a name; ``state``, as its words are; ``page``, from 1.
    path
        The page's address without it.
    """
    part_of_name, state = query.get("q", "").strip().lower(), query.get("state", "")
    found = [each for each in rows if part_of_name in each["project"].lower() and (not state or each["state"] == state)]
    pages = max(1, -(-len(found) // PAGE))
    text = query.get("page", "1")
    page = min(int(text), pages) if text.isascii() and text.isdigit() and len(text) < 6 and int(text) else 1
    kept = {key: value for key, value in (("q", query.get("q", "")), ("state", state)) if value}

    def link(number: int) -> str:
        return f"{path}?{urlencode({**kept, 'page': number})}"

    return {
        "rows": found[(page - 1) * PAGE : page * PAGE],
        "total": len(rows),
        "found": len(found),
        "first": (page - 1) * PAGE + 1 if found else 0,
        "last": min(page * PAGE, len(found)),
        "q": query.get("q", "")[:64],
        "state": state,
        "states": sorted({each["state"] for each in rows}),
        "page": page,
        "pages": pages,
        "previous": link(page - 1) if page > 1 else "",
        "next": link(page + 1) if page < pages else "",
    }
