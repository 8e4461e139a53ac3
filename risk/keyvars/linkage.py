"""What is exported of an environment of key variables: for a record linkage and for a file's columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.parties import Side
from gemel.common.specification import CommonCategory, Span, load_specification
from gemel.common.specification.text.option_lines import entry_lines
from gemel.common.specification.text.reading import SPECIFICATION_DOCUMENT
from gemel.common.yaml_document import YamlDocument, read_yaml
from gemel.risk.keyvars.aggregation import listed, unknown
from gemel.risk.keyvars.environment import Environment, Form
from gemel.risk.keyvars.intervals import INFINITY, Interval, read_interval, write_interval
from gemel.risk.keyvars.partitions import ARBITRARY
from gemel.risk.keyvars.variables import Variable

_ITEM = re.compile(r"(\s*-\s+|\s+)(name|categories|categorisation)\s*:")


def insert(text: str, name: str, table: Sequence[CommonCategory], *, replace: bool = False, source: str = "") -> str:
    """The specification's text with a field's or variable's table; of a variable also its `categories`."""
    document = read_yaml(text, source, SPECIFICATION_DOCUMENT)
    section, position = _place(document, name, source)
    entries: dict[str, tuple[object, ...]] = {"categorisation": tuple(table)}
    if section == "variables":
        entries = {"categories": tuple(row.category for row in table), **entries}
    item = document.value[section][position]
    lines = text.splitlines()
    present = sorted((document.line((section, position, key)) or 1, key) for key in entries if key in item)
    if present and not replace:
        what, remedy = f"{section[:-1]} {name} has {present[0][1]} already", "give --replace to write over it"
        raise GemelError(ErrorCode.EXISTS, what, where=f"{source}, line {present[0][0]}", remedy=remedy)
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
        raise unknown("no variable, nor a field of kind category, has this name", name, found, source)
    return found[name]


def _indent(line: str, key: str, source: str) -> int:
    """How far an entry is indented, which must be the first of its line."""
    found = _ITEM.match(line)
    if found is None or found[2] != key:
        what = f"only what is written with one entry to a line can be completed, its `{key}` at a line's beginning"
        remedy = "write `- name: ...` and each other entry on a line of its own"
        raise GemelError(ErrorCode.SPECIFICATION, what, where=source, remedy=remedy)
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
        what = "the table could not be written without changing something else"
        raise GemelError(ErrorCode.SPECIFICATION, what, where=source)


# Two forms' categories of one variable brought to the finest common ones: the table for a linkage specification.

_LONGEST = 200


@dataclass(frozen=True)
class Common:
    code: str
    table: tuple[CommonCategory, ...]
    losses: tuple[str, ...]


def common_categories(environment: Environment, variable: str, alice: str, bob: str) -> Common:
    """The finest categories to which two forms' codings of a variable can be brought."""
    known = environment.variable(variable)
    forms = {Side.ALICE: environment.form(alice), Side.BOB: environment.form(bob)}
    codes = {}
    for side, form in forms.items():
        if variable not in form.variables:
            raise GemelError(ErrorCode.NOT_FOUND, "the form has no such variable", where=form.name, got=repr(variable))
        codes[side] = form.variables[variable]
    node = known.harmonisations.harmonise([known.node(code) for code in codes.values()])
    code = known.codes[node]
    if code == ARBITRARY:
        what = "both forms take whatever is written in, so there are no categories to bring together"
        raise parameter(variable, what, remedy="compare it as a field of kind number, date or text")
    blocks = known.leaves(code)
    if len(blocks) == 1:
        what = "the two codings have only one category in common, everything, and cannot be harmonised"
        got = f"{codes[Side.ALICE]} and {codes[Side.BOB]}"
        raise parameter(variable, what, got, "leave the variable out, or have one custodian code it more finely")
    rows = []
    for leaves in blocks:
        values = {str(side): _values(known, form, codes[side], leaves) for side, form in forms.items()}
        rows.append(CommonCategory.model_validate({"category": _label(known, leaves), **values}))
    return Common(code, tuple(rows), tuple(_loss(known, side, own, code) for side, own in codes.items()))


def _values(variable: Variable, form: Form, code: str, leaves: tuple[str, ...]) -> list[str] | Span:
    """What the form's data hold for a common category."""
    if code == ARBITRARY:
        if variable.scale == "nominal":
            what = "the form takes whatever is written in, which no table can bring to categories"
            remedy = "code its values first, and give the categories"
            raise parameter(f"{form.name}, {variable.name}", what, remedy=remedy)
        low, high = _hull(variable, leaves)
        return Span(minimum=None if low == -INFINITY else float(low), below=None if high == INFINITY else float(high))
    within = set(leaves)
    own = [name for name in variable.categorisations[code] if within.issuperset(variable.graph.leaves_of(name))]
    held = form.values.get(variable.name)
    return own if held is None else [value for value, category in held.items() if category in own]


def _label(variable: Variable, leaves: tuple[str, ...]) -> str:
    names = variable.graph.categories_of(leaves)
    if len(names) == 1:
        return names[0]
    if variable.scale != "nominal":
        return write_interval(_hull(variable, leaves), variable.scale)
    label = " or ".join(names)
    return label if len(label) <= _LONGEST else f"{names[0]} or {len(leaves) - 1} others"


def _hull(variable: Variable, leaves: tuple[str, ...]) -> Interval:
    ends = [read_interval(leaf, variable.scale) for leaf in leaves]
    return min(low for low, _ in ends), max(high for _, high in ends)


def _loss(variable: Variable, side: Side, own: str, code: str) -> str:
    after = len(variable.leaves(code))
    if own == ARBITRARY:
        return f"{side}'s exact values become {after} categories"
    names = variable.categorisations[own]
    joined = [
        together
        for leaves in variable.leaves(code)
        if len(together := [n for n in names if set(leaves).issuperset(variable.graph.leaves_of(n))]) > 1
    ]
    if not joined:
        return f"{side}'s {len(names)} categories stay as they are"
    reported = "; ".join(listed(each) for each in joined)
    return f"{side}'s {len(names)} categories become {after}: no longer distinguished are {reported}"
