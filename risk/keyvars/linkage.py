"""Two forms' categories of one variable brought to the finest common ones: the table for a linkage specification."""

from __future__ import annotations

from dataclasses import dataclass

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.parties import Side
from gemel.common.specification import CommonCategory, Span
from gemel.risk.keyvars.aggregation import listed
from gemel.risk.keyvars.codes import ARBITRARY
from gemel.risk.keyvars.environment import Environment, Form
from gemel.risk.keyvars.intervals import INFINITY, Interval, read_interval, write_interval
from gemel.risk.keyvars.variables import Variable

_LONGEST = 200


@dataclass(frozen=True)
class Common:
    """What two forms can be compared on."""

    code: str
    table: tuple[CommonCategory, ...]
    losses: tuple[str, ...]


def common_categories(environment: Environment, variable: str, alice: str, bob: str) -> Common:
    """The finest categories to which two forms' codings of a variable can be brought.

    Parameters
    ----------
    environment
        Where both forms are.
    variable
        The variable.
    alice, bob
        Names of the forms that describe the custodians' files.

    Raises
    ------
    GemelError
        NOT_FOUND for a form or variable that is not there, PARAMETER where nothing is left to compare, or where both
        forms, or one of a variable that is no interval, take whatever the respondent writes in.
    """
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
        raise parameter(
            variable,
            "both forms take whatever is written in, so there are no categories to bring together",
            remedy="compare it as a field of kind number, date or text",
        )
    blocks = known.leaves(code)
    if len(blocks) == 1:
        raise parameter(
            variable,
            "the two codings have only one category in common, everything, and cannot be harmonised",
            f"{codes[Side.ALICE]} and {codes[Side.BOB]}",
            "leave the variable out, or have one custodian code it more finely",
        )
    rows = []
    losses = []
    for leaves in blocks:
        values = {str(side): _values(known, form, codes[side], leaves) for side, form in forms.items()}
        rows.append(CommonCategory.model_validate({"category": _label(known, leaves), **values}))
    for side, own in codes.items():
        losses.append(_loss(known, side, own, code))
    return Common(code, tuple(rows), tuple(losses))


def _values(variable: Variable, form: Form, code: str, leaves: tuple[str, ...]) -> list[str] | Span:
    """What the form's data hold for a common category."""
    if code == ARBITRARY:
        if variable.scale == "nominal":
            raise parameter(
                f"{form.name}, {variable.name}",
                "the form takes whatever is written in, which no table can bring to categories",
                remedy="code its values first, and give the categories",
            )
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
