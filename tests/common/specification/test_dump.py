"""Writing a specification for people, and reading the same one back."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.specification import KINDS, LEVELS, STEPS, Specification, dump_specification, load_specification
from tests.common.specification.example import EXAMPLE

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
