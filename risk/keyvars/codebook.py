"""Codebooks as CSV: the variables of forms and their categories, one category to a row.

    form,variable,category,value,scale,consists of,part of,Organisation
    Survey X,Country of Residence,England,1,,,,Pollsters R US

`form`, `variable` and `category` are needed. A row without a category means arbitrary precision. A row without a form
only makes the category known. `value` is what the data hold for the category. `scale` is nominal, interval or whole.
`consists of` names the parts of a category, with ``|`` between; `part of` the leaf that it divides, together with the
other rows of the same form that name it. Every other column is metadata of the form. Text in, text out.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from gemel.common.errors import ErrorCode, GemelError, GemelErrors
from gemel.common.language.message_words import nearest
from gemel.risk.keyvars.aggregation import AggregationGraph, placed
from gemel.risk.keyvars.environment import Environment
from gemel.risk.keyvars.intervals import SCALES

COLUMNS = ("form", "variable", "category", "value", "scale", "consists of", "part of")
SEPARATOR = "|"


@dataclass(frozen=True)
class _Row:
    line: int
    metadata: dict[str, str]
    form: str
    variable: str
    category: str
    value: str
    scale: str
    parts: str
    part_of: str

    @property
    def consists_of(self) -> tuple[str, ...]:
        return split(self.parts)


def split(text: str) -> tuple[str, ...]:
    """Names with ``|`` between."""
    return tuple(part.strip() for part in text.split(SEPARATOR) if part.strip())


def import_codebook(
    environment: Environment, text: str, source: str = "codebook.csv", separator: str = ","
) -> tuple[int, tuple[str, ...]]:
    """Add the forms of a codebook; a form that is there gets the variables it lacks."""
    rows, metadata = _rows(text, source, separator)
    for row in rows:
        try:
            if row.form and row.form not in environment.forms:
                environment.add_form(row.form)
            if row.form:
                environment.set_metadata(row.form, row.metadata)
            _scale(environment, row)
        except GemelError as error:
            raise placed(error, f"{source}, line {row.line}") from None
    added = 0
    for group in _groups(rows):
        try:
            _categories(environment, group)
            added += _coding(environment, group)
        except GemelError as error:
            raise placed(error, f"{source}, line {group[0].line}") from None
    return added, metadata


def export_codebook(environment: Environment) -> str:
    """The environment as a codebook, from which `import_codebook` makes an equal one (but for empty forms)."""
    metadata = list(dict.fromkeys(key for form in environment.forms.values() for key in form.metadata))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*COLUMNS, *metadata])
    blank = [""] * len(metadata)
    for variable in environment.variables.values():
        made: set[str] = set()
        left = dict(variable.graph.children)
        while left:  # parts before what they make up
            for name, parts in [item for item in left.items() if made.issuperset(item[1])]:
                row = ["", variable.name, name, "", variable.scale, f" {SEPARATOR} ".join(parts), ""]
                writer.writerow(row + blank)
                made.add(name)
                del left[name]
    for form in environment.forms.values():
        known = [form.metadata.get(key, "") for key in metadata]
        for name, code in form.variables.items():
            held: dict[str, list[str]] = {}
            for value, category in form.values.get(name, {}).items():
                held.setdefault(category, []).append(value)
            for category in environment.variables[name].categorisations[code] or ("",):
                for value in held.get(category, [""]):
                    writer.writerow([form.name, name, category, value, "", "", "", *known])
    return out.getvalue()


def _rows(text: str, source: str, separator: str) -> tuple[list[_Row], tuple[str, ...]]:
    reader = csv.DictReader(io.StringIO(text), strict=True, delimiter=separator)
    try:
        header = [column.strip() for column in reader.fieldnames or ()]
        lacking = [column for column in COLUMNS[:3] if column not in header]
        twice = [column for i, column in enumerate(header) if column in header[:i]]
        if lacking or twice:
            what = f"the columns {', '.join(lacking)} are lacking" if lacking else "a column is there twice"
            remedy = nearest(lacking[0], header) if lacking else ""
            raise GemelError(ErrorCode.SOURCE, what, where=f"{source}, line 1", got=", ".join(header), remedy=remedy)
        metadata = tuple(column for column in header if column not in COLUMNS)
        reader.fieldnames = header
        rows, errors = [], []
        for row in reader:
            line = reader.line_num
            cell = {column: (row.get(column) or "").strip() for column in header}
            if None in row or any(row[column] is None for column in header):
                errors.append(_wrong(source, line, "another number of cells than the header has", str(len(header))))
            elif not cell["variable"] and any(cell.values()):
                errors.append(_wrong(source, line, "the row names no variable"))
            elif cell["variable"]:
                known = {column: cell[column] for column in metadata if cell[column]}
                rows.append(_Row(line, known, *(cell.get(column, "") for column in COLUMNS)))
    except csv.Error as error:
        raise _wrong(source, reader.line_num, f"not CSV: {error}") from None
    if errors:
        raise GemelErrors(ErrorCode.SOURCE, errors)
    return rows, metadata


def _groups(rows: Sequence[_Row]) -> list[list[_Row]]:
    """The rows of each variable of each form; rows without a form first, since they define what others use."""
    groups: dict[tuple[str, str], list[_Row]] = {}
    for row in sorted(rows, key=lambda row: bool(row.form)):
        groups.setdefault((row.form, row.variable), []).append(row)
    return list(groups.values())


def _scale(environment: Environment, row: _Row) -> None:
    known = environment.variables.get(row.variable)
    if row.scale and known is not None and known.scale != row.scale:
        raise GemelError(ErrorCode.SOURCE, f"{row.variable} has scale {known.scale}", got=row.scale)
    if known is None:
        scale = next((scale for scale in SCALES if scale == (row.scale or "nominal")), None)
        if scale is None:
            raise GemelError(ErrorCode.SOURCE, f"a scale is one of {', '.join(SCALES)}", got=row.scale)
        environment.add_variable(row.variable, scale)


def _categories(environment: Environment, rows: Sequence[_Row]) -> None:
    name = rows[0].variable
    children = environment.variables[name].graph.children
    new = {row.category: row for row in rows if row.category and row.category not in children}
    divided: dict[str, list[str]] = {}
    for row in new.values():
        if row.part_of:
            divided.setdefault(row.part_of, []).append(row.category)
    for leaf, parts in divided.items():
        environment.edit(name, partial(AggregationGraph.divide, category=leaf, parts=parts))
    if not rows[0].form and not children:
        leaves = [row.category for row in new.values() if not row.consists_of and not row.part_of]
        environment.edit(name, lambda graph: graph.add_leaves(leaves))
    for row in new.values():
        if row.consists_of:
            environment.edit(name, partial(AggregationGraph.aggregate, name=row.category, parts=row.consists_of))


def _coding(environment: Environment, rows: Sequence[_Row]) -> int:
    form, variable = rows[0].form, rows[0].variable
    if not form:
        return 0
    categories = list(dict.fromkeys(row.category for row in rows if row.category))
    if categories and any(not row.category for row in rows):
        raise GemelError(ErrorCode.SOURCE, f"{form} has rows of {variable} with a category and without one")
    if any(row.category and not row.value for row in rows) and len(categories) < len(rows):
        raise GemelError(ErrorCode.SOURCE, f"{form} names a category of {variable} twice")
    if variable in environment.forms[form].variables:
        raise GemelError(ErrorCode.EXISTS, f"{form} has {variable} already", remedy="delete it there first")
    values: dict[str, str] = {}
    for row in rows:
        if row.value and values.setdefault(row.value, row.category) != row.category:
            raise GemelError(ErrorCode.SOURCE, f"one value of {variable} has two categories", got=repr(row.value))
    environment.code(form, variable, categories, values)
    return 1


def _wrong(source: str, line: int, what: str, got: str = "") -> GemelError:
    return GemelError(ErrorCode.SOURCE, what, where=f"{source}, line {line}", got=got)
