"""A table of categorisation written into the text of a specification, every other line and comment left as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.language.message_words import nearest
from gemel.common.specification import CommonCategory, load_specification
from gemel.common.specification.text.reading import SPECIFICATION_DOCUMENT
from gemel.common.specification.text.writing import entry_lines
from gemel.common.yaml_document import YamlDocument, read_yaml

_ITEM = re.compile(r"(\s*-\s+|\s+)(name|categories|categorisation)\s*:")


def insert(text: str, name: str, table: Sequence[CommonCategory], *, replace: bool = False, source: str = "") -> str:
    """The specification's text with a field's or variable's table; of a variable also its `categories`.

    Parameters
    ----------
    text
        The specification, in block style where the field stands.
    name
        Of a field of kind category, or of a variable.
    table
        The rows.
    replace
        Whether a table, or a variable's other categories, may be replaced.

    Raises
    ------
    GemelError
        NOT_FOUND if nothing has the name, EXISTS if it has another table and `replace` is not given, SPECIFICATION if
        the result would be no valid specification, or something else would change.
    """
    document = read_yaml(text, source, SPECIFICATION_DOCUMENT)
    section, position = _place(document, name, source)
    entries: dict[str, tuple[object, ...]] = {"categorisation": tuple(table)}
    if section == "variables":
        entries = {"categories": tuple(row.category for row in table), **entries}
    item = document.value[section][position]
    lines = text.splitlines()
    present = sorted((document.line((section, position, key)) or 1, key) for key in entries if key in item)
    if present and not replace:
        raise GemelError(
            ErrorCode.EXISTS,
            f"{section[:-1]} {name} has {present[0][1]} already",
            where=f"{source}, line {present[0][0]}",
            remedy="give --replace to write over it",
        )
    for number, key in reversed(present):
        _drop(lines, key, number - 1, source)
    # Lines may have gone above.
    line = (read_yaml("\n".join(lines), source, SPECIFICATION_DOCUMENT).line((section, position, "name")) or 1) - 1
    indent = _indent(lines[line], "name", source)
    made = [" " * indent + each for key, value in entries.items() for each in entry_lines(key, value)]
    result = "\n".join([*lines[: line + 1], *made, *lines[line + 1 :]]) + "\n"
    _refuse_other_changes(result, document, (section, position), entries, source)
    return result


def _place(document: YamlDocument, name: str, source: str) -> tuple[str, int]:
    found: dict[str, tuple[str, int]] = {}
    for section in ("variables", "fields"):
        items = document.value.get(section) if isinstance(document.value, dict) else None
        for position, item in enumerate(items if isinstance(items, list) else []):
            if isinstance(item, dict) and (section == "variables" or item.get("kind") == "category"):
                found[str(item.get("name"))] = (section, position)
    if name not in found:
        raise GemelError(
            ErrorCode.NOT_FOUND,
            "no variable, nor a field of kind category, has this name",
            where=source,
            got=repr(name),
            remedy=nearest(name, found),
        )
    return found[name]


def _indent(line: str, key: str, source: str) -> int:
    """How far an entry is indented, which must be the first of its line."""
    found = _ITEM.match(line)
    if found is None or found[2] != key:
        raise GemelError(
            ErrorCode.SPECIFICATION,
            f"only what is written with one entry to a line can be completed, its `{key}` at a line's beginning",
            where=source,
            remedy="write `- name: ...` and each other entry on a line of its own",
        )
    return len(found[1])


def _drop(lines: list[str], key: str, start: int, source: str) -> None:
    """Take out an entry: its line, and those below that are indented more or, in a list, begin with a hyphen."""
    indent = _indent(lines[start], key, source)
    if "-" in lines[start][:indent]:
        raise GemelError(ErrorCode.SPECIFICATION, f"`{key}` is the first of its entries", remedy="write `name` first")
    end = start + 1
    while end < len(lines) and lines[end].strip():
        deep = len(lines[end]) - len(lines[end].lstrip())
        if deep < indent or (deep == indent and not lines[end].startswith("- ", indent)):
            break
        end += 1
    del lines[start:end]


def _refuse_other_changes(
    result: str, before: YamlDocument, place: tuple[str, int], entries: Mapping[str, tuple[object, ...]], source: str
) -> None:
    """Raise unless the result is a valid specification with what was there and the entries."""
    section, position = place
    made = getattr(load_specification(result, source), section)[position]
    after = read_yaml(result, source, SPECIFICATION_DOCUMENT)
    for document in (before, after):
        for key in entries:
            document.value[section][position].pop(key, None)
    if before.value != after.value or any(getattr(made, key) != value for key, value in entries.items()):
        raise GemelError(
            ErrorCode.SPECIFICATION, "the table could not be written without changing something else", where=source
        )
