"""Pages of a list: together the whole list, each below its bound, and an end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode
from gemel.common.rpc import pages
from gemel.protos.linkage.v1 import coordination_pb2, project_pb2
from tests.carole.refusals import refusal


@given(
    lengths=st.lists(st.integers(0, 300), max_size=30),
    bound=st.integers(1, 500),
    maximum=st.integers(0, 5),
)
def test_the_pages_are_the_list(lengths: list[int], bound: int, maximum: int) -> None:
    entries = [
        (f"p-{number}", project_pb2.ProjectStatus(project=f"p-{number}", blocking_error="x" * length))
        for number, length in enumerate(lengths)
    ]
    names = [name for name, _ in entries]
    made: list[list[project_pb2.ProjectStatus]] = []

    def call(after: str) -> coordination_pb2.ListProjectsResponse:
        first = names.index(after) + 1 if after else 0
        found, following = pages.page(iter(entries[first:]), maximum)
        made.append(found)
        return coordination_pb2.ListProjectsResponse(projects=found, next=following)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pages, "PAGE_BYTES", bound)
        answers = list(pages.every_page(call, "list"))
    assert [status.project for answer in answers for status in answer.projects] == names
    for found, answer in zip(made, answers, strict=True):
        assert len(found) == 1 or answer.ByteSize() - len(answer.next) - 2 <= bound or not found
        assert not maximum or len(found) <= maximum
        assert found or not names


def test_no_more_is_read_than_a_page_and_the_entry_after_it() -> None:
    read = []

    def entries():  # type: ignore[no-untyped-def]
        for number in range(100):
            read.append(number)
            yield str(number), project_pb2.ProjectStatus(project=str(number))

    found, following = pages.page(entries(), 3)
    assert ([each.project for each in found], following, read) == (["0", "1", "2"], "2", [0, 1, 2, 3])


def test_pages_that_do_not_end_are_refused() -> None:
    following = {"": "a", "a": "b", "b": "a"}
    with refusal(ErrorCode.MALFORMED):
        list(pages.every_page(lambda after: coordination_pb2.ListProjectsResponse(next=following[after]), "list"))
