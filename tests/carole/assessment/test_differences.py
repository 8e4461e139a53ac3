"""A release beside earlier ones: the one record found whatever the form of the tables, and what is not seen, named."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks._built_population import SMALL, Built
from benchmarks.assess import relabelled, without
from gemel.carole.assessment import released_counts as kept
from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.combined_assessment import Assessment
from gemel.carole.assessment.differences import EarlierRelease, differences
from gemel.carole.assessment.publication import publication, recovery
from gemel.carole.assessment.released_counts import ReleasedCounts, coding, counted, pack, unpack
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.specification.model.assessment import PublishedTable
from tests.carole.assessment.outputs import assessed, output
from tests.carole.assessment.test_definitions import SPEC

OWN, OTHER = coding("built", bytes(32), 1), coding("another", bytes(32), 1)


def tables(*named: str, **more: Any) -> list[PublishedTable]:
    return [PublishedTable(variables=tuple(one.split()), **more) for one in named]


def fewer(combined: Combined, *links: int) -> Combined:
    """The same output with some links fewer."""
    return without(combined, np.array(links))


def in_other_codes(combined: Combined) -> Combined:
    """With the codes of another project's keys."""
    return relabelled(combined, np.random.default_rng(3))


def released(
    combined: Combined, published: Sequence[PublishedTable], run: str = "e", codes: str = OWN
) -> EarlierRelease:
    return EarlierRelease(run, "built", 1, unpack(pack(counted(combined, published, codes))))


def found(combined: Combined, published: Sequence[PublishedTable], *earlier: EarlierRelease) -> dict[str, Any]:
    made = differences(combined.variables, counted(combined, published, OWN), earlier)
    return {**made.document, "share": made.measures["differences"].value, "reason": made.reason}


NOW = "region illness"


@pytest.mark.parametrize(
    ("now", "before"),
    [
        (NOW, NOW),
        (NOW, "illness region"),
        (NOW, "sex region illness"),
        ("sex region illness", NOW),
        ("region sex", NOW),
    ],
)
@pytest.mark.parametrize("turn", ["fewer now", "fewer then"])
@pytest.mark.parametrize("codes", [OWN, OTHER])
def test_one_record_is_found_in_every_form_of_the_table(
    population: Built, now: str, before: str, turn: str, codes: str
) -> None:
    whole, less = population.combined, fewer(population.combined, 17)
    former, latter = (whole, less) if turn == "fewer now" else (less, whole)
    if codes == OTHER:
        former = in_other_codes(former)
    same = latter if codes == OWN else in_other_codes(latter)
    made = found(latter, tables(now), released(former, tables(before), codes=codes))
    (table,) = made["tables"]
    assert (table["people"], table["small_cells"], table["disclosed"], made["share"]) == (1, 1, 1, 1.0)
    assert table["reordered"] is (codes == OTHER)
    assert "against run e of project built" in made["reason"]
    again = found(latter, tables(now), released(same, tables(before), codes=codes))
    assert (again["share"], again["reason"], [table["people"] for table in again["tables"]]) == (0.0, "", [0])


@pytest.mark.parametrize("rounded_first", [True, False])
def test_of_several_tables_over_the_same_variables_the_one_that_discloses_most_is_reported(
    population: Built, *, rounded_first: bool
) -> None:
    """The earlier release shows the same counts rounded, and exactly in a larger table."""
    whole, less = population.combined, fewer(population.combined, 17)
    rounded = tables(NOW, protection="conventional", base=7)
    exact = tables(f"sex {NOW}")
    published = [*rounded, *exact] if rounded_first else [*exact, *rounded]
    assert found(less, tables(NOW), released(whole, rounded))["share"] == 0.0
    made = found(less, tables(NOW), released(whole, published))
    (table,) = made["tables"]
    assert (table["people"], table["disclosed"], made["share"]) == (1, 1, 1.0)


def test_the_middle_one_of_three_releases_hides_nothing(population: Built) -> None:
    """Many leave before the second release, and come back but for one before the third."""
    whole = population.combined
    second, third = fewer(whole, *range(400)), fewer(whole, 17)
    then = [released(second, tables(NOW), "2"), released(whole, tables(NOW), "1")]
    made = found(third, tables(NOW), *then)
    assert made["compared"] == 2
    assert (made["tables"][0]["runs"], made["share"]) == (["1"], 1.0)


