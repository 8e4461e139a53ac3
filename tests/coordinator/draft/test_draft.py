"""The drafted specification: what it makes of columns, what it leaves out, and that it links well as it comes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import gemel
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.specification import BlockingKey, BlockingRule, Specification, load_specification, specification_notes
from gemel.common.specification.model.defaults import Mode
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.draft.blocking_rules import count_pairs
from gemel.coordinator.draft.specification_draft import ALL_PAIRS, draft, drafted_mode
from gemel.coordinator.draft.specification_text import dump_specification
from gemel.coordinator.truth_columns import Truth
from gemel.custodian.cleaning.columns import clean
from tests.carole.refusals import refusal

N = 400
FIRST = ["anna", "bert", "carla", "dirk", "emma", "frank", "gina", "hugo", "ida", "jan", "karl", "lena", "moritz"]
LAST = [
    a + b for a in ("berg", "stein", "wald", "feld", "bach") for b in ("mann", "er", "hof", "ner", "ing", "au", "heim")
]


def people(seed: int, **extra: list[Any]) -> pl.DataFrame:
    """A small file of people; the same seed gives the same people, in the same order."""
    draw = np.random.default_rng(seed)
    days = [f"{draw.integers(1930, 2010)}-{draw.integers(1, 13):02d}-{draw.integers(1, 29):02d}" for _ in range(N)]
    columns: dict[str, Any] = {
        "id": [f"r{n}" for n in draw.permutation(10 * N)[:N]],
        "given_name": draw.choice(FIRST, N).tolist(),
        "surname": draw.choice(LAST, N).tolist(),
        "dob": days,
        "sex": draw.choice(["f", "m"], N).tolist(),
        "postcode": draw.integers(1000, 1060, N).astype(str).tolist(),
        "address": [f"{draw.integers(1, 90)} {draw.choice(LAST)} street" for _ in range(N)],
    }
    return pl.DataFrame({**columns, **extra})


def drafted(alice: pl.DataFrame, bob: pl.DataFrame, block: bool | None = None) -> tuple[Specification, str]:
    """A draft and its text, which reads back the same."""
    spec, comments, _ = draft(alice, bob, "test", block)
    text = dump_specification(spec, comments)
    assert load_specification(text) == spec
    return spec, text


def kinds(spec: Specification) -> dict[str, str]:
    return {field.name: field.kind for field in spec.fields}


def comment(text: str) -> str:
    return " ".join(line.strip().lstrip("# ") for line in text.splitlines() if line.strip().startswith("#"))


def test_kinds_by_names_and_values() -> None:
    spec, text = drafted(people(1), people(2))
    assert kinds(spec) == {
        "given_name": "name",
        "surname": "name",
        "dob": "date",
        "sex": "category",
        "postcode": "code",
        "address": "text",
    }
    assert spec.field("dob").date is not None
    assert spec.field("dob").date.order == "ymd"  # type: ignore[union-attr]
    assert spec.custodians.alice.identifier == spec.custodians.bob.identifier == "id"
    assert spec.blocking == ()
    assert "Left out: id" in comment(text)
    assert text.count("    kind:") == 6


def test_kinds_by_values_alone() -> None:
    bland = dict(zip(people(1).columns, ("a0", "a1", "a2", "a3", "a4", "a5", "a6"), strict=True))
    ages = [str(n % 97) for n in range(N)]
    phones = [f"04{n * 79190 % 10**8:08d}" for n in range(N)]
    plates = [f"{'abcdefgh'[n % 8]}{n * 31 % 1000:03d}x" for n in range(N)]
    alice, bob = (people(seed, a7=ages, a8=phones, a9=plates).rename(bland) for seed in (1, 2))
    assert kinds(drafted(alice, bob)[0]) == {
        "a1": "category",  # thirteen first names: compared as wholes
        "a2": "name",
        "a3": "date",
        "a4": "category",
        "a5": "code",
        "a6": "text",
        "a7": "number",
        "a8": "code",
        "a9": "code",
    }


@pytest.mark.parametrize(
    ("written", "order"),
    [("%d/%m/%Y", "dmy"), ("%m/%d/%Y", "mdy"), ("%d%m%Y", "dmy"), ("%Y%m%d", "ymd"), ("%-d.%-m.%Y", "dmy")],
)
def test_date_orders(written: str, order: str) -> None:
    frame = people(1).with_columns(pl.col("dob").str.to_date().dt.strftime(written))
    spec, text = drafted(frame, frame)
    date = spec.field("dob").date
    assert date is not None
    assert date.order == order
    assert "CHECK THE ORDER" not in text


def test_one_file_in_iso_takes_the_order_of_the_other() -> None:
    bob = people(1).with_columns(pl.col("dob").str.to_date().dt.strftime("%d/%m/%Y"))
    for alice in (people(1), people(1).with_columns(pl.col("dob").str.to_date())):
        date = drafted(alice, bob)[0].field("dob").date
        assert date is not None
        assert date.order == "dmy"


def test_a_doubtful_order_is_noted_and_files_may_have_two() -> None:
    days = [f"{1 + n % 12}/{1 + n % 11}/{1940 + n % 60}" for n in range(N)]
    _, text = drafted(people(1, dob=days), people(2, dob=days))
    assert "CHECK THE ORDER: every value can be read as dmy and as mdy" in comment(text)
    alice = people(1).with_columns(pl.col("dob").str.to_date().dt.strftime("%d/%m/%Y"))
    bob = people(1).with_columns(pl.col("dob").str.to_date().dt.strftime("%m/%d/%Y"))
    spec, text = drafted(alice, bob)
    assert [spec.field("dob").date.order_of(side) for side in Side] == ["dmy", "mdy"]  # type: ignore[union-attr]
    assert "order: {alice: dmy, bob: mdy}" in text
    assert "CHECK THE ORDER" not in text
    one, other = (clean(file, spec, side).columns["dob"] for file, side in ((alice, Side.ALICE), (bob, Side.BOB)))
    assert one.equals(other)


@pytest.mark.parametrize("born", [(1930, 2010), (1921, 1946)])
def test_years_of_two_digits_are_read_as_the_other_file_has_them(born: tuple[int, int]) -> None:
    days = [f"{born[0] + n % (born[1] - born[0])}-{1 + n % 12:02d}-{1 + n % 28:02d}" for n in range(N)]
    alice = people(1, dob=days)
    bob = alice.with_columns(pl.col("dob").str.to_date().dt.strftime("%d.%m.%y"))
    spec, text = drafted(alice, bob)
    latest = spec.field("dob").date.latest_year  # type: ignore[union-attr]
    assert latest is not None
    assert latest >= born[1] - 1
    assert f"Years of two digits are no later than {latest}, and later dates are not read." in comment(text)
    one, other = (clean(file, spec, side).columns["dob"] for file, side in ((alice, Side.ALICE), (bob, Side.BOB)))
    assert one.equals(other)
    alone = drafted(bob, bob)
    assert "not read: CHECK." in comment(alone[1])


def test_dates_in_the_future_are_not_read() -> None:
    future = people(1).with_columns(
        pl.when(pl.int_range(N) % 4 == 0).then(pl.lit("2965-03-12")).otherwise("dob").alias("dob")
    )
    spec, text = drafted(future, people(2))
    assert "later dates are not read." in comment(text)
    assert clean(future, spec, Side.ALICE).columns["dob"].null_count() == N // 4
    assert drafted(people(1), people(2))[0].field("dob").date.latest_year is None  # type: ignore[union-attr]


def test_columns_match_but_for_case_blanks_and_punctuation() -> None:
    alice = people(1).rename({"given_name": "Given Name", "surname": "SURNAME", "dob": "dateOfBirth", "sex": "sex "})
    bob = people(2).rename({"surname": "Last-Name", "dob": "date_of_birth", "postcode": "ZIP"})
    spec, text = drafted(alice, bob)
    assert list(kinds(spec)) == ["given_name", "surname", "date_of_birth", "sex", "postcode", "address"]
    assert [spec.field("given_name").column_of(side) for side in Side] == ["Given Name", "given_name"]
    assert [spec.field("surname").column_of(side) for side in Side] == ["SURNAME", "Last-Name"]
    assert [spec.field("sex").column_of(side) for side in Side] == ["sex ", "sex"]
    assert "postcode and ZIP seem to mean the same: check." in comment(text)
    assert "SURNAME and Last-Name seem to mean the same" in comment(text)
    clean(alice, spec, Side.ALICE)
    clean(bob, spec, Side.BOB)


def test_columns_that_do_not_help_are_left_out_with_the_reason() -> None:
    extra: dict[str, list[Any]] = {
        "country": ["nl"] * N,
        "middle_name": ["x"] + [None] * (N - 1),
        "row_number": [str(n) for n in range(N)],
        "counter": [str(n) for n in range(5000, 5000 + N)],
        "created_at": ["2024-01-01"] * (N - 1) + ["2024-01-02"],
        "notes": ["word " * 60 + str(n % 50) for n in range(N)],
        "tags": [["a"]] * N,
    }
    alice = people(1, **extra).with_columns(localcode=pl.Series([f"A{n % 60}" for n in range(N)]), colour=pl.lit("x"))
    bob = people(2, **extra).with_columns(localcode=pl.Series([f"B{n % 60}" for n in range(N)]))
    spec, text = drafted(alice, bob)
    assert set(kinds(spec)) == {"given_name", "surname", "dob", "sex", "postcode", "address"}
    comments = comment(text)
    for reason in (
        "Left out: country: all rows of a file have the same value.",
        "Left out: middle_name: nearly empty, 0% and 0% of the rows",
        "Left out: row_number: looks like a custodian's own number; add it",
        "Left out: counter: a running number",
        "Left out: created_at: is the time at which a row was written",
        "Left out: notes: long texts.",
        "Left out: tags: holds no single values.",
        "Left out: localcode: no value of it occurs in both files.",
        "Only in alice's file: colour.",
    ):
        assert reason in comments or "row_number" in reason, reason
    assert "row_number" in comments


def test_a_number_that_people_carry_is_compared() -> None:
    numbers = [str(100_000_000 + n * 7919) for n in range(N)]
    spec, _ = drafted(people(1, soc_sec_id=numbers), people(2, soc_sec_id=numbers[::-1]))
    assert kinds(spec)["soc_sec_id"] == "code"
    assert spec.custodians.alice.identifier == "id"


def test_no_value_gets_into_the_specification_or_its_comments() -> None:
    planted = ["Zyxwright", "Quagmoor", "1961-07-23", "97531", "xq"]
    rows = {
        "surname": planted[0],
        "address": f"7 {planted[1]} lane",
        "dob": planted[2],
        "postcode": planted[3],
        "sex": planted[4],
    }
    often = pl.int_range(pl.len()) % 2 == 0
    frames = []
    for frame in (people(1), people(2)):
        frames.append(
            frame.with_columns(pl.when(often).then(pl.lit(v)).otherwise(pl.col(c)).alias(c) for c, v in rows.items())
        )
    for block in (False, True):
        _, text = drafted(frames[0], frames[1], block)
        assert not [value for value in planted if value.lower() in text.lower()]
        values = {str(v) for frame in frames for c in ("surname", "given_name", "dob", "address") for v in frame[c]}
        words = set(re.findall(r"[a-z]{4,}|\d{4}-\d\d-\d\d", text.lower()))
        assert not values & words


def test_blocking_is_proposed_when_there_are_too_many_pairs_or_it_is_asked_for() -> None:
    few = people(1)
    assert "No rules: all 160,000 pairs are compared" in comment(drafted(few, few)[1])
    spec, text = drafted(few, few, True)
    assert any("dob" in rule.fields for rule in spec.blocking)
    assert len(spec.blocking) >= 2
    assert all(re.search(rf"# [\d,]+ pairs\.\n  - name: {rule.name}\n", text) for rule in spec.blocking)
    repeat = int((ALL_PAIRS / N**2) ** 0.5) + 1
    large = pl.concat([few] * repeat).with_columns(id=pl.int_range(N * repeat).cast(pl.String))
    assert drafted(large, large)[0].blocking
    assert not drafted(large, large, False)[0].blocking


def test_blocking_rules_are_not_all_on_one_field() -> None:
    alice, bob = (
        people(1).drop("dob", "address").with_columns(band=pl.Series([str(n % 20) for n in range(N)])) for _ in "ab"
    )
    spec, _ = drafted(alice, bob, True)
    fields = [set(rule.fields) for rule in spec.blocking]
    assert len(fields) > 1
    assert not set.intersection(*fields)
    assert any(one.isdisjoint(other) for one in fields for other in fields)


def test_no_rule_lies_within_another() -> None:
    spec, _ = drafted(people(1), people(2), True)
    keys = [{(key.field, key.prefix, key.part) for key in rule.keys} for rule in spec.blocking]
    assert not [1 for one in keys for other in keys if one < other]
    assert len({rule.name for rule in spec.blocking}) == len(spec.blocking)


def test_categories_alone_can_block() -> None:
    alice, bob = (
        people(seed, team=[str(n % 5) for n in range(N)]).select(
            "id", "sex", "team", band=pl.col("postcode").str.slice(3)
        )
        for seed in (1, 2)
    )
    spec, text = drafted(alice.select("id", "sex", "band", "team"), bob, True)
    assert [rule.name for rule in spec.blocking] == ["band-team"]
    assert "agree on the keys of at least one rule" in comment(text)


@pytest.mark.parametrize(
    ("alice", "bob", "code", "what"),
    [
        (people(1).head(0), people(1), ErrorCode.EMPTY_SOURCE, "alice's file"),
        (people(1), people(1).clear(), ErrorCode.EMPTY_SOURCE, "bob's file"),
        (people(1).drop("id"), people(1), ErrorCode.SPECIFICATION, "no column identifies the rows"),
        (people(1).select("id"), people(1), ErrorCode.SPECIFICATION, "share no column"),
        (people(1).select("id", a="sex"), people(1), ErrorCode.SPECIFICATION, "share no column"),
    ],
)
def test_files_that_give_no_draft(alice: pl.DataFrame, bob: pl.DataFrame, code: ErrorCode, what: str) -> None:
    with refusal(code, what):
        draft(alice, bob, "test")


def test_a_draft_of_mode_block_keyed_has_rules_and_says_what_the_mode_is() -> None:
    alice, bob = people(1), people(2)
    spec, comments, _ = draft(alice, bob, "test", mode="block_keyed")
    assert spec.mode == "block_keyed"
    assert spec.blocking
    assert all(rule.keys for rule in spec.blocking)
    assert "inside a block" in comments["mode"]
    assert load_specification(dump_specification(spec, comments)) == spec
    # Left to itself, it is the mode of whatever is blocked, and of nothing else.
    assert draft(alice, bob, "test", True, None)[0] == spec
    assert draft(alice, bob, "test", False, None)[0].mode == "open"
    with pytest.raises(GemelError, match="needs blocking rules"):
        draft(alice, bob, "test", block=False, mode="block_keyed")


def test_a_draft_of_mode_shared_is_that_of_mode_block_keyed_and_names_who_computes() -> None:
    alice, bob = people(1), people(2)
    spec, comments, _ = draft(alice, bob, "test", mode="shared")
    assert spec.mode == "shared"
    separate = draft(alice, bob, "test", mode="block_keyed")[0]
    assert (spec.fields, spec.blocking) == (separate.fields, separate.blocking)
    text = dump_specification(spec, comments)
    assert "compute: {coordinator: coordinator, steward: steward}" in text
    assert load_specification(text) == spec
    assert "compute" not in draft(alice, bob, "test", mode="block_keyed")[1]
    with pytest.raises(GemelError, match="mode shared needs blocking rules"):
        draft(alice, bob, "test", block=False, mode="shared")
    with pytest.raises(GemelError, match="a draft is of mode open, block_keyed or shared, got trusted"):
        drafted_mode("trusted", "mode")


def test_no_block_is_made_of_the_beginnings_of_names_alone_where_blocks_hide_them() -> None:
    def keys(frame: pl.DataFrame, mode: Mode) -> list[set[tuple[str, int | None, str | None]]]:
        spec, *_ = draft(frame, frame, "test", True, mode)
        return [{(key.field, key.prefix, key.part) for key in rule.keys} for rule in spec.keyed_rules]

    beginnings = {("given_name", 3, None), ("surname", 3, None)}
    wholes = {("given_name", None, None), ("surname", None, None)}

    def beginning(rule: set[tuple[str, int | None, str | None]]) -> bool:
        return {field for field, *_ in rule} <= {"given_name", "surname", "sex"} and bool(rule & beginnings)

    assert any(map(beginning, keys(people(1).drop("dob"), "open")))
    found = keys(people(1), "block_keyed")
    assert any(rule & beginnings for rule in found), "joined by something else"
    assert not any(map(beginning, found))
    found = keys(people(1).drop("dob"), "block_keyed")
    assert wholes in found, "nothing to join them by: as wholes only"
    assert not any(map(beginning, found))
    alone = people(1).drop("dob", "postcode", "address").with_columns(team=pl.Series([str(n % 9) for n in range(N)]))
    assert not [rule for rule in keys(alone, "block_keyed") if any(prefix for _, prefix, _ in rule)]


def test_names_block_with_the_year_of_birth_in_a_column_of_its_own_and_without_the_middle_name() -> None:
    frame = people(1).with_columns(geburtsjahr=pl.col("dob").str.slice(0, 4), admitted=pl.col("dob").reverse())
    frame = frame.select("id", "given_name", pl.lit("x").alias("pad"), "surname", "geburtsjahr", "admitted", "sex")
    middle = [first if n % 3 else None for n, first in enumerate(frame["given_name"].reverse())]
    frame = frame.insert_column(2, pl.Series("second_name", middle))
    spec, *_ = draft(frame, frame, "test", True, "block_keyed")
    rules = [{(key.field, key.prefix, key.part) for key in rule.keys} for rule in spec.keyed_rules]
    assert any({("given_name", n, None), ("geburtsjahr", None, None)} <= rule for rule in rules for n in (3, None))
    assert "second_name" not in {key.field for rule in spec.keyed_rules for key in rule.keys}


def test_names_that_are_too_common_do_not_block_by_themselves() -> None:
    few = {"given_name": ["anna", "bert"] * (N // 2), "surname": ["berg", "feld"] * (N // 2)}
    spec, *_ = draft(people(1, **few), people(1, **few), "test", True, "block_keyed")
    names = [{key.field for key in rule.keys} for rule in spec.keyed_rules]
    assert any("dob" in rule for rule in names)
    assert not any(rule <= {"given_name", "surname"} for rule in names)


def test_one_name_blocks_with_the_year_of_birth() -> None:
    frame = people(1).drop("given_name")
    for mode in ("open", "block_keyed"):
        rules = [
            {(k.field, k.prefix, k.part) for k in r.keys} for r in draft(frame, frame, "t", True, mode)[0].blocking
        ]  # type: ignore[arg-type]
        assert {("surname", 3, None), ("dob", None, "year")} in rules


def test_the_truth_is_kept_out() -> None:
    # Digits of one length would be compared as a code, and block; unique, they would be the identifier.
    persons = [str(70_000_000 + 7919 * n) for n in range(N)]
    alice, bob = (people(seed, person=persons).select("person", *people(1).columns) for seed in (1, 2))
    assert drafted(alice, bob)[0].field("person").kind == "code", "without the option it is compared"
    spec, comments, _ = draft(alice, bob.rename({"person": "who"}), "test", True, truth=Truth("person", "who"))
    text = dump_specification(spec, comments)
    assert [
        column for field in spec.fields for side in Side for column in field.columns_of(side) if "person" in column
    ] == []
    assert spec.custodians.alice.identifier == "id"
    assert "Left out: person and who: names the person." in comment(text)
    assert "70" not in "".join(rule.name for rule in spec.blocking)
    Truth("person", "who").require_unused(spec)
    with refusal(ErrorCode.FIELD_MISSING, "bob's file: there is no column 'who', got columns person, id"):
        draft(alice, bob, "test", truth=Truth("person", "who"))


@pytest.mark.parametrize("columns", [["sex"], ["sex", "surname"]])
def test_too_few_fields_are_refused_before_the_engine_does(columns: list[str]) -> None:
    with refusal(ErrorCode.NOT_IDENTIFIED, "not identifiable from"):
        draft(people(1).select("id", *columns), people(2).select("id", *columns), "test")


def test_an_unknown_year_joins_no_records() -> None:
    alice, bob = ({"born": pl.Series(["00000501", "19800501", None])} for _ in "ab")
    rule = BlockingRule(name="year", keys=(BlockingKey(field="born", part="year"),))
    assert count_pairs(rule, alice, bob) == 1


def test_a_file_against_itself_is_noticed_and_drafted() -> None:
    frame = people(1)
    for other in (frame, frame.reverse().rename({"surname": "Nachname"}).with_columns(id=pl.int_range(N))):
        assert "BOTH FILES HOLD THE SAME RECORDS" in comment(drafted(frame, other)[1])
    for other in (people(2), frame.head(N - 1), frame.with_columns(sex=frame["sex"].shift(1, fill_value="f"))):
        assert "BOTH FILES" not in drafted(frame, other)[1]


def test_a_small_file_against_a_large_one() -> None:
    large = pl.concat([people(seed) for seed in range(2, 102)]).with_columns(id=pl.int_range(100 * N).cast(pl.String))
    for alice, bob in ((people(1), large), (large, people(1))):
        spec, *_ = draft(alice, bob, "test", True, None)
        assert kinds(spec) == kinds(drafted(people(1), people(2))[0])
        assert len(spec.blocking) >= 2


@pytest.mark.parametrize("value", [None, "", "?", " n/a "])
def test_files_without_a_value_are_refused(value: str | None) -> None:
    nothing = people(1).with_columns(pl.lit(value, dtype=pl.String).alias(c) for c in people(1).columns if c != "id")
    for alice, bob in ((nothing, nothing), (people(1), nothing)):
        with pytest.raises(GemelError, match="share no column that is worth comparing"):
            draft(alice, bob, "test")


def test_a_project_needs_a_name() -> None:
    with pytest.raises(GemelError, match="cannot be a project's name"):
        draft(people(1), people(2), "My Project")


def f1(alice: pl.DataFrame, bob: pl.DataFrame, key: str, block: bool | None) -> float:
    """F1 at the program's own decision of a draft used as it comes; true matches share the digits of `key`."""
    spec, *_ = draft(alice, bob, "test", block)
    files = [frame.with_columns(true_person=pl.col(key).str.extract(r"(\d+)")) for frame in (alice, bob)]
    return gemel.link(*files, spec, progress=lambda stage, done: None).evaluate(*files, "true_person").at_decision.f1


