"""Randomised bits in whole runs: agreement is counted correctly by every way of comparing and blocking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest

from benchmarks.modes import judged, link_in, people
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.specified import plan_of
from gemel.common.parties import Side
from gemel.common.specification import LEVELS, Specification
from gemel.common.specification.model.leakage import REACHED
from gemel.custodian.cleaning.columns import clean
from tests.carole.engine.runs import SEED

N, FLIP = 1500, 0.1
Files = Mapping[Side, pl.DataFrame]


@pytest.fixture(scope="module")
def files() -> tuple[Specification, Files]:
    return people(N, 0.2, 6)


def changed(spec: Specification, **sections: Any) -> Specification:
    """Every field with randomised bits, signatures of categories long enough for them, exchangeable names."""
    document = spec.model_dump(mode="json")
    for field in document["fields"]:
        field |= {"randomised_response": FLIP, "bits": max(field["bits"], 256)}
        if field["name"] in ("given_name", "surname"):
            field["key_domain"] = "names"
    return Specification.model_validate({**document, **sections})


def share_of_equal(files: Files, spec: Specification, field: str) -> float:
    """Share of the common people whose values of a field are equal in both files, of those who have them."""
    values = {
        side: files[side].select("person").with_columns(clean(files[side], spec, side).columns[field]) for side in Side
    }
    both = values[Side.ALICE].join(values[Side.BOB], on="person", suffix="_bob").drop_nulls()
    return float((both[field] == both[f"{field}_bob"]).mean())


@pytest.mark.parametrize("mode", ["open", "block_keyed"])
def test_links_are_found_and_agreement_is_what_it_is(files: tuple[Specification, Files], mode: str) -> None:
    plain, records = files
    spec = changed(plain, mode=mode, swaps=[["given_name", "surname"]])
    linked = link_in(mode, spec, records, SEED)
    f1, precision, _ = judged(linked, records, "person")
    assert f1 > 0.97
    assert precision > 0.98
    model = linked.linkage.model
    place = {field.name: q for q, field in enumerate(model.fields)}
    for name in ("sex", "date_of_birth", "postcode"):
        # Equal values reach the top level with probability REACHED at least; some that differ do too.
        equal, top = share_of_equal(records, spec, name), model.fields[place[name]].n_levels - 1
        assert model.m[place[name], top] == pytest.approx(equal * (1 + REACHED) / 2, abs=0.05)
    shares = [records[side]["sex"].drop_nulls().value_counts(normalize=True).sort("sex")["proportion"] for side in Side]
    assert model.u[place["sex"], 1] == pytest.approx(float(np.dot(*shares)), abs=0.06)


@pytest.mark.parametrize(
    "rule",
    [
        {"name": "bands", "lsh": {"field": "surname", "bands": 60, "bits": 10}},
        {"name": "alike", "similar": {"field": "date_of_birth", "minimum": 0.8}},
        {"name": "around", "canopies": {"field": "date_of_birth", "loose": 0.8, "tight": 0.85}},
    ],
    ids=lambda rule: rule["name"],
)
def test_rules_formed_of_signatures_take_the_noise_into_account(
    files: tuple[Specification, Files], rule: dict[str, Any]
) -> None:
    plain, records = files
    spec = changed(plain, blocking=[rule])
    f1, precision, recall = judged(link_in("open", spec, records, SEED), records, "person")
    assert precision > 0.95
    assert recall > 0.8
    assert f1 > 0.85


def test_the_plan_has_the_noise_and_its_tolerance(files: tuple[Specification, Files]) -> None:
    spec = changed(files[0], swaps=[["given_name", "surname"]])
    plan = plan_of(spec)
    assert {field.randomised_response for field in plan.fields} == {FLIP}
    assert [field.bounds for field in plan.fields] == [field.bounds for field in spec.fields]
    exchanged = plan.compared[plan.swapped[0]]
    assert exchanged.bounds == (0.8, 0.924, 1.0)
    exact: LinkagePlan = plan_of(changed(files[0], model={"scheme": "exact"}))
    assert {len(field.bounds) for field in exact.fields} == {2}
    assert max(field.bounds[0] for field in exact.fields) < 0.95
    assert {field.bounds for field in plan_of(files[0]).fields} <= set(LEVELS.values())


@pytest.mark.parametrize("scheme", ["exact", "lr_weighted"])
def test_schemes_that_know_agreement_alone_link_too(files: tuple[Specification, Files], scheme: str) -> None:
    plain, records = files
    spec = changed(plain, model={"scheme": scheme})
    f1, _, _ = judged(link_in("open", spec, records, SEED), records, "person")
    assert f1 > 0.95
