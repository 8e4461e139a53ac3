"""Reading a specification: what is accepted, and that every issue is reported at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gemel.common.errors import GemelError, GemelErrors
from gemel.common.parties import Side
from gemel.common.specification import Specification, load_specification, read_specification
from tests.common.specification.example import EXAMPLE, read_back, refuse, refuse_at


def changed(**changes: Any) -> str:
    """The example with some sections replaced."""
    return yaml.safe_dump({**yaml.safe_load(EXAMPLE), **changes}, sort_keys=False)


def with_field(**settings: Any) -> str:
    """The example with a sixth field."""
    data = yaml.safe_load(EXAMPLE)
    return changed(fields=[*data["fields"], {"name": "extra", **settings}])


def with_rule(**settings: Any) -> str:
    """The example with a third blocking rule."""
    data = yaml.safe_load(EXAMPLE)
    return changed(blocking=[*data["blocking"], {"name": "extra", **settings}])


def test_the_example_is_read_with_defaults_by_kind() -> None:
    spec = load_specification(EXAMPLE)
    surname, given, born, postcode, sex = spec.fields
    assert (surname.column_of(Side.ALICE), surname.column_of("bob")) == ("surname", "family_name")
    assert surname.missing == ("not given", "9999", "0000")
    assert (given.key_domain, born.key_domain, given.column_of("bob")) == ("given", "date_of_birth", "given_name")
    assert (given.tokens, given.bits, len(given.bounds), given.bounds[-1]) == ("bigrams", 1024, 8, 1.0)
    assert born.date is not None
    assert (born.date.order, born.date.parts) == ("ymd", ("year", "month", "day"))
    assert (postcode.bits, postcode.bounds) == (512, (0.5, 0.8, 1.0))
    assert (sex.tokens, sex.levels) == ("value", "exact")
    assert spec.model.tolerance == 1e-8
    assert spec.blocking[1].fields == ("surname", "postcode")
    assert spec.field("sex") is sex


def test_the_smallest_specification() -> None:
    text = "\n".join(
        [
            "version: 1",
            "project: p",
            "mode: open",
            "custodians: {alice: {identifier: a}, bob: {identifier: b}}",
            "fields: [{name: surname, kind: name}]",
            "blocking:",
            "retention: {uploads_days: 1, results_days: 1, maps_days: 1}",
        ]
    )
    spec = load_specification(text)
    assert spec.blocking == ()
    assert (spec.model.u, spec.links.assignment, spec.release.coordinator) == ("corrected", "one_to_one", "statistics")


def test_it_is_immutable() -> None:
    spec = load_specification(EXAMPLE)
    with pytest.raises(ValueError, match="frozen"):
        spec.fields[0].bits = 64


def test_cleaning_steps_run_in_one_order_whatever_is_written() -> None:
    spec = load_specification(with_field(kind="text", clean=["whitespace", "case", "unicode"]))
    assert spec.fields[-1].clean == ("unicode", "case", "whitespace")


def test_every_issue_is_reported_at_once_with_its_line() -> None:
    found = refuse(
        """\
version: 2
project: FEBRL 4
custodians:
  alice: {identifer: rec_id}
fields:
  - name: surname
    kind: nme
    bit: 33
  - name: dob
    kind: date
    levels: [.5, .4]
    clean: [nope]
  - name: born
    kind: date
    clean: [digits]
    bits: 100
  - name: pc
    kind: code
    stop_words: [st, 1.5]
    levels: 3
blocking:
  - name: born
    keys: [{field: bron}, {field: surname}, {field: born, prefix: 3}]
  - keys: []
