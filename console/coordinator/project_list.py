"""The list of projects as coordinators and stewards see it: those that wait for someone first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.datastructures import QueryParams

from gemel.console.coordinator.project_words import row
from gemel.console.coordinator.waiting import S
from gemel.console.web.listing import listed
from gemel.protos.linkage.v1 import project_pb2

_ORDER = {S.PROJECT_STATE_HELD: 0, S.PROJECT_STATE_RELEASED: 2, S.PROJECT_STATE_ERASED: 3}
"""Before all others; after them."""


def project_list(projects: Sequence[project_pb2.ProjectStatus], query: QueryParams, path: str) -> dict[str, Any]:
    """What the page of a list shows; `query` and `path` as `listed` takes them."""
    found = sorted(projects, key=lambda each: (_ORDER.get(each.state, 1), each.project))
    return listed([row(each) for each in found], query, path)
