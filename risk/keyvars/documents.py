"""An environment as three JSON texts that people can read and edit, and back, with every issue named by its place.

    variables.json  {"Age": {"scale": "interval",
                             "categories": {"0-18": ["0-16", "16-18"], "0-16": [], ...},     a category's parts
                             "categorisations": {"C2.001": ["0-18", "18-infinity"], ...}}}
    forms.json      {"Survey X": {"metadata": {"Organisation": "..."}, "variables": {"Age": "C2.001"}}}
    groups.json     {"On-line": ["Survey V", "Survey W"]}

In a form, a list of categories may stand instead of a code; an empty one is arbitrary precision. A form whose data
hold other values than its categories' names has ``"values": {"Age": {"1": "0-18", ...}}``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from gemel.common.errors import ErrorCode, GemelError, GemelErrors
from gemel.common.language.message_words import nearest
from gemel.risk.keyvars import intervals
from gemel.risk.keyvars.aggregation import AggregationGraph, is_name, listed
from gemel.risk.keyvars.environment import Environment, Form
from gemel.risk.keyvars.intervals import SCALES
from gemel.risk.keyvars.partitions import ARBITRARY, CODE, size_of
from gemel.risk.keyvars.variables import Variable

FILES = ("variables.json", "forms.json", "groups.json")
_WIDTH = 110


def texts_of(environment: Environment) -> dict[str, str]:
    variables = {
        variable.name: {
            "scale": variable.scale,
            "categories": {name: list(parts) for name, parts in variable.graph.children.items()},
            "categorisations": {code: list(names) for code, names in variable.categorisations.items()},
        }
        for variable in environment.variables.values()
    }
    forms = {
        form.name: {
            "metadata": dict(form.metadata),
            "variables": dict(form.variables),
            **({"values": {name: dict(held) for name, held in form.values.items()}} if form.values else {}),
        }
        for form in environment.forms.values()
    }
    groups = {name: list(members) for name, members in environment.groups.items()}
    return {name: written(content) + "\n" for name, content in zip(FILES, (variables, forms, groups), strict=True)}


def environment_of(texts: Mapping[str, str], *, strict: bool = True) -> Environment:
    """The environment that three texts hold."""
    reader = _Reader(strict)
    documents = {name: reader.parse(name, texts.get(name, "{}")) for name in FILES}
    environment = Environment()
    for name, content in reader.entries(documents["variables.json"], "variables.json"):
        if (variable := reader.variable(name, content)) is not None:
            environment.variables[name] = variable
    for name, content in reader.entries(documents["forms.json"], "forms.json"):
        reader.form(environment, name, content)
    for name, members in reader.entries(documents["groups.json"], "groups.json"):
        reader.group(environment, name, members)
    if reader.errors:
        raise GemelErrors(ErrorCode.SOURCE, reader.errors)
    environment.warnings = tuple(map(str, reader.warnings))
    return environment


def written(content: object, indent: int = 0) -> str:
    """JSON as people write it: what fits stands on one line."""
    line = json.dumps(content, ensure_ascii=False)
    if not isinstance(content, dict | list) or not content:
        return line
    if len(line) + indent <= _WIDTH and (indent > 2 or isinstance(content, list)):
        return line
    inside = " " * (indent + 2)
    if isinstance(content, dict):
        parts = [f"{json.dumps(k, ensure_ascii=False)}: {written(v, indent + 2)}" for k, v in content.items()]
        return "{\n" + ",\n".join(inside + part for part in parts) + "\n" + " " * indent + "}"
    lines, current = [], ""
    for part in (json.dumps(each, ensure_ascii=False) for each in content):
        if current and len(inside) + len(current) + len(part) + 3 > _WIDTH:
            lines.append(current)
            current = ""
        current += (", " if current else "") + part
    lines.append(current)
    return "[\n" + ",\n".join(inside + each for each in lines) + "\n" + " " * indent + "]"


class _Repeated(dict[str, Any]):
    """An object that had keys more than once."""

    names: tuple[str, ...] = ()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    repeated = _Repeated(made)
    repeated.names = tuple(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
    return repeated


class _Reader:
    """Reads documents and collects what is wrong with them."""

    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.errors: list[GemelError] = []
        self.warnings: list[GemelError] = []

    def wrong(self, where: str, what: str, got: str = "", remedy: str = "") -> None:
        self.errors.append(GemelError(ErrorCode.SOURCE, what, where=where, got=got, remedy=remedy))

    def parse(self, name: str, text: str) -> Any:
        try:
            return json.loads(text, object_pairs_hook=_object)
        except json.JSONDecodeError as error:
            self.wrong(f"{name}, line {error.lineno}, column {error.colno}", f"not JSON: {error.msg.lower()}")
        except RecursionError:
            self.wrong(name, "not JSON of an environment: nested too deep")
        return {}

    def entries(self, content: Any, where: str) -> Iterator[tuple[str, Any]]:
        """The items of an object with proper, distinct names; the rest is wrong."""
        if not isinstance(content, dict):
            self.wrong(where, "an object `{...}` expected", type(content).__name__)
            return
        for name in content.names if isinstance(content, _Repeated) else ():
            self.wrong(where, "a name is used twice", repr(name), "keep one of the two entries, or rename one")
        for name, value in content.items():
            if not is_name(name):
                self.wrong(where, "a name is printable and has no blank at its ends", repr(name[:40]))
            else:
                yield name, value

    def names(self, content: Any, where: str) -> tuple[str, ...]:
        if isinstance(content, list) and all(isinstance(each, str) for each in content):
            return tuple(content)
        self.wrong(where, "a list of names expected", type(content).__name__)
        return ()

    def known(self, content: Mapping[str, Any], allowed: tuple[str, ...], where: str) -> None:
        for key in content:
            if key not in allowed:
                self.wrong(where, "unknown key", repr(key), nearest(key, allowed))

    def variable(self, name: str, content: Any) -> Variable | None:
        where = f"variables.json: {name}"
        parts = dict(self.entries(content, where))
        self.known(parts, ("scale", "categories", "categorisations"), where)
        before = len(self.errors)
        scale = parts.get("scale", "nominal")
        if scale not in SCALES:
            self.wrong(f"{where} > scale", f"a scale is one of {', '.join(SCALES)}", repr(scale))
            return None
        here = f"{where} > categories"
        categories = self.entries(parts.get("categories", {}), here)
        graph = AggregationGraph({name: self.names(of, f"{here} > {name}") for name, of in categories})
        for error in graph.issues():
            self.errors.append(_at(error, here))
        if len(self.errors) > before:
            return None
        if scale != "nominal":
            self.errors += [_at(error, here) for error in intervals.issues(graph, scale)]
        categorisations: dict[str, tuple[str, ...]] = {}
        seen: dict[object, str] = {}
        here = f"{where} > categorisations"
        for code, named in self.entries(parts.get("categorisations", {}), here):
            names = self.names(named, f"{here} > {code}")
            if self._categorisation(graph, code, names, f"{here} > {code}"):
                other = seen.setdefault(graph.partition(names, strict=False) if names else None, code)
                if other != code and self.strict:
                    self.wrong(f"{here} > {code}", f"the same categorisation as {other}", remedy="keep one of the two")
                categorisations[code] = names
        return Variable(name, scale, graph, categorisations, strict=self.strict)

    def _categorisation(self, graph: AggregationGraph, code: str, names: tuple[str, ...], where: str) -> bool:
        if CODE.fullmatch(code) is None or code[0] != "C":
            self.wrong(where, "a code is C, the number of categories, a dot and three digits", repr(code))
        elif size_of(code) != len(names) or (not names and code != ARBITRARY):
            remedy = f"call it {ARBITRARY}" if not names else "correct the list or the code"
            self.wrong(where, "the code states another number of categories", str(len(names)), remedy)
        issues = list(graph.issues_of(names)) if names else []
        for error in issues:
            grave = self.strict or error.code is ErrorCode.NOT_FOUND
            (self.errors if grave else self.warnings).append(_at(error, where))
        return not any(error.code is ErrorCode.NOT_FOUND for error in issues) and (not issues or not self.strict)

    def form(self, environment: Environment, name: str, content: Any) -> None:
        where = f"forms.json: {name}"
        parts = dict(self.entries(content, where))
        self.known(parts, ("metadata", "variables", "values"), where)
        metadata = dict(self.entries(parts.get("metadata", {}), f"{where} > metadata"))
        for key, value in metadata.items():
            if not isinstance(value, str):
                self.wrong(f"{where} > metadata > {key}", "a text expected", type(value).__name__)
        variables: dict[str, str] = {}
        declared = dict(self.entries(parts.get("variables", {}), f"{where} > variables"))
        for variable, coding in declared.items():
            code = self._coding(environment, variable, coding, f"{where} > variables > {variable}")
            if code is not None:
                variables[variable] = code
        values: dict[str, dict[str, str]] = {}
        for variable, held in self.entries(parts.get("values", {}), f"{where} > values"):
            here = f"{where} > values > {variable}"
            if variable not in declared:
                self.wrong(here, "the form has no such variable", repr(variable))
            values[variable] = dict(self.entries(held, here))
            if variable in variables and variable in environment.variables:
                names = environment.variables[variable].categorisations[variables[variable]]
                for value, category in values[variable].items():
                    if category not in names:
                        remedy = nearest(category, names)
                        self.wrong(f"{here} > {value}", "no category of the form", repr(category), remedy)
                if lacking := [category for category in names if category not in values[variable].values()]:
                    self.wrong(here, "no value means a category of the form", listed(lacking))
        environment.forms[name] = Form(name, metadata, variables, values)

    def _coding(self, environment: Environment, variable: str, coding: Any, where: str) -> str | None:
        known = environment.variables.get(variable)
        if known is None:
            if not any(str(error.where).startswith(f"variables.json: {variable}") for error in self.errors):
                self.wrong(where, "there is no such variable", repr(variable), nearest(variable, environment.variables))
            return None
        if isinstance(coding, list):
            names = self.names(coding, where)
            try:
                if not self.strict and known.graph.children:
                    self.warnings += [_at(error, where) for error in known.graph.issues_of(names)]
                environment.variables[variable], code, _ = known.with_categorisation(names)
                return code
            except GemelError as error:
                each_error = error.errors if isinstance(error, GemelErrors) else [error]
                self.errors += [_at(each, where) for each in each_error]
                return None
        if not isinstance(coding, str):
            self.wrong(where, "a code or a list of categories expected", type(coding).__name__)
            return None
        if coding not in known.categorisations:
            broken = any(str(error.where).endswith(f"{variable} > categorisations > {coding}") for error in self.errors)
            if not broken:
                self.wrong(where, "no such code", repr(coding), nearest(coding, known.categorisations))
            return None
        return coding

    def group(self, environment: Environment, name: str, content: Any) -> None:
        where = f"groups.json: {name}"
        members = self.names(content, where)
        for i, member in enumerate(members):
            if member not in environment.forms:
                self.wrong(where, "there is no such form", repr(member), nearest(member, environment.forms))
            elif member in members[:i]:
                self.wrong(where, "a form is named twice", repr(member))
        environment.groups[name] = members


def _at(error: GemelError, where: str) -> GemelError:
    inside = f"{where} > {error.where}" if error.where else where
    return GemelError(ErrorCode.SOURCE, error.what, where=inside, got=error.got, remedy=error.remedy)