@pytest.mark.parametrize("codes", [OWN, OTHER])
@pytest.mark.parametrize("whole", [0, 1, 2])
def test_two_releases_and_their_sum_but_for_one_person(population: Built, whole: int, codes: str) -> None:
    n = population.combined.n_records
    cut = n * 3 // 5
    parts = [fewer(population.combined, *range(cut)), fewer(population.combined, *range(cut, n))]
    order = [*parts]
    order.insert(whole, fewer(population.combined, 17))
    recoded = [in_other_codes(one) if codes == OTHER else one for one in order[1:]]
    earlier = (released(one, tables(NOW), str(k), codes) for k, one in enumerate(recoded))
    made = found(order[0], tables(NOW), *earlier)
    summed = [table for table in made["tables"] if len(table["runs"]) == 2]
    assert (summed[0]["people"], summed[0]["disclosed"], made["share"]) == (1, 1, 1.0)
    order[whole] = population.combined
    made = found(order[0], tables(NOW), *(released(one, tables(NOW), str(k)) for k, one in enumerate(order[1:])))
    assert not [table for table in made["tables"] if len(table["runs"]) == 2]


def test_a_missing_value_in_one_release_only_is_a_level_of_both(population: Built) -> None:
    complete = population.combined.codes[:, population.combined.columns(NOW.split())].min(axis=1) >= 0
    former = fewer(population.combined, *np.flatnonzero(~complete))
    place = int(np.flatnonzero(~complete)[0])
    latter = fewer(population.combined, *np.setdiff1d(np.flatnonzero(~complete), [place]))
    made = found(latter, tables(NOW), released(former, tables(NOW)))
    assert (made["tables"][0]["people"], made["share"]) == (1, 1.0)


