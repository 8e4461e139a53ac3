"""A list of projects: those that a filter leaves, a page at a time, those that wait for someone first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from tryst.coordinator.console.project_words import row, state_words
from tryst.coordinator.console.waiting import S
from tryst.protos.linkage.v1 import project_pb2

PAGE = 25
_ORDER = {S.PROJECT_STATE_HELD: 0, S.PROJECT_STATE_RELEASED: 2, S.PROJECT_STATE_ERASED: 3}
"""Before all others; after them."""


def project_list(projects: Sequence[project_pb2.ProjectStatus], query: QueryParams, path: str) -> dict[str, Any]:
    """What the page of a list shows.

    Parameters
    ----------
    projects
        All of them.
    query
        Of the page's address: ``q``, a part of a name; ``state``, as its words are; ``page``, from 1.
    path
        The page's address without it.
    """
    part_of_name, state = query.get("q", "").strip().lower(), query.get("state", "")
    states = sorted({state_words(each) for each in projects})
    found = [
        each for each in projects if part_of_name in each.project.lower() and (not state or state_words(each) == state)
    ]
    found.sort(key=lambda each: (_ORDER.get(each.state, 1), each.project))
    pages = max(1, -(-len(found) // PAGE))
    text = query.get("page", "1")
    page = min(int(text), pages) if text.isascii() and text.isdigit() and len(text) < 6 and int(text) else 1
    kept = {key: value for key, value in (("q", query.get("q", "")), ("state", state)) if value}

    def link(number: int) -> str:
        return f"{path}?{urlencode({**kept, 'page': number})}"

    return {
        "rows": [row(each) for each in found[(page - 1) * PAGE : page * PAGE]],
        "total": len(projects),
        "found": len(found),
        "first": (page - 1) * PAGE + 1 if found else 0,
        "last": min(page * PAGE, len(found)),
        "q": query.get("q", "")[:64],
        "state": state,
        "states": states,
        "page": page,
        "pages": pages,
        "previous": link(page - 1) if page > 1 else "",
        "next": link(page + 1) if page < pages else "",
    }