def read(path: Path) -> pl.DataFrame:
    frame = pl.read_csv(path, infer_schema=False)
    return frame.rename({column: column.strip() for column in frame.columns})


@pytest.mark.long
@pytest.mark.parametrize(("block", "minimum"), [(None, 0.999), (True, 0.993)])
def test_febrl4_used_as_it_comes(shared: Path, block: bool | None, minimum: float) -> None:
    alice, bob = (read(shared / f"data/febrl/dataset4{side}.csv").drop("soc_sec_id") for side in "ab")
    assert f1(alice, bob, "rec_id", block) >= minimum


@pytest.mark.parametrize("dataset", [0, 1])
@pytest.mark.parametrize(("errors", "minimum"), [(1, 0.999), (2, 0.990)])
def test_brl_sim_used_as_it_comes(shared: Path, errors: int, dataset: int, minimum: float) -> None:
    both = read(shared / f"data/brl_sim/percdups50_nerrors{errors}_dataset{dataset}.csv")
    alice, bob = (both.filter(pl.col("rec-id").str.ends_with(suffix)) for suffix in ("-org", "-dup-0"))
    for block in (None, True):
        assert f1(alice, bob, "rec-id", block) >= minimum


def test_short_and_noisy_signatures_of_names_and_texts_come_with_levels_that_they_can_tell() -> None:
    alice, bob = people(1), people(1)
    spec, comments, _ = draft(alice, bob, "test", bits=128, randomised_response=0.05)
    assert load_specification(dump_specification(spec, comments)) == spec
    for field in spec.fields:
        if field.kind in ("name", "text"):
            assert (field.bits, field.randomised_response, field.levels) == (128, 0.05, (0.2, 0.4, 0.6, 0.868, 1.0))
        else:
            assert (field.bits, field.randomised_response, field.levels) == (
                field.defaults.bits,
                0.0,
                field.defaults.levels,
            )
    short, *_ = draft(alice, bob, "test", bits=64)
    assert (short.field("surname").bits, short.field("surname").levels) == (64, "em8")
    assert draft(alice, bob, "test", bits=1024)[0] == draft(alice, bob, "test")[0]
    assert not [note for note in specification_notes(spec) if "finer" in note]


