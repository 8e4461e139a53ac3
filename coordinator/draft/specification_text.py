"""A specification as YAML for people: one line per option, defaults left out, a comment where one was given; and the
JSON Schema by which their editor helps them.

Comments are addressed by path: ``{"fields[2]": "...", "blocking": "..."}``. They are written above their option.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from gemel.common.specification.model.assessment import AssessmentSpec
from gemel.common.specification.model.blocking import BlockingRule
from gemel.common.specification.model.defaults import KINDS, STEPS
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.variables import VariableSpec
from gemel.common.specification.text.option_lines import WIDTH, entry_lines, flow, scalar
from gemel.common.specification.validation.specification import Specification
from gemel.common.validation_issues import path_text


def dump_specification(spec: Specification, comments: Mapping[str, str] | None = None) -> str:
    """The YAML text of a specification; reading it back gives an equal one.

    Comments are by path (`""` for the head of the file, ``"fields[0]"``, ``"fields[0].levels"``, ``"blocking"``,
    ``"end"`` for the end), wrapped and written above their option. An attribute with a comment is written even when it
    is the default.
    """
    return "\n".join(_Writer(dict(comments or {})).lines(spec)) + "\n"


class _Writer:
    def __init__(self, comments: dict[str, str]) -> None:
        self.comments = comments

    def lines(self, spec: Specification) -> Iterator[str]:
        yield from self.comment("", 0)
        yield from self.options(spec, ("version", "project", "mode"))
        yield ""
        yield from self.comment("custodians", 0)
        yield "custodians:"
        for side in ("alice", "bob"):
            yield from self.comment(f"custodians.{side}", 2)
            yield f"  {side}: {flow(getattr(spec.custodians, side))}"
        yield ""
        yield from self.several("fields", spec.fields, self.attributes)
        yield ""
        yield from self.several("blocking", spec.blocking, self.rule)
        yield ""
        yield from self.options(spec, self.stated(spec, "padding", "swaps"))
        for _ in self.stated(spec, "variables"):
            yield from self.several("variables", spec.variables, self.attributes)
            yield ""
        for _ in self.stated(spec, "assessment"):
            yield from self.comment("assessment", 0)
            yield from self.assessment(spec.assessment)
            yield ""
        yield from self.options(spec, self.stated(spec, "latent", "leakage", "resolution"))
        yield from self.options(spec, self.stated(spec, "compute"), all_keys=True)
        yield from self.options(spec, self.stated(spec, "quality"))
        yield from self.options(spec, ("model", "links", "release", "retention"), all_keys=True)
        yield from self.comment("end", 0)

    def stated(self, spec: Specification, *keys: str) -> Iterator[str]:
        """Those that are not the default, or have a comment."""
        fields = Specification.model_fields
        return (key for key in keys if getattr(spec, key) != fields[key].default or key in self.comments)

    def options(self, spec: Specification, keys: Iterable[str], *, all_keys: bool = False) -> Iterator[str]:
        for key in keys:
            yield from self.comment(key, 0)
            yield f"{key}: {flow(getattr(spec, key), all_keys=all_keys)}"

    def several(self, key: str, parts: Sequence[Any], lines: Callable[[Any, str], Iterator[str]]) -> Iterator[str]:
        yield from self.comment(key, 0)
        yield f"{key}:" if parts else f"{key}: []"
        for position, part in enumerate(parts):
            path = path_text((key, position))
            yield from self.comment(path, 2)
            yield from lines(part, path)

    def attributes(self, part: FieldSpec | VariableSpec, path: str) -> Iterator[str]:
        lead = "  - "
        for key, info in type(part).model_fields.items():
            value = getattr(part, key)
            if info.is_required() or value != _default(part, key) or f"{path}.{key}" in self.comments:
                yield from self.comment(f"{path}.{key}", 4)
                first, *others = entry_lines(key, value)
                yield lead + first
                lead = "    "
                yield from (lead + line for line in others)

    def rule(self, rule: BlockingRule, _: str) -> Iterator[str]:
        yield f"  - name: {scalar(rule.name)}"
        if rule.keys:
            yield f"    keys: [{', '.join(flow(key) for key in rule.keys)}]"
        for key, info in BlockingRule.model_fields.items():
            value = getattr(rule, key)
            if key not in ("name", "keys") and value != info.default:
                yield f"    {key}: {flow(value, all_keys=True)}"

    def assessment(self, assessment: AssessmentSpec | None) -> Iterator[str]:
        if assessment is None:
            yield "assessment: null"
            return
        yield "assessment:"
        for key, info in AssessmentSpec.model_fields.items():
            value = getattr(assessment, key)
            if (
                not info.is_required()
                and value == info.get_default(call_default_factory=True)
                and f"assessment.{key}" not in self.comments
            ):
                continue
            yield from self.comment(f"assessment.{key}", 2)
            if key == "tables":
                yield "  tables:"
                for table in value:
                    yield f"    - {flow(table)}"
            elif key == "protect":
                yield "  protect:"
                for variable, steps in value.items():
                    yield f"    {scalar(variable)}:"
                    yield from (f"      - {flow(step)}" for step in steps)
            else:
                yield f"  {key}: {flow(value)}"

    def comment(self, path: str, indent: int) -> Iterator[str]:
        for paragraph in self.comments.get(path, "").splitlines():
            for line in _wrapped(paragraph, WIDTH - indent):
                readable = "".join(
                    character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in line
                )
                yield f"{' ' * indent}# {readable}".rstrip()


def _wrapped(paragraph: str, width: int) -> list[str]:
    hanging = "  " if paragraph.startswith("- ") else ""
    return textwrap.wrap(paragraph, width, break_on_hyphens=False, subsequent_indent=hanging) or [""]


def _default(part: FieldSpec | VariableSpec, key: str) -> object:
    """The default of a key, which may follow from a field's name and kind."""
    known = {"name": part.name, "kind": getattr(part, "kind", "text")}
    return type(part).model_fields[key].get_default(call_default_factory=True, validated_data=known)


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of the specification, with explanatory descriptions.

    An editor with a YAML language server takes it from a first line such as
    ``# yaml-language-server: $schema=linkage.schema.json``. It knows the shape of a specification; the checks
    between values (a rule's field that does not exist) are `gemel spec check`'s.
    """
    schema = Specification.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Gemel linkage specification"
    field = schema["$defs"]["FieldSpec"]["properties"]
    field["kind"]["description"] += "\n" + "\n".join(
        f"- {kind}: {defaults.meaning} (tokens {defaults.tokens}, levels {defaults.levels}, {defaults.bits} bits)"
        for kind, defaults in KINDS.items()
    )
    field["clean"]["description"] += "\n" + "\n".join(f"- {step}: {meaning}" for step, meaning in STEPS.items())
    # Pydantic reads `9999` as text where text is meant; an editor must not complain about it.
    variable, common, step = (
        schema["$defs"][name]["properties"] for name in ("VariableSpec", "CommonCategory", "CoarseningStep")
    )
    lists = [field[attribute] for attribute in ("stop_words", "missing", "only_similar")]
    lists += [variable["categories"], variable["missing"], step["groups"]["additionalProperties"]]
    for side in ("alice", "bob"):
        choices = common[side].get("oneOf", common[side].get("anyOf", ()))
        lists += [choice for choice in choices if choice.get("type") == "array"]
    for text in (common["category"], *(each["items"] for each in lists)):
        text["type"] = ["string", "integer"]
    return schema
