"""Drafted rules stand what they were chosen for: a move, a marriage, a wrong date; and what is imagined is stated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import pytest

from gemel.common.parties import Side
from gemel.common.specification import BlockingKey, BlockingRule, Specification
from gemel.common.specification.model.defaults import Mode
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.draft.blocking_rules import count_pairs, key_columns, propose_rules
from gemel.coordinator.draft.imagined_matches import ROWS, Describes, ImaginedMatches
from gemel.coordinator.draft.specification_draft import draft
from gemel.custodian.cleaning.columns import clean

N = 1_500


def files(*dropped: str, **added: pl.Expr) -> tuple[pl.DataFrame, pl.DataFrame]:
    alice, bob = two_files(N, N, 700, 0.1, np.random.default_rng(1))
    both = [frame.with_columns(**added).drop(TRUTH, *dropped) for frame in (alice, bob)]
    return both[0], both[1]


def drafted(alice: pl.DataFrame, bob: pl.DataFrame, mode: Mode = "open") -> Specification:
    return draft(alice, bob, "people", True, mode).specification


def compared(spec: Specification, own: Mapping[str, pl.Series], other: Mapping[str, pl.Series]) -> float:
    """Share of the rows that some rule compares with the same row of another file."""
    found = np.zeros(len(next(iter(own.values()))), dtype=np.bool_)
    for rule in spec.keyed_rules:
        keys = zip(key_columns(rule, own), key_columns(rule, other), strict=True)
        found |= np.all([(one == two).fill_null(value=False).to_numpy() for one, two in keys], axis=0)
    return float(found.mean())


def kept(spec: Specification, file: pl.DataFrame, changed: Describes) -> float:
    """Share of a file's records that are compared with themselves once all that describes this is another's."""
    own = clean(file, spec, Side.ALICE).columns
    described = [field.name for field in spec.fields if field.describes == changed]
    return compared(spec, own, {**own, **{name: own[name].shift(1) for name in described}})


YEAR = pl.col("date_of_birth").str.slice(0, 4)


@pytest.mark.parametrize("mode", ["open", "block_keyed"])
@pytest.mark.parametrize(
    ("dropped", "added"),
    [
        ((), {}),
        (("date_of_birth",), {"year_of_birth": YEAR}),
        (("date_of_birth",), {}),
        (
            ("date_of_birth",),
            {
                "birth_year": YEAR,
                **{f"birth_{p}": pl.col("date_of_birth").str.slice(at, 2) for p, at in (("month", 5), ("day", 8))},
            },
        ),
    ],
    ids=["date", "year", "no birth", "three columns"],
)
def test_rules_stand_a_move_and_a_marriage(mode: Mode, dropped: Sequence[str], added: Mapping[str, pl.Expr]) -> None:
    alice, bob = files(*dropped, **added)
    spec = drafted(alice, bob, mode)
    assert kept(spec, alice, "household") > 0.9
    assert kept(spec, alice, "family") > 0.9
    describes = {field.name: field.describes for field in spec.fields}
    used = [{describes[name] for name in rule.fields} for rule in spec.blocking]
    assert any("household" not in each for each in used)
    assert any("family" not in each for each in used)


def test_a_year_of_birth_is_used_with_a_name() -> None:
    alice, bob = two_files(6_000, 6_000, 3_000, 0.1, np.random.default_rng(2))
    columns = "record_id", "given_name", "surname", "sex", "postcode", YEAR.alias("year_of_birth")
    spec = drafted(alice.select(columns), bob.select(columns))
    born = [set(rule.fields) for rule in spec.blocking if "year_of_birth" in rule.fields]
    assert any(fields & {"given_name", "surname"} and "postcode" not in fields for fields in born)


def test_a_lone_date_and_a_date_that_is_wrong_in_a_part_are_used() -> None:
    alice, bob = files("given_name", "surname", "street", "postcode", "phone")
    spec = drafted(alice, bob)
    assert any("date_of_birth" in rule.fields for rule in spec.blocking)
    alice, bob = files()
    wrong = alice.with_columns(date_of_birth=pl.lit("1950") + pl.col("date_of_birth").str.slice(4))
    spec = drafted(alice, bob)
    assert compared(spec, *(clean(file, spec, Side.ALICE).columns for file in (alice, wrong))) > 0.8


def test_initials_block_with_what_else_there_is() -> None:
    initial = {name: pl.col(name).str.slice(0, 1) for name in ("given_name", "surname")}
    spec = drafted(*files("street", "phone", "postcode", **initial))
    assert spec.blocking
    assert any(len(rule.keys) > 1 for rule in spec.blocking)


def test_the_same_files_give_the_same_rules_within_their_limits() -> None:
    alice, bob = files()
    spec = drafted(alice, bob)
    assert drafted(alice, bob) == spec
    cleaned = [dict(clean(file, spec, side).columns) for side, file in zip(Side, (alice, bob), strict=True)]
    for pairs_per_row in (10, 1):
        proposals = propose_rules(spec.fields, *cleaned, pairs_per_row=pairs_per_row)
        assert all(p.pairs == count_pairs(p.rule, *cleaned) <= pairs_per_row * N for p in proposals)
        assert sum(p.pairs for p in proposals) <= 2 * pairs_per_row * N


def rule(*fields: str) -> BlockingRule:
    return BlockingRule.model_validate({"name": "-".join(fields), "keys": tuple({"field": field} for field in fields)})


def test_what_changes_together_is_imagined_together() -> None:
    alice, bob = files()
    spec = drafted(alice, bob)
    describes = {field.name: field.describes for field in spec.fields}
    assert {describes[name] for name in ("postcode", "street", "phone")} == {"household"}
    assert [describes[name] for name in ("given_name", "surname", "date_of_birth", "sex")] == [
        "name", "family", "birth", "trait",
    ]  # fmt: skip
    cleaned = [clean(file, spec, side).columns for side, file in zip(Side, (alice, bob), strict=True)]
    imagined = ImaginedMatches(spec.fields, cleaned[0], cleaned[1])
    assert imagined.count == min(N, ROWS // 2) * 2
    found = {name: imagined.found_by([rule(name)]) for name in ("postcode", "street", "sex", "date_of_birth")}
    together = (found["postcode"] & found["street"]).mean()
    assert together > found["postcode"].mean() * found["street"].mean() + 0.05
    # Of two parts of a date one is right where the other is wrong.
    parts = [imagined.agreeing(BlockingKey(field="date_of_birth", part=part)) for part in ("year", "month", "day")]
    assert np.all(parts, axis=0).mean() <= found["date_of_birth"].mean() < min(part.mean() for part in parts)


def test_what_rules_lose_and_what_a_field_is_worth() -> None:
    alice, bob = files()
    spec = drafted(alice, bob)
    cleaned = [clean(file, spec, side).columns for side, file in zip(Side, (alice, bob), strict=True)]
    imagined = ImaginedMatches(spec.fields, cleaned[0], cleaned[1])
    rules = list(spec.blocking)
    assert imagined.lost(rules, rules) == imagined.lost([], rules) == 0.0
    assert imagined.lost(rules, []) == 1.0
    assert all(0 < imagined.lost(rules, [each]) < 1 for each in rules)
    # Half of the people are of each sex: one bit.
    assert abs(imagined.bits_of("sex") - 1) < 0.05
    assert imagined.bits_of("date_of_birth") > 11