@pytest.mark.parametrize(
    ("bits", "randomised_response", "code"), [(100, 0.0, ErrorCode.PARAMETER), (64, 0.25, ErrorCode.SPECIFICATION)]
)
def test_signatures_that_cannot_be_are_refused(bits: int, randomised_response: float, code: ErrorCode) -> None:
    with refusal(code):
        draft(people(1), people(1), "test", bits=bits, randomised_response=randomised_response)


def test_rules_from_a_sample_compare_few_pairs_of_its_file() -> None:
    """Of 2,000 records three letters of both names compare .5 pairs a row, of 60,000 fifteen: they are no rule then."""
    files = two_files(2_000, 2_000, 1_000, 0.2, np.random.default_rng(1))
    alice, bob = (file.drop(TRUTH) for file in files)

    def beginnings_alone(rows: int) -> bool:
        spec, comments, _ = draft(alice, bob, "sample", True, "open", rows=rows)
        n = max(rows, 2_000)
        assert f"Of {n * n:,} pairs" in comments["blocking"]
        for position, _ in enumerate(spec.blocking):
            assert int(comments[f"blocking[{position}]"].removesuffix(" pairs.").replace(",", "")) <= 10 * n
        return any({(key.field, key.prefix) for key in rule.keys} == beginnings for rule in spec.blocking)

    beginnings = {("given_name", 3), ("surname", 3)}
    assert beginnings_alone(0)
    assert not beginnings_alone(60_000)
