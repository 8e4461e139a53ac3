"""A list of projects: those that a filter leaves, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from gemel.common.language import gettext
from gemel.common.wire.project_states import STATE_WORDS
from gemel.console.web.guard import RELOAD_HEADER
from gemel.protos.linkage.v1 import project_pb2

PAGE = 25
_ORDER = {project_pb2.PROJECT_STATE_RELEASED: 2, project_pb2.PROJECT_STATE_ERASED: 3}


def state_words(state: project_pb2.ProjectState, epoch: int, instead: str = "") -> str:
    """A project's state, or what is said of it `instead`, with its epoch after the first."""
    words = instead or gettext(STATE_WORDS.get(state, "unknown"))
    if state == project_pb2.PROJECT_STATE_ASSESSED and not instead:
        words = gettext("refused")
    return gettext("{state} (epoch {epoch})").format(state=words, epoch=epoch) if epoch > 1 else words


def place_of(state: project_pb2.ProjectState, *, is_awaited: bool) -> int:
    """Where projects of a state stand in a list: what is decided now first, what has ended last."""
    return 0 if is_awaited else _ORDER.get(state, 1)


def reloaded(request: Request, answer: Response, state: str) -> Response:
    """An answer after which the page is loaded again if its forms are of another state."""
    if request.query_params.get("state") != state:
        answer.headers[RELOAD_HEADER] = "1"
    return answer


def paged(rows: Sequence[Mapping[str, Any]], query: QueryParams) -> dict[str, Any]:
    """What ``list.html.j2`` shows of all projects, in their order: each has `project`, `state` in words, `kind` of its
    badge, and `waits`, what it waits for.

    The query is ``q``, a part of a name; ``state``, as its words are; ``page``, from 1.
    """
    part_of_name, state = query.get("q", "").strip().lower(), query.get("state", "")
    found = [each for each in rows if part_of_name in each["project"].lower() and (not state or each["state"] == state)]
    pages = max(1, -(-len(found) // PAGE))
    text = query.get("page", "1")
    page = min(int(text), pages) if text.isascii() and text.isdigit() and len(text) < 6 and int(text) else 1
    kept = {key: value for key, value in (("q", query.get("q", "")), ("state", state)) if value}

    def link(number: int) -> str:
        return f"/?{urlencode({**kept, 'page': number})}"

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
