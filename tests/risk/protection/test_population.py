"""Exact risk by the population, against loops over people; the policy judged by it; calibrated risk on both sides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.risk.identification.calibration.records import calibrated_risk
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.protection.changes import Levels, Methods
from gemel.risk.protection.perturbed_keys import perturbed_keys
from gemel.risk.protection.policy import Policy
from gemel.risk.protection.population import Population
from gemel.risk.protection.protected_file import protect
from gemel.risk.protection.request import Request
from tests.risk.protection.small_files import KEYS, TOWNS, people

WHOLE = pl.concat([people(150), people(850, seed=5)])
RECORDS = people(150)
REQUEST = Request(
    KEYS,
    0.15,
    Policy(k=2, max_correct_matches=0.03),
    Levels(rows={"town": (TOWNS, "town.csv")}, widths={"age": (5, 10, 20)}),
)


def generator() -> np.random.Generator:
    return np.random.default_rng(4)


PERSON = st.tuples(st.sampled_from(["f", "m"]), st.sampled_from(["a", "b", "c", None]))


@given(
    st.lists(PERSON, min_size=8, max_size=14),
    st.sampled_from(["any", "level"]),
    st.integers(0, 1),
    st.lists(st.booleans(), min_size=12, max_size=12),
    st.integers(0, 99),
)
def test_exact_risk_is_that_of_a_loop_over_people(
    others: list[tuple[str, str | None]], missing: Any, level: int, hidden: list[bool], seed: int
) -> None:
    sample = [("f", "a"), ("m", "b"), ("f", "b"), ("m", "a"), *others[:2]]
    frames = [
        pl.DataFrame({"sex": [p[0] for p in rows], "town": [p[1] for p in rows]}, schema={"sex": str, "town": str})
        for rows in (sample, [*sample, *others[2:], ("f", "z")])
    ]
    request = Request(("sex", "town"), 0.5, levels=Levels(rows={"town": (GROUPS, "t")}), missing=missing)
    table = request.table(*frames)
    perturbed = perturbed_keys(table, Methods(pram={"sex": 0.5}), None, np.random.default_rng(seed))
    changed = replace(table, codes=perturbed.codes)
    suppressed = np.array(hidden).reshape(6, 2) & (table.codes >= 0)
    whole = Population.of(table, frames[1], ("",))
    found = whole.risk(changed, (0, level), suppressed, table.codes)

    def shown(town: str | None) -> str | None:
        return None if town is None else dict(GROUPS)[town] if level else town

    chances, alone = [], 0
    for r, (sex, town) in enumerate(sample):
        published = table.hierarchies[0].levels[0][changed.codes[r, 0]]
        fits = 0
        for own_sex, own_town in frames[1].rows():
            same_sex = suppressed[r, 0] or own_sex == published
            blank = missing == "any" and (town is None or own_town is None)
            fits += same_sex and (suppressed[r, 1] or blank or shown(own_town) == shown(town))
        right = suppressed[r, 0] or published == sex
        chances.append(1 / fits if right else 0.0)
        alone += right and fits == 1
    assert found.correct_matches == pytest.approx(np.mean(chances))
    assert found.record_risk == pytest.approx(max(chances))
    assert found.population_uniques == alone


GROUPS = [["a", "south"], ["b", "south"], ["c", "north"], ["z", "north"]]


def test_over_draws_the_truth_is_what_the_matrices_say() -> None:
    """Mean of 1/F or 0 over perturbations: theta_jj / F_j at the true combinations."""
    table = REQUEST.table(RECORDS, WHOLE)
    whole = Population.of(table, WHOLE, ("",))
    methods = Methods(pram={"sex": 0.3}, swap={"town": 0.4})
    nothing, node = np.zeros(table.codes.shape, dtype=bool), (1, 0, 1)
    rng = generator()
    drawn = []
    for _ in range(300):
        perturbed = perturbed_keys(table, methods, None, rng)
        drawn.append(whole.risk(replace(table, codes=perturbed.codes), node, nothing, table.codes).correct_matches)
    at_truth = replace(perturbed, codes=table.codes).kept(node, nothing)
    assert at_truth is not None
    expected = float((at_truth / whole.people(table, node, nothing)).mean())
    assert abs(np.mean(drawn) - expected) < 4 * np.std(drawn) / len(drawn) ** 0.5


@pytest.mark.parametrize("missing", ["any", "level"])
def test_the_policy_is_met_by_the_truth(missing: Any) -> None:
    made = protect(RECORDS, replace(REQUEST, missing=missing), generator(), population=WHOLE)
    before, after = made.report["before"], made.report["after"]
    assert before["exact"]["correct_matches"] > 0.03 >= after["exact"]["correct_matches"]
    table = REQUEST.table(RECORDS, WHOLE)
    alike = [WHOLE.select(KEYS).rows().count(row) for row in RECORDS.select(KEYS).rows()]
    if missing == "level":
        assert before["exact"]["correct_matches"] == pytest.approx(np.mean([1 / n for n in alike]))
    assert made.log["reached"]["k"] >= 2
    assert len(table.hierarchies[0].levels[0]) == WHOLE["age"].n_unique()
    chosen = [row for row in made.report["frontier"] if row["chosen"]]
    assert chosen[0]["correct_matches"] == after["exact"]["correct_matches"]
    strict = protect(RECORDS, replace(REQUEST, policy=Policy(max_record_risk=0.1)), generator(), population=WHOLE)
    assert strict.report["after"]["exact"]["record_risk"] <= 0.1


def test_a_population_that_is_none_of_the_file() -> None:
    for whole, words in (
        (WHOLE.head(100), "smaller than the file, got 100 people for 150 records"),
        (people(850, seed=5), "more often in the file than in the population"),
        (WHOLE.drop("town"), "no column town"),
    ):
        with pytest.raises(GemelError, match=words):
            protect(RECORDS, REQUEST, generator(), population=whole)
    other = pl.concat([WHOLE, people(1).with_columns(town=pl.lit("bath"))])
    with pytest.raises(GemelError, match="values of the file are in no row"):
        protect(RECORDS, REQUEST, generator(), population=other)


def test_calibrated_risk_stands_on_both_sides() -> None:
    records = people(600, seed=9)
    request = replace(REQUEST, missing="level", policy=Policy(), methods=Methods(pram={"sex": 0.4}))
    made = protect(records, replace(request, levels=replace(REQUEST.levels, fixed=dict.fromkeys(KEYS, 0))), generator())
    before, after = (made.report["calibrated"][when] for when in ("before", "after"))
    plain = calibrated_risk(KeyFile.from_columns({k: records[k] for k in KEYS}, 0.15))
    assert before["tau2"]["value"] == pytest.approx(plain.tau2.value)
    assert before["correct_matches"] == pytest.approx(plain.of_records.mean())
    seen = calibrated_risk(KeyFile.from_columns({k: made.frame[k] for k in KEYS}, 0.15))
    p = float((records["sex"] == "f").mean())
    stays = np.array([0.6 + 0.4 * (p if s == "f" else 1 - p) for s in made.frame["sex"]])
    assert after["tau2"]["value"] == pytest.approx(float((seen.correct * stays[seen.uniques]).sum()))
    assert after["correct_matches"] == pytest.approx(float((seen.of_records * stays).mean()))
    few = protect(people(30), replace(request, policy=Policy(), methods=Methods()), generator())
    assert "at least 10 combinations" in few.report["calibrated"]["before"]["why"]
