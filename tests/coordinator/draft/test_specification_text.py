"""A specification as text: written and read back, its digests, its JSON Schema, its reference."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from pytest import MonkeyPatch  # noqa: PT013

from gemel.common.specification import (
    KINDS,
    LEVELS,
    STEPS,
    BlockingRule,
    Custodian,
    FieldSpec,
    Specification,
    VariableSpec,
    encoding_digest,
    load_specification,
    specification_digest,
)
from gemel.common.specification.model.assessment import AssessmentSpec, MeasureLimits
from gemel.common.specification.model.content import SpecificationContent
from gemel.common.specification.model.resolution import MAX_JOINS
from gemel.common.specification.model.section import Section
from gemel.common.specification.text.digest import canonical_json
from gemel.coordinator.draft.specification_text import dump_specification, json_schema
from tests.common.specification.example import EXAMPLE
from tests.common.specification.test_block_keyed import TEXT as BLOCK_KEYED
from tests.specification_reference import specification_reference

words = st.text(alphabet=st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)
names = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,9}", fullmatch=True)


@st.composite
def field(draw: st.DrawFn, name: str) -> dict[str, Any]:
    kind = draw(st.sampled_from(list(KINDS)))
    allowed = [step for step in STEPS if step in KINDS[kind].allowed and step != "leading_zeros"]
    data: dict[str, Any] = {"name": name, "kind": kind}
    optional: dict[str, st.SearchStrategy[Any]] = {
        "clean": st.lists(st.sampled_from(allowed), unique=True),
        "missing": st.lists(words, max_size=3),
        "bits": st.integers(1, 128).map(lambda n: 64 * n),
        "levels": st.one_of(
            st.sampled_from(list(LEVELS)),
            st.lists(st.floats(0.001, 0.999), min_size=1, max_size=5, unique=True).map(lambda b: [*sorted(b), 1.0]),
        ),
        "column": words,
        "tokens": st.sampled_from(["bigrams", "words", "value"]),
        "only_similar": st.lists(words, max_size=30),
        "randomised_response": st.floats(0.001, 0.1),
    }
    for key, strategy in optional.items():
        if draw(st.booleans()):
            data[key] = draw(strategy)
    if data.get("tokens", KINDS[kind].tokens) == "value":
        data.pop("only_similar", None)
    if kind == "date":
        data["date"] = {"order": draw(st.sampled_from(["ymd", "dmy", "mdy"]))}
    if "stop_words" in data.get("clean", KINDS[kind].clean):
        data["stop_words"] = draw(st.lists(words, max_size=3))
    return data


@st.composite
def specifications(draw: st.DrawFn) -> Specification:
    used = draw(st.lists(names, min_size=1, max_size=4, unique_by=str.casefold))
    fields = [draw(field(name)) for name in used]
    rules = [{"name": "r", "keys": [{"field": used[0]}]}] if draw(st.booleans()) else []
    return Specification.model_validate(
        {
            "version": 1,
            "project": draw(st.from_regex(r"[a-z0-9][a-z0-9-]{0,9}", fullmatch=True)),
            "mode": "open",
            "custodians": {"alice": {"identifier": draw(words)}, "bob": {"identifier": draw(words)}},
            "fields": fields,
            "blocking": rules,
            "links": {"threshold": draw(st.floats(0.01, 0.99))},
            "retention": {"uploads_days": 1, "results_days": 1, "maps_days": 1},
        }
    )


@given(
    specifications(), st.dictionaries(st.sampled_from(["", "fields[0]", "fields[0].bits", "blocking", "end"]), words)
)
def test_what_is_written_is_read_back(spec: Specification, comments: dict[str, str]) -> None:
    assert load_specification(dump_specification(spec, comments)) == spec


def test_other_readers_of_yaml_read_the_same() -> None:
    spec = load_specification(
        EXAMPLE.replace("stop_words: [dr]", "stop_words: [dr, 'no', 'on', '1.5', '0x1f', 'a: b']")
    )
    theirs = yaml.safe_load(dump_specification(spec))
    assert tuple(theirs["fields"][0]["stop_words"]) == spec.fields[0].stop_words
    assert tuple(theirs["fields"][0]["missing"]) == spec.fields[0].missing


def test_defaults_are_left_out_unless_commented() -> None:
    spec = load_specification(EXAMPLE)
    assert "clean:" not in dump_specification(spec)
    text = dump_specification(spec, {"fields[1].clean": "Names are cleaned so.", "": "First.\n\nThird."})
    assert text.startswith("# First.\n#\n# Third.\nversion: 1\n")
    assert "    # Names are cleaned so.\n    clean: [unicode, case, accents," in text


def test_long_comments_are_wrapped() -> None:
    text = dump_specification(load_specification(EXAMPLE), {"fields[2]": "why " * 100})
    lines = [line for line in text.splitlines() if line.startswith("  # why")]
    assert len(lines) > 3
    assert max(len(line) for line in lines) <= 102


def test_it_is_json_and_refuses_unknown_keys_everywhere() -> None:
    schema = json.loads(json.dumps(json_schema()))
    sections = [schema, *schema["$defs"].values()]
    assert len(sections) > 10
    assert all(section["additionalProperties"] is False for section in sections)


def test_every_key_is_explained() -> None:
    schema = json_schema()
    for section in [schema, *schema["$defs"].values()]:
        for key, value in section["properties"].items():
            assert len(value.get("description", "")) > 3, key


def test_it_requires_what_must_be_given_and_no_more() -> None:
    schema = json_schema()
    assert schema["required"] == ["version", "project", "mode", "custodians", "fields", "retention"]
    assert schema["$defs"]["FieldSpec"]["required"] == ["name", "kind"]
    assert set(schema["properties"]) == set(Specification.model_fields)


def test_kinds_and_steps_are_explained() -> None:
    field: dict[str, Any] = json_schema()["$defs"]["FieldSpec"]["properties"]
    assert all(f"- {kind}: " in field["kind"]["description"] for kind in KINDS)
    assert all(f"- {step}: " in field["clean"]["description"] for step in STEPS)
    assert field["missing"]["items"]["type"] == ["string", "integer"]


REFERENCE = specification_reference()
HEADINGS = re.findall(r"^## (.+)$", REFERENCE, re.MULTILINE)


def tables() -> dict[str, dict[str, list[str]]]:
    """By heading, the cells of each option."""
    found: dict[str, dict[str, list[str]]] = {}
    for part in REFERENCE.split("\n## ")[1:]:
        heading, _, text = part.partition("\n")
        rows = [re.split(r"(?<!\\) \| ", line[2:-2]) for line in text.splitlines() if line.startswith("| `")]
        found[heading] = {cells[0].strip("`"): cells[1:] for cells in rows}
    return found


@pytest.mark.parametrize(
    ("heading", "section"),
    [
        ("`fields`", FieldSpec),
        ("`blocking`", BlockingRule),
        ("`variables`", VariableSpec),
        ("`assessment`", AssessmentSpec),
        ("`custodians.alice`, `custodians.bob`", Custodian),
    ],
)
def test_a_section_lists_its_options_in_their_order(heading: str, section: type[BaseModel]) -> None:
    assert list(tables()[heading]) == list(section.model_fields)


def test_every_section_has_one_heading() -> None:
    def below(section: type[Section]) -> set[type[Section]]:
        return {section}.union(*(below(inner) for inner in section.__subclasses__()))

    # The top level has a heading of other words, and the base of the limits is no section of its own.
    others = {Section, SpecificationContent, MeasureLimits}
    in_model = {found for found in below(Section) if found.__module__.startswith("gemel.common.specification.model")}
    reachable = [heading for heading in HEADINGS if heading.startswith("`")]
    assert len(reachable) == len(set(reachable))
    assert len(reachable) == len(in_model - others)


def test_every_option_has_a_meaning_and_states_whether_it_is_required() -> None:
    for heading, options in tables().items():
        if heading.startswith("`"):
            for option, (values, default, meaning) in options.items():
                assert values, (heading, option)
                assert default, (heading, option)
                assert meaning, (heading, option)
    top = (REFERENCE.split("\n## ")[0]).count("| required |")
    assert top == sum(field.is_required() for field in Specification.model_fields.values())


@pytest.mark.parametrize(
    ("heading", "option", "values", "default"),
    [
        ("`fields`", "bits", "whole number, 64 to 8,192, a multiple of 64", "by `kind`"),
        ("`fields`", "randomised_response", "number, 0 to 0.4", "`0.0`"),
        ("`fields`", "key_domain", "name", "the field's `name`"),
        ("`fields`", "value_frequencies", "`true`, `false`", "`false`"),
        ("`fields.date`", "parts", "list (at least 1) of `year`, `month`, `day`", "`[year, month, day]`"),
        ("`model`", "tolerance", "number, above 0, below 1", "`1e-08`"),
        ("`model`", "seed", "whole number, at least 0", "`1`"),
    ],
)
def test_values_and_defaults_are_the_models(heading: str, option: str, values: str, default: str) -> None:
    assert tables()[heading][option][:2] == [values, default]


def test_links_lead_to_headings() -> None:
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in HEADINGS}
    assert set(re.findall(r"\]\(#([^)]+)\)", REFERENCE)) <= anchors


def example(**changes: Any) -> Specification:
    data = load_specification(EXAMPLE).model_dump()
    for path, value in changes.items():
        target: Any = data
        *parents, last = (int(part) if part.isdigit() else part for part in path.split("__"))
        for part in parents:
            target = target[part]
        target[last] = value
    return Specification.model_validate(data)


def test_they_are_32_bytes_and_differ() -> None:
    spec = example()
    assert len(encoding_digest(spec)) == len(specification_digest(spec)) == 32
    assert encoding_digest(spec) != specification_digest(spec)


def test_spelling_does_not_change_them() -> None:
    spec = example()
    data = yaml.safe_load(EXAMPLE)
    data["fields"][1]["bits"] = 1024
    data["fields"][1]["clean"] = list(reversed(spec.fields[1].clean))
    data["fields"][0]["missing"] = ["not given", 9999, "0000"]
    data["model"]["tolerance"] = 1e-8
    spelt_out = load_specification(yaml.safe_dump(data, sort_keys=True))
    assert spelt_out == spec
    assert encoding_digest(spelt_out) == encoding_digest(spec)
    assert specification_digest(spelt_out) == specification_digest(spec)


@pytest.mark.parametrize(
    "change",
    [
        {"project": "other"},
        {"links__threshold": 0.9},
        {"links__assignment": "none"},
        {"model__u": "free"},
        {"release__bob": "nothing"},
        {"retention__maps_days": 91},
        {"custodians__bob__identifier": "other"},
        {"fields__0__levels": "em15"},
        {"fields__0__columns": {"alice": "x", "bob": "y"}},
        {"fields__1__column": "x"},
    ],
)
def test_what_need_not_be_signed_again(change: dict[str, Any]) -> None:
    assert encoding_digest(example(**change)) == encoding_digest(example())
    assert specification_digest(example(**change)) != specification_digest(example())


@pytest.mark.parametrize(
    "change",
    [
        {"fields__0__name": "other", "blocking": []},
        {"fields__0__clean": ("unicode", "stop_words")},
        {"fields__0__stop_words": ("dr", "mr")},
        {"fields__0__missing": ("x",)},
        {"fields__0__tokens": "positional_bigrams"},
        {"fields__0__bits": 512},
        {"fields__0__key_domain": "given_name"},
        {"cryptography": "approved"},
        {"fields__2__date__order": "dmy"},
        {"fields__2__date__parts": ("year",)},
        {"fields__3__kind": "text"},
        {"blocking": ()},
        {"blocking__0__name": "other"},
        {"blocking__1__keys__0__prefix": 4},
        {"blocking__0__keys__0__part": "month"},
    ],
)
def test_what_must_be_signed_again(change: dict[str, Any]) -> None:
    assert encoding_digest(example(**change)) != encoding_digest(example())
    assert specification_digest(example(**change)) != specification_digest(example())


def test_another_unicode_table_is_another_encoding(monkeypatch: MonkeyPatch) -> None:
    before = example()
    encoding, whole = encoding_digest(before), specification_digest(before)
    monkeypatch.setattr(unicodedata, "unidata_version", "1.1.5")
    assert encoding_digest(before) != encoding
    assert specification_digest(before) == whole


def test_the_specification_digest_is_as_documented() -> None:
    # Made by hand from the documented form: domain, a zero byte, canonical JSON.
    content = canonical_json(example().model_dump(mode="json"))
    assert specification_digest(example()) == hashlib.sha256(b"gemel specification digest 1\x00" + content).digest()
    assert content.startswith(
        b'{"assessment":null,"blocking":[{"canopies":null,"keys":[{"field":"date_of_birth","part":"year",'
    )


def test_a_cap_on_requested_rows_enters_the_specification_digest_alone() -> None:
    text = BLOCK_KEYED
    plain = load_specification(text)
    same = load_specification(f"{text}resolution: {{max_joins: {MAX_JOINS}, max_requested: null}}\n")
    others = [load_specification(f"{text}resolution: {{{cap}}}\n") for cap in ("max_joins: 0.1", "max_requested: 0.3")]
    assert specification_digest(same) == specification_digest(plain)
    assert len({specification_digest(spec) for spec in (plain, *others)}) == 3
    assert {encoding_digest(spec) for spec in (plain, *others)} == {encoding_digest(plain)}


def test_exact_probabilities_enter_the_digest_where_they_are_granted() -> None:
    digests = {specification_digest(example(release__exact_probabilities=who)) for who in ("none", "alice", "both")}
    assert len(digests) == 3


def test_rules_that_carole_forms_alone_need_no_new_signatures() -> None:
    alone = [
        {"name": "alike", "lsh": {"field": "surname", "bands": 10, "bits": 12}},
        {"name": "canopies", "canopies": {"field": "surname"}},
        {"name": "tree", "similar": {"field": "surname"}},
    ]
    data = example().model_dump()
    more = Specification.model_validate({**data, "blocking": [*data["blocking"], *alone]})
    assert encoding_digest(more) == encoding_digest(example())
    assert specification_digest(more) != specification_digest(example())
    limited = example(blocking__0__limit=1000, blocking__0__split="surname")
    assert encoding_digest(limited) == encoding_digest(example())


def test_canonical_json() -> None:
    assert canonical_json({"b": [1, 0.1, None, True], "a": "é"}) == '{"a":"é","b":[1,0.1,null,true]}'.encode()
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"a": float("nan")})
