"""Salts and lists of similar values in a specification: what is refused, the notes, and what it changes."""

from __future__ import annotations

import pytest
import yaml

from gemel.common.specification import BlockingKey, encoding_digest, load_specification, specification_digest
from gemel.common.specification.model.fields import MAX_LISTED
from gemel.common.specification.text.digest import _encoded_part
from gemel.common.specification.text.reading import MAX_BYTES
from gemel.coordinator.draft.specification_text import dump_specification, json_schema
from tests.common.specification.example import notes_of, refuse
from tests.specifications import heading

PLAIN = (
    heading("salted")
    + """
fields:
  - {name: surname, kind: name}
  - {name: given, kind: name, key_domain: surname}
  - {name: born, kind: date, date: {order: ymd, parts: [year, month]}}
  - {name: sex, kind: category}
  - {name: postcode, kind: code}
blocking:
  - {name: born, keys: [{field: born}]}
  - {name: name, keys: [{field: surname, prefix: 3}]}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)
BY_YEAR = "salt: {field: born, part: year}"


def salted(salt: str = BY_YEAR, text: str = PLAIN) -> str:
    names = text.replace("{name: surname, kind: name", f"{{name: surname, kind: name, {salt}")
    return names.replace("key_domain: surname", f"key_domain: surname, {salt}")


def listed(words: str, text: str = PLAIN) -> str:
    return salted(f"only_similar: [{words}]", text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (salted().replace("mode: open", "mode: trusted"), r"fields\[0\]\.salt: in mode trusted the values themselves"),
        (salted().replace("mode: open", "mode: block_keyed"), r"fields\[0\]\.salt: mode block_keyed salts every field"),
        (salted(f"value_frequencies: true, {BY_YEAR}"), r"fields\[0\]\.value_frequencies.*drop it, or the salt"),
        (salted("salt: {field: surname, prefix: 1}"), r"salt\.field: a field cannot be salted by itself"),
        (salted("salt: {field: birth}"), r"fields\[0\]\.salt\.field: no compared field has this name"),
        (salted("salt: {field: sex, part: year}"), r"fields\[0\]\.salt\.part: only a date has parts"),
        (salted("salt: {field: born, part: day}"), r"fields\[0\]\.salt\.part: born has no such part"),
        (salted("salt: {field: born, prefix: 2}"), r"fields\[0\]\.salt\.prefix: a date has no prefix"),
        (salted("salt: {field: postcode, suffix: 2}"), r"fields\[0\]\.salt\.suffix: unknown key"),
        (PLAIN.replace("key_domain: surname", f"key_domain: surname, {BY_YEAR}"), "same key domain but has other salt"),
        (
            PLAIN.replace("key_domain: surname", "key_domain: surname, only_similar: [smith]"),
            "same key domain but has other only_similar",
        ),
        (listed("smith").replace("mode: open", "mode: trusted"), r"only_similar: in mode trusted the values"),
        (salted("tokens: value, only_similar: [smith]"), r"only_similar: tokens `value` show no similarity"),
        (
            PLAIN.replace("kind: code", f"kind: code, only_similar: [{', '.join(map(str, range(MAX_LISTED + 1)))}]"),
            r"fields\[4\]\.only_similar: has too many entries",
        ),
        (salted() + "latent: {keys: [given]}\n", r"fields\[1\]\.salt: signatures of one value under different salts"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_with_a_remedy(text: str, reason: str) -> None:
    refuse(text, reason)


def test_a_salted_field_may_salt_another_and_be_blocked_on() -> None:
    crossed = salted(text=PLAIN).replace("kind: code}", "kind: code, salt: {field: surname, prefix: 1}}")
    rules = "  - {name: alike, lsh: {field: surname}}\nretention"
    assert load_specification(crossed.replace("retention", rules)).field("postcode").salt is not None


def test_lists_work_in_blocks_too() -> None:
    spec = load_specification(listed("smith", PLAIN.replace("mode: open", "mode: block_keyed")))
    assert spec.field("given").only_similar == ("smith",)


def test_each_is_another_encoding_and_without_them_nothing_has_changed() -> None:
    texts = [
        PLAIN,
        salted(),
        salted("salt: {field: born}"),
        salted("salt: {field: postcode}"),
        salted("salt: {field: postcode, prefix: 2}"),
        listed("smith"),
        listed("smith, jones"),
    ]
    specs = [load_specification(text) for text in texts]
    assert len({encoding_digest(spec) for spec in specs}) == len({specification_digest(s) for s in specs}) == len(texts)
    turned = load_specification(listed("jones, smith"))
    assert encoding_digest(turned) == encoding_digest(specs[-1]), "a list is a set"
    # The digest of a field that uses neither is made of what it was made of before there were any.
    assert set(_encoded_part(specs[0].fields[0])) == {
        "name", "kind", "clean", "stop_words", "missing", "date", "tokens", "bits", "key_domain",
    }  # fmt: skip


def test_they_are_read_back_and_long_lists_are_wrapped() -> None:
    words = ", ".join([f"name{n}" for n in range(400)] + ["'no'", "van der berg", "1234", "'a: b'", "[x]"[1:-1]])
    spec = load_specification(salted(f"only_similar: [{words}], {BY_YEAR}"))
    written = dump_specification(spec)
    assert load_specification(written) == spec
    assert tuple(yaml.safe_load(written)["fields"][0]["only_similar"]) == spec.fields[0].only_similar
    fields = written[written.index("fields:") : written.index("blocking:")].splitlines()
    assert len(fields) > 30
    assert max(map(len, fields)) <= 100
    assert f"    {BY_YEAR}\n" in written


def test_a_list_of_ten_thousand_names_fits_into_a_specification() -> None:
    names = ", ".join(f"a{n:07d}" for n in range(10_000))
    text = PLAIN.replace("{name: surname, kind: name}", f"{{name: last, kind: name, only_similar: [{names}]}}")
    text = text.replace("field: surname", "field: last").replace(", key_domain: surname", "")
    assert len(text) < MAX_BYTES / 2
    assert len(load_specification(text).field("last").only_similar) == 10_000


def test_notes_state_what_it_does_and_costs() -> None:
    reported = notes_of(salted())
    assert "Field surname is salted by the year of born" in reported
    assert "Records that differ in it, by an error or in truth, are compared as different in surname" in reported
    assert "surname counts as missing too" in reported
    assert "salted" not in notes_of(PLAIN)
    reported = notes_of(listed("smith, jones"))
    assert "Field given: only 2 listed values show their similarity" in reported
    assert "a misspelt value is compared as different" in reported


def test_a_rule_that_undoes_a_salt_is_named() -> None:
    spec = load_specification(salted())
    assert [rule.name for rule in spec.rules_undoing_salt(spec.field("surname"))] == ["name"]
    assert spec.rules_undoing_salt(spec.field("given")) == spec.rules_undoing_salt(spec.field("born")) == ()
    reported = notes_of(spec)
    assert "Blocking rule name undoes the salt of surname" in reported
    mended = salted(text=PLAIN.replace("{field: surname, prefix: 3}", "{field: surname, prefix: 3}, {field: born}"))
    assert "undoes" not in notes_of(mended)
    alike = PLAIN.replace("keys: [{field: surname, prefix: 3}]", "similar: {field: surname}")
    assert "Blocking by name finds pairs with equal salts of surname only" in notes_of(salted(text=alike))
    twice = PLAIN.replace("  - {name: sex", "  - {name: again, kind: name, column: surname}\n  - {name: sex")
    assert "Field again reads a column of surname under another salt or none" in notes_of(salted(text=twice))


@pytest.mark.parametrize(
    ("mine", "other", "settles"),
    [
        ({"field": "a"}, {"field": "a", "prefix": 3}, True),
        ({"field": "a", "prefix": 3}, {"field": "a"}, False),
        ({"field": "a", "prefix": 3}, {"field": "a", "prefix": 2}, True),
        ({"field": "a", "prefix": 2}, {"field": "a", "prefix": 3}, False),
        ({"field": "a"}, {"field": "a", "part": "year"}, True),
        ({"field": "a", "part": "year"}, {"field": "a", "part": "year"}, True),
        ({"field": "a", "part": "year"}, {"field": "a", "part": "month"}, False),
        ({"field": "a", "part": "year"}, {"field": "a"}, False),
        ({"field": "a"}, {"field": "b"}, False),
    ],
)
def test_whether_agreement_on_a_key_settles_another(mine: dict, other: dict, settles: bool) -> None:
    assert BlockingKey.model_validate(mine).settles(BlockingKey.model_validate(other)) is settles


def test_the_schema_knows_them() -> None:
    schema = json_schema()
    field = schema["$defs"]["FieldSpec"]["properties"]
    assert {"salt", "only_similar"} <= set(field)
    assert "a stable attribute" in field["salt"]["description"]
    assert field["only_similar"]["items"]["type"] == ["string", "integer"]
