"""Every format that is stored or sent: the golden bytes of each are read, and the same are written where they can be.

docs/versions.md lists them. A version that the code has and the page has not, or that has no golden bytes, is found.
"""

from __future__ import annotations

import json
import re

import pytest

from gemel.common import versions
from gemel.common.keys.identity import SigningPurpose
from gemel.common.rpc.access import OLDEST_CALLERS, OLDEST_SERVICE
from tests.architecture.tree import REPOSITORY
from tests.vectors.make_formats import DRAWN, FIXED, FORMATS, PATH

GOLDEN = json.loads(PATH.read_text(encoding="utf-8"))
PAGE = (REPOSITORY / "docs" / "versions.md").read_text(encoding="utf-8")
MARK = re.compile(r"""["']gemel [a-z0-9 -]*? \d+(?=["'\\])""")
"""A text of the code that begins a format, or is hashed or signed with it: its last word is a number."""


def rows(first: str) -> list[list[str]]:
    """The cells of the page's table whose first column has this heading."""
    _, _, table = PAGE.partition(f"\n| {first} |")
    lines = table.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize("name", FORMATS)
def test_golden_bytes_are_read(name: str) -> None:
    write, read = FORMATS[name]
    assert read(bytes.fromhex(GOLDEN[name]["bytes"])) == GOLDEN[name]["read"]
    assert read(write()) == GOLDEN[name]["read"]


@pytest.mark.parametrize("name", FIXED)
def test_the_same_bytes_are_written(name: str) -> None:
    assert FIXED[name][0]().hex() == GOLDEN[name]["bytes"]


def test_no_golden_bytes_are_without_a_reader() -> None:
    assert GOLDEN.keys() == FORMATS.keys(), "python -m tests.vectors.make_formats adds what is missing"
    assert {f"signature: {purpose}" for purpose in SigningPurpose} <= FORMATS.keys()
    assert not DRAWN.keys() & FIXED.keys()


def test_every_version_in_the_code_is_on_the_page() -> None:
    found = {
        mark[1:]
        for folder in ("common", "records", "custodian", "party", "carole", "shared", "coordinator", "console", "risk")
        for path in (REPOSITORY / folder).rglob("*.py")
        for mark in MARK.findall(path.read_text(encoding="utf-8"))
    }
    assert len(found) > 20
    listed = {mark for mark in quoted(PAGE) if mark.startswith("gemel ") and mark[-1].isdigit()}
    assert listed == found


def test_every_format_on_the_page_has_golden_bytes() -> None:
    table = rows("format")
    assert len(table) > 20
    for name, _, golden in table:
        assert quoted(golden), name
        for each in quoted(golden):
            assert each in GOLDEN or (REPOSITORY / each).exists(), f"{name}: {each}"
    named = {each for *_, golden in table for each in quoted(golden)}
    assert {name for name in GOLDEN if not name.startswith("signature: ")} <= named


def test_the_numbers_on_the_page_are_those_of_the_code() -> None:
    table = {quoted(name)[0]: (number, accepted) for name, number, _, accepted in rows("what")}
    assert {name: number for name, (number, _) in table.items()} == {
        name: str(getattr(versions, name)) for name in vars(versions) if name.isupper()
    }
    (callers,) = set(OLDEST_CALLERS.values())
    assert table["PROTOCOL"][1] == f"callers from {callers}; a service from {OLDEST_SERVICE}"