links: {treshold: 2, threshold: 1.5}
"""
    )
    expected = [
        ("line 1, version", "must be 1, got 2", "version: 1"),
        ("line 1, mode", "is missing", "mode: open"),
        ("line 1, retention", "is missing", "uploads_days"),
        ("line 2, project", "FEBRL 4", "a-z"),
        ("line 3, custodians.bob", "is missing", ""),
        ("line 4, custodians.alice.identifier", "is missing", ""),
        ("line 4, custodians.alice.identifer", "unknown key", "did you mean identifier?"),
        ("line 7, fields[0].kind", "'nme'", "did you mean name?"),
        ("line 8, fields[0].bit", "unknown key", "did you mean bits?"),
        ("line 9, fields[1].date", "the order it is written in", "date: {order: ymd}"),
        ("line 11, fields[1].levels", "must ascend, got 0.5, 0.4", "sort them"),
        ("line 12, fields[1].clean[0]", "'nope'", ""),
        ("line 13, fields[2].date", "the order it is written in", ""),
        ("line 15, fields[2].clean", "digits", "possible here: unicode, case, whitespace"),
        ("line 16, fields[2].bits", "100", "multiple of 64"),
        ("line 19, fields[3].stop_words[1]", "must be text, got 1.5", "quotes"),
        ("line 20, fields[3].levels", "got 3", "em8"),
        ("line 23, blocking[0].keys[0].field", "'bron'", "did you mean born?"),
        ("line 23, blocking[0].keys[2].prefix", "a date has no prefix", "part"),
        ("line 24, blocking[1].name", "is missing", ""),
        ("line 24, blocking[1].keys", "too few", "one to eight"),
        ("line 25, links.threshold", "1.5", ""),
        ("line 25, links.treshold", "unknown key", "did you mean threshold?"),
    ]
    unmatched = list(found)
    for where, what, remedy in expected:
        hits = [m for m in unmatched if m.startswith(f"{where}:") and what in m and remedy in m]
        assert len(hits) == 1, f"{where} {what} {remedy}: {hits} of {found}"
        unmatched.remove(hits[0])
    assert unmatched == []
    lines = [int(issue.split(",")[0].removeprefix("line ")) for issue in found]
    assert lines == sorted(lines)


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        (changed(fields=[]), "fields", "nothing is compared"),
        (changed(fields="surname"), "fields", "must be a list"),
        (changed(fields=[3]), "fields[0]", "must be a mapping"),
        (changed(custodians=None), "custodians", "must be a mapping"),
        (changed(version="1"), "version", "must be 1, got '1'"),
        (changed(version=True), "version", "must be 1, got 'true'"),
        (changed(project=7), "project", "put it in quotes"),
        (changed(mode="closed"), "mode", "must be open"),
        (changed(retention={"uploads_days": 0, "results_days": 1, "maps_days": 1}), "retention.uploads_days", "got 0"),
        (changed(retention={"uploads_days": 1, "results_days": 1}), "retention.maps_days", "is missing"),
        (changed(model={"seed": -1}), "model.seed", "got -1"),
        (changed(model={"tolerance": "small"}), "model.tolerance", "must be a number"),
        (changed(model={"max_iterations": 2.5}), "model.max_iterations", "2.5"),
        (changed(release={"coordinator": "links"}), "release.coordinator", "statistics or nothing"),
        (with_field(kind="name", bits=100), "fields[5].bits", "multiple of 64"),
        (with_field(kind="name", bits=16384), "fields[5].bits", "8192"),
        (with_field(kind="name", bits="1024"), "fields[5].bits", "whole number"),
        (with_field(kind="name", levels="em9"), "fields[5].levels", "em8, em15 or exact"),
        (with_field(kind="name", levels=[0.5, 0.9]), "fields[5].levels", "must be 1"),
        (with_field(kind="name", levels=[0.9, 0.5, 1]), "fields[5].levels", "ascend"),
        (with_field(kind="name", levels=[0.5, 0.5, 1]), "fields[5].levels", "ascend"),
        (with_field(kind="name", levels=[0.5, 1.5]), "fields[5].levels[1]", "1.5"),
        (with_field(kind="name", levels=[0, 1]), "fields[5].levels[0]", "greater than 0"),
        (with_field(kind="name", levels=[1]), "fields[5].levels", "too few"),
        (with_field(kind="name", levels=[float("nan"), 1]), "fields[5].levels[0]", ".nan"),
        (with_field(kind="name", clean=["case", "case"]), "fields[5].clean", "twice"),
        (with_field(kind="name", clean="case"), "fields[5].clean", "must be a list"),
        (with_field(kind="code", stop_words=["st"]), "fields[5].stop_words", "add stop_words to clean"),
        (
            with_field(kind="text", stop_words=["st"], clean=["stop_words", "leading_zeros"]),
            "fields[5].clean",
            "cannot be combined",
        ),
        (with_field(kind="number", clean=["digits"]), "fields[5].clean", "not allowed for a number"),
        (with_field(kind="date"), "fields[5].date", "never guessed"),
        (with_field(kind="date", date={"parts": ["year"]}), "fields[5].date.order", "is missing"),
        (with_field(kind="date", date={"order": "ydm"}), "fields[5].date.order", "ymd, dmy or mdy"),
        (with_field(kind="date", date={"order": "ymd", "parts": []}), "fields[5].date.parts", "too few"),
        (with_field(kind="name", date={"order": "ymd"}), "fields[5].date", "only a date"),
        (with_field(kind="name", tokens="date_parts"), "fields[5].tokens", "only a date"),
        (with_field(kind="name", tokens="trigrams"), "fields[5].tokens", "bigrams"),
        (with_field(kind="name", column="a", columns={"alice": "a", "bob": "b"}), "fields[5].columns", "both given"),
        (with_field(kind="name", columns={"alice": "a"}), "fields[5].columns.bob", "is missing"),
        (with_field(kind="name", key_domain="sex"), "fields[5].key_domain", "other tokens"),
        (with_field(kind="code", key_domain="postcode"), "fields[5].key_domain", "other bits, got 1024 beside 512"),
        (with_field(kind="name", name="SEX"), "fields[5].name", "taken by fields[4]"),
        (with_field(kind="name", name="a b"), "fields[5].name", "letters, digits"),
        (with_field(name="x"), "fields[5].kind", "is missing"),
        (with_rule(keys=[{"field": "surnam"}]), "blocking[2].keys[0].field", "did you mean surname?"),
        (with_rule(keys=[{"field": "surname", "part": "year"}]), "blocking[2].keys[0].part", "only a date has parts"),
        (with_rule(keys=[{"field": "sex", "prefix": 1}]), "blocking[2].keys[0].prefix", "a category has no prefix"),
        (with_rule(keys=[{"field": "date_of_birth", "prefix": 4}]), "blocking[2].keys[0].prefix", "`part` instead"),
        (with_rule(keys=[{"field": "surname", "prefix": 0}]), "blocking[2].keys[0].prefix", "got 0"),
        (with_rule(keys=[{"field": "surname"}, {"field": "surname"}]), "blocking[2].keys[1]", "already"),
        (with_rule(keys=[{"field": "surname"}], name="Born"), "blocking[2].name", "taken by blocking[0]"),
        (
            with_rule(keys=[{"field": "postcode"}, {"field": "surname", "prefix": 3}]),
            "blocking[2].keys",
            "blocking[1] has the same keys",
        ),
    ],
)
def test_an_issue_is_named_by_its_path_with_a_remedy(text: str, where: str, what: str) -> None:
    refuse_at(text, where, what)


def test_a_part_that_is_not_compared_blocks_nothing() -> None:
    fields = [{"name": "born", "kind": "date", "date": {"order": "ymd", "parts": ["year"]}}]
    rules = [{"name": "month", "keys": [{"field": "born", "part": "month"}]}]
    assert "born has no such part" in "".join(refuse(changed(fields=fields, blocking=rules)))


def test_at_most_as_many_rules_as_a_mask_has_bits() -> None:
    rules = [{"name": f"r{n}", "keys": [{"field": "surname", "prefix": n}]} for n in range(1, 34)]
    assert len(load_specification(changed(blocking=rules[:32])).blocking) == 32
    assert "at most 32 rules" in "".join(refuse(changed(blocking=rules)))


def test_patterns_must_fit_into_64_bits() -> None:
    fields = [{"name": f"f{n}", "kind": "name"} for n in range(20)]
    assert len(load_specification(changed(fields=fields[:19], blocking=[])).fields) == 19
    assert "more comparison patterns than fit" in "".join(refuse(changed(fields=fields, blocking=[])))
    fields = [{"name": f"f{n}", "kind": "name"} for n in range(1000)]
    assert "from 1000 fields" in "".join(refuse(changed(fields=fields, blocking=[])))


def test_fields_of_one_key_domain_that_agree_are_accepted() -> None:
    spec = load_specification(with_field(kind="name", key_domain="given"))
    assert spec.fields[1].key_domain == spec.fields[5].key_domain


def test_a_specification_made_in_python_is_checked_too() -> None:
    data = yaml.safe_load(EXAMPLE)
    data["blocking"] = [{"name": "x", "keys": [{"field": "unknown"}]}]
    data["model"]["tolerance"] = 1e-8
    data["fields"][0]["missing"] = ["x"]
    with pytest.raises(GemelErrors, match="no compared field has this name"):
        Specification.model_validate(data)


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "linkage.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + EXAMPLE.encode())
    assert read_specification(path) == load_specification(EXAMPLE)
    path.write_bytes(EXAMPLE.encode("utf-16"))
    with pytest.raises(GemelError, match="UTF-8"):
        read_specification(path)
    path.write_bytes(b"#" * 300_000)
    with pytest.raises(GemelErrors, match="at most 262144 bytes"):
        read_specification(path)
    with pytest.raises(GemelError, match="cannot be read, got no such file"):
        read_specification(tmp_path / "absent.yaml")


@pytest.mark.parametrize(
    ("links", "minimum", "rate"),
    [
        ({}, None, None),
        ({"threshold": 0.9}, 0.9, None),
        ({"cost": {"false_link": 3, "missed_match": 1}}, 0.75, None),
        ({"false_link_rate": 0.01, "assignment": "greedy"}, None, 0.01),
        ({"assignment": "many_to_one", "threshold": None}, None, None),
        ({"assignment": "one_to_many", "threshold": 0.5}, 0.5, None),
    ],
)
def test_what_decides_how_probable_a_link_must_be(links, minimum, rate) -> None:
    spec = read_back(changed(links=links))
    assert (spec.links.min_probability, spec.links.false_link_rate) == (minimum, rate)


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ({"threshold": 0.5, "false_link_rate": 0.01}, "at most one of threshold, false_link_rate, cost decides"),
        ({"cost": {"false_link": -1, "missed_match": 1}}, "links.cost.false_link"),
        ({"cost": {"false_link": 1}}, "links.cost.missed_match"),
        ({"false_link_rate": 1.5}, "links.false_link_rate"),
        ({"assignment": "best"}, "links.assignment"),
    ],
)
def test_decisions_that_make_no_sense_are_refused(links, message) -> None:
    refuse(changed(links=links), message)


def test_rules_that_carole_forms_from_signatures() -> None:
    rules = [
        {"name": "alike", "lsh": {"field": "surname", "bands": 10, "bits": 12}, "limit": 1000},
        {"name": "canopies", "canopies": {"field": "surname", "tight": 0.9, "loose": 0.6}},
        {"name": "tree", "similar": {"field": "surname", "minimum": 0.8}},
        {"name": "keyed", "keys": [{"field": "sex"}], "limit": 50, "split": "surname"},
    ]
    spec = read_back(changed(blocking=rules))
    assert [rule.fields for rule in spec.blocking] == [("surname",)] * 3 + [("sex", "surname")]
    assert [rule.name for rule in spec.keyed_rules] == ["keyed"]


@pytest.mark.parametrize(
    ("rule", "where", "what"),
    [
        ({}, "blocking[2].keys", "too few entries"),
        ({"keys": [{"field": "sex"}], "similar": {"field": "sex"}}, "blocking[2]", "exactly one of"),
        ({"lsh": {"field": "surnam"}}, "blocking[2].lsh.field", "did you mean surname?"),
        ({"lsh": {"field": "surname", "bands": 200, "bits": 16}}, "blocking[2].lsh", "need 3200 bits"),
        ({"lsh": {"field": "surname", "bits": 64}}, "blocking[2].lsh.bits", "less than or equal to 63"),
        ({"canopies": {"field": "surname", "tight": 0.4, "loose": 0.6}}, "blocking[2].canopies", "tight must not"),
        ({"similar": {"field": "surname", "minimum": 1.5}}, "blocking[2].similar.minimum", "less than or equal to 1"),
        ({"similar": {"field": "surname"}, "split": "sex"}, "blocking[2].split", "only the blocks of keys"),
        ({"keys": [{"field": "sex"}], "split": "unknown"}, "blocking[2].split", "no compared field"),
        ({"keys": [{"field": "sex"}], "limit": 0}, "blocking[2].limit", "greater than or equal to 1"),
    ],
)
def test_rules_that_make_no_sense_are_refused(rule: dict[str, Any], where: str, what: str) -> None:
    assert len(refuse_at(with_rule(**rule), where, what)) == 1


def test_fields_that_may_be_exchanged() -> None:
    data = yaml.safe_load(EXAMPLE)
    pair = [{"name": name, "kind": "name", "key_domain": "names"} for name in ("first", "last")]
    spec = read_back(changed(fields=[*data["fields"], *pair], swaps=[["first", "last"]]))
    assert spec.swaps == (("first", "last"),)
    apart = changed(fields=[*data["fields"], pair[0], {"name": "last", "kind": "name"}], swaps=[["first", "last"]])
    assert "must share a key domain, got names and last" in refuse(apart)[0]
    assert "no compared field" in refuse(changed(fields=[*data["fields"], *pair], swaps=[["first", "lost"]]))[0]
    twice = changed(fields=[*data["fields"], *pair], swaps=[["first", "last"], ["last", "first"]])
    assert all("one other only" in issue for issue in refuse(twice))
    assert "swaps[0]" in refuse(changed(swaps=[["surname"]]))[0]


def test_a_field_of_several_columns() -> None:
    spec = read_back(with_field(kind="text", column=["number", "street"]))
    assert spec.field("extra").columns_of(Side.BOB) == ("number", "street")
    assert spec.field("extra").column_of(Side.BOB) == "number + street"
    mixed = read_back(with_field(kind="text", columns={"alice": ["number", "street"], "bob": "address"}))
    assert mixed.field("extra").columns_of("alice") == ("number", "street")
    assert mixed.field("extra").columns_of("bob") == ("address",)
    assert "fields[5].column" in refuse(with_field(kind="text", column=[]))[0]