def test_what_cannot_be_compared_is_named(population: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    combined = population.combined
    other = {v.name: v.model_copy(update={"categories": (*v.categories, "more")}) for v in combined.variables}
    coarser = replace(combined, variables=tuple(other[v.name] if v.name == "region" else v for v in combined.variables))
    nothing = EarlierRelease("n", "", None, None, "no counts were kept")
    others = fewer(combined, *range(combined.n_records * 2 // 3))
    made = found(
        combined,
        tables(NOW),
        nothing,
        released(combined, tables("sex"), "s"),
        released(combined, [], "t"),
        released(in_other_codes(others), tables(NOW), "o", OTHER),
        released(coarser, tables("region"), "c"),
    )
    reasons = {one["run"]: one["reason"] for one in made["unseen"]}
    assert reasons == {
        "n": "no counts were kept",
        "s": "its table over sex has no variable in common with this release, in equal categories",
        "t": "it published no table",
        "o": "its counts over region, illness are not alike: which code is which is unknown",
        "c": "its table over region has no variable in common with this release, in equal categories",
    }
    assert (made["releases"], made["compared"], made["tables"]) == (5, 0, [])
    # Over the variable whose categories stayed it is compared.
    (table,) = found(combined, tables(NOW), released(coarser, tables(NOW), "c"))["tables"]
    assert table["variables"] == ["illness"]
    monkeypatch.setattr(kept, "KEPT_CELLS", 40)
    made = found(combined, tables(NOW), released(combined, tables(NOW)))
    assert [one["reason"] for one in made["unseen"]] == [
        "it published no table",
        "1 of its tables had too many cells to be kept",
    ]


def test_the_default_limit_is_judged_and_the_document_has_the_difference(
    population: Built, assessment: Assessment
) -> None:
    policy = population.spec.assessment
    assert policy is not None
    assert ("differences" in policy.limits.given, policy.judged_limits["differences"]) == (False, 0.1)
    assert "differences" not in policy.model_copy(update={"tables": ()}).judged_limits
    before = EarlierRelease("e", "", None, unpack(assessment.counts))
    for combined, breached in ((population.combined, False), (fewer(population.combined, 17), True)):
        beside = [before, replace(before, counts=None)]
        made = assessed(combined, population.spec, released=beside)
        assert "releases_not_compared" in {warning["code"] for warning in made.document["warnings"]}
        assert ("differences" in made.breaches) is breached
        assert made.document["measures"]["differences"]["breached"] is breached
        assert made.document["differences"]["compared"] == made.differences.compared == 1
        entry = made.document["measures"]["differences"]
        assert ("against run e, over region, illness: 1 cell differs" in entry["method"]) is breached


def table(levels: int, cells: list[int], counts: list[int]) -> dict[str, Any]:
    variables = [["sex", levels, False]]
    return {"variables": variables, "protection": "none", "base": None, "cells": cells, "counts": counts}


@pytest.mark.parametrize(
    "change",
    [
        {"format": "gemel released counts 2"},
        {"tables": [table(0, [], [])]},
        {"tables": [table(2, [2], [1])]},
        {"tables": [table(2, [0], [0])]},
        {"tables": [table(2, [0, 0], [1, 1])]},
        {"tables": [table(2**40, [], [])]},
        {"left_out": None},
        {"records": "many"},
    ],
)
def test_counts_of_another_form_are_refused(change: dict[str, Any]) -> None:
    content = {**json.loads(pack(ReleasedCounts(OWN, 1, ()))), **change}
    with pytest.raises(GemelError, match="gemel released counts 1") as caught:
        unpack(json.dumps(content).encode())
    assert caught.value.code is ErrorCode.VAULT


def test_codes_are_the_same_in_one_project_and_epoch_only() -> None:
    assert len({OWN, OTHER, coding("built", bytes(32), 2), coding("built", b"1" * 32, 1)}) == 4
    assert coding("built", bytes(32), 1) == OWN


# Recovery from randomly rounded tables: whatever is drawn lies between the two ends; and what is proven of bounds.

NAMES = [trait.name for trait in SMALL]


@settings(max_examples=10)
@given(st.integers(0, 2**32), st.sampled_from([3, 5]))
def test_no_draw_of_the_rounding_is_outside_of_the_ends(seed: int, base: int) -> None:
    rng = np.random.default_rng(seed)
    codes = np.zeros((int(rng.integers(20, 60)), len(SMALL)), dtype=np.int32)
    for name, levels in (("sex", 2), ("illness", 3)):
        codes[:, NAMES.index(name)] = rng.choice(levels, len(codes), p=rng.dirichlet(np.ones(levels)))
    tables = [
        PublishedTable(variables=("sex", "illness"), protection="random", base=base),
        PublishedTable(variables=("illness",)),
    ]
    made = output(codes, SPEC)
    found = recovery(made, tables, 3)
    low, high = found.draws
    drawn = [recovery(made, tables, 3, rng).probability for _ in range(5)]
    assert all(low <= probability <= high for probability in (found.probability, *drawn))


def test_an_interval_where_rounding_is_random_and_a_reason_where_it_is_not() -> None:
    rng = np.random.default_rng(4)
    made = output(rng.integers(0, 2, (40, len(SMALL))).astype(np.int32), SPEC)
    random = PublishedTable(variables=("sex", "illness"), protection="random", base=5)
    plain = PublishedTable(variables=("sex", "illness"))
    drawn = publication(made, [random], [], 5).measures["subtraction"]
    assert drawn.lower is not None
    assert drawn.lower <= drawn.value <= drawn.judged
    exact = publication(made, [plain], [], 5).measures["subtraction"]
    assert exact.upper is None
    assert "as they are published" in exact.no_interval
    assert "not proven" not in exact.no_interval
    # Three rounded tables in a ring, over more cells than programming is used for: the bounds are not proven.
    ring = [
        PublishedTable(variables=pair, protection="conventional", base=3)
        for pair in (("region", "occupation"), ("occupation", "age"), ("age", "region"))
    ]
    wide = output(rng.integers(0, 7, (400, len(SMALL))).astype(np.int32) % [t.levels for t in SMALL], SPEC)
    loose = publication(wide, ring, [], 5).measures["subtraction"]
    assert "not proven tight" in loose.no_interval
    assert "not proven tight" in loose.method
