"""A data environment: forms, each a set of data that exists or may; their variables, and in which categories.

Every change is checked before it is made, and one that is refused changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.risk.keyvars.aggregation import MAX_NAME, AggregationGraph, is_name, listed, placed, unknown
from gemel.risk.keyvars.analysis import Course, Step, course, min_forms
from gemel.risk.keyvars.intervals import SCALES, Scale, issues
from gemel.risk.keyvars.variables import Variable

T = TypeVar("T")


@dataclass(frozen=True)
class Form:
    """A form, questionnaire or file: anything known of it, such as organisation, address, kind; by variable the code of
    its categorisation, and what its data hold for each category, where that is not the category's name."""

    name: str
    metadata: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding:
    """The answer for one variable of a target form: how many forms of the environment have the variable; with how many
    of them, N, the match shall be possible; the maximal harmonisation for every N, and that for `minimum`, None if too
    few forms have the variable."""

    variable: str
    target: str
    forms: int
    minimum: int
    course: Course
    step: Step | None
    codes: tuple[str, ...]


@dataclass
class Environment:
    """Forms, variables and groups by name.

    `warnings` states what is wrong with an environment that was opened in spite of its issues.
    """

    forms: dict[str, Form] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def form(self, name: str) -> Form:
        """The form of a name; NOT_FOUND if there is none."""
        return _found(self.forms, name, "form")

    def variable(self, name: str) -> Variable:
        """The variable of a name; NOT_FOUND if there is none."""
        return _found(self.variables, name, "variable")

    def add_form(self, name: str, metadata: Mapping[str, str] | None = None) -> None:
        _new(self.forms, name, "form")
        self.forms[name] = Form(name, dict(metadata or {}))

    def copy_form(self, old: str, new: str) -> None:
        form = self.form(old)
        _new(self.forms, new, "form")
        self.forms[new] = replace(form, name=new)

    def set_metadata(self, name: str, metadata: Mapping[str, str]) -> None:
        """Change what is known of a form; an empty text drops an entry."""
        form = self.form(name)
        merged = {key: value for key, value in {**form.metadata, **metadata}.items() if value}
        self.forms[name] = replace(form, metadata=merged)

    def delete_form(self, name: str) -> None:
        """Delete a form, also from its groups, and the categorisations that only it had."""
        for variable in self.form(name).variables:
            self.drop(name, variable)
        del self.forms[name]
        self.groups = {g: tuple(f for f in forms if f != name) for g, forms in self.groups.items()}

    def add_variable(self, name: str, scale: Scale = "nominal") -> None:
        _new(self.variables, name, "variable")
        if scale not in SCALES:
            raise parameter(name, f"a scale is one of {', '.join(SCALES)}", repr(scale))
        self.variables[name] = Variable(name, scale)

    def delete_variable(self, name: str) -> None:
        """Delete a variable that no form has."""
        self.variable(name)
        if users := [form.name for form in self.forms.values() if name in form.variables]:
            what = "the variable cannot be deleted"
            raise parameter(name, what, f"it is used by {listed(users)}", "drop it from these forms first")
        del self.variables[name]

    def code(self, form: str, variable: str, categories: Sequence[str], values: Mapping[str, str] | None = None) -> str:
        """Define in which categories a form has a variable."""
        here, old = self.form(form), self.variable(variable)
        try:
            made, code, names = old.with_categorisation(categories)
            called = dict(zip(categories, names, strict=True))
            if stray := [category for category in (values or {}).values() if category not in called]:
                raise parameter("", "values of no category of the form", listed(stray))
            if values and (lacking := [category for category in categories if category not in values.values()]):
                raise parameter("", "no value means a category of the form", listed(lacking))
        except GemelError as error:
            raise placed(error, f"{form}, {variable}") from None
        self.variables[variable] = made
        own = {value: called[category] for value, category in (values or {}).items()}
        if not own and names != tuple(categories):
            own = called  # the form writes an interval otherwise than the variable does
        held = {**here.values, variable: own} if own else _without(here.values, variable)
        self.forms[form] = replace(here, variables={**here.variables, variable: code}, values=held)
        if (before := here.variables.get(variable)) and before != code:
            self._forget(variable, before)
        return code

    def make_known(self, variable: str, categories: Sequence[str]) -> None:
        """Give a variable categories that no form has yet: exhaustive ones, or on a scale of numbers any such."""
        made, _, _ = self.variable(variable).with_categorisation(categories)
        self.variables[variable] = replace(self.variables[variable], graph=made.graph)

    def drop(self, form: str, variable: str) -> None:
        here = self.form(form)
        code = _found(here.variables, variable, "variable", f"form {form}")
        self.forms[form] = replace(
            here, variables=_without(here.variables, variable), values=_without(here.values, variable)
        )
        self._forget(variable, code)

    def edit(self, variable: str, edit: Callable[[AggregationGraph], AggregationGraph]) -> None:
        """Edit a variable's aggregation graph by one of its own edits, which keep every categorisation valid."""
        self._change(variable, lambda known: replace(known, graph=edit(known.graph)))

    def _change(self, variable: str, change: Callable[[Variable], Variable]) -> None:
        try:
            made = change(self.variable(variable))
            if made.scale != "nominal" and (errors := list(issues(made.graph, made.scale))):
                raise errors[0]
        except GemelError as error:
            raise placed(error, variable) from None
        self.variables[variable] = made

    def rename_category(self, variable: str, old: str, new: str) -> None:
        """Rename a category, in every form that has it."""
        self._change(variable, lambda known: known.renamed(old, new))
        for form in list(self.forms.values()):
            if held := form.values.get(variable):
                renamed = {value: new if category == old else category for value, category in held.items()}
                self.forms[form.name] = replace(form, values={**form.values, variable: renamed})

    def remove_category(self, variable: str, category: str) -> None:
        """Take back a category that no categorisation has and no other is made of."""
        codes = [code for code, names in self.variable(variable).categorisations.items() if category in names]
        users = [f"{form.name} ({form.variables[variable]})" for form in self.users(variable, codes)]
        self.edit(variable, lambda graph: graph.remove(category, users))

    def users(self, variable: str, codes: Iterable[str]) -> list[Form]:
        """The forms that have a variable in one of some codes."""
        selected = set(codes)
        return [form for form in self.forms.values() if form.variables.get(variable) in selected]

    def add_group(self, name: str, forms: Iterable[str]) -> None:
        """Name a set of forms that are analysed together."""
        _new(self.groups, name, "group")
        self.groups[name] = tuple(dict.fromkeys(self.form(form).name for form in forms))

    def delete_group(self, name: str) -> None:
        _found(self.groups, name, "group")
        del self.groups[name]

    def members(self, group: str) -> tuple[str, ...]:
        """The forms of a group; a form's own name is a group of one."""
        if group in self.forms and group not in self.groups:
            return (group,)
        return _found(self.groups, group, "group")

    def where(self, metadata: Mapping[str, str]) -> tuple[str, ...]:
        """The forms with these metadata."""
        selected = metadata.items()
        return tuple(form.name for form in self.forms.values() if selected <= form.metadata.items())

    def analyse(
        self,
        target: str,
        prevalence: float,
        *,
        against: Iterable[str] | None = None,
        variables: Iterable[str] | None = None,
        with_target: bool = False,
    ) -> list[Finding]:
        """How finely each variable of a form can be matched against a share of the others."""
        form = self.form(target)
        others = [self.form(name) for name in dict.fromkeys(self.forms if against is None else against)]
        if not with_target:
            others = [other for other in others if other.name != target]
        minimum = min_forms(len(others), prevalence)
        findings = []
        for name in form.variables if variables is None else variables:
            code = _found(form.variables, name, "variable", f"form {target}")
            variable = self.variables[name]
            held = Counter(other.variables[name] for other in others if name in other.variables)
            counts = Counter(variable.node(each) for each in held.elements())
            found = course(variable.harmonisations, variable.node(code), counts, len(others))
            step = found.at(minimum)
            codes = tuple(variable.codes[node] for node in step.nodes) if step else ()
            findings.append(Finding(name, code, held.total(), minimum, found, step, codes))
        return findings

    def _forget(self, variable: str, code: str) -> None:
        if not self.users(variable, [code]):
            self.variables[variable] = self.variables[variable].without(code)


def _found(names: Mapping[str, T], name: str, kind: str, where: str = "") -> T:
    if name not in names:
        raise unknown(f"there is no such {kind}", name, names, where)
    return names[name]


def _new(names: Mapping[str, object], name: str, kind: str) -> None:
    if not is_name(name) or len(name) > MAX_NAME:
        what = f"the name of a {kind} has 1 to {MAX_NAME} printable characters and no blank at its ends"
        raise parameter("", what, repr(name[:40]))
    if name in names:
        raise GemelError(ErrorCode.EXISTS, f"there is a {kind} of this name already", got=repr(name))


def _without(names: Mapping[str, T], name: str) -> dict[str, T]:
    return {key: value for key, value in names.items() if key != name}
