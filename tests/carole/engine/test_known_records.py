"""Training records and a known joint distribution in a run: what reaches the latent step, and what it does with it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest

from gemel.carole.engine.inputs.files import values_of
from gemel.carole.engine.latent.refit import NOTHING_KNOWN, KnownRecords, with_beliefs
from gemel.carole.engine.run.contribution import packed, unpacked
from gemel.carole.engine.run.plan import LatentPlan, LinkagePlan, VariablePlan
from gemel.carole.engine.run.result import Linkage
from gemel.carole.extended_latent import ExtendedSettings, Values, Variable
from gemel.carole.fellegi_sunter.settings import MPrior
from gemel.common.documents.result_warning import result_warning
from gemel.common.errors import ErrorCode
from gemel.common.signatures.signature_sets import SignatureSet, VariableCodes
from gemel.coordinator.demonstration.people.insured import KEY, driver_network
from gemel.custodian.encoding.categories import Relabelling, known_set
from research._networks import decomposable_model
from tests.carole.engine.runs import SEED, codes_of, run
from tests.carole.engine.test_latent import SMALL, SPEC, Insured, all_pairs, invented
from tests.carole.refusals import refusal

NETWORK = driver_network()
NAMES = [str(name) for name in NETWORK.names]
ENTRIES = {variable.name: variable for variable in SPEC.variables}


def places(codes: np.ndarray, names: Sequence[str]) -> dict[str, pl.Series]:
    """The network's codes as places of the public lists, which have its categories in its order."""
    return {name: pl.Series(codes[:, NAMES.index(name)], dtype=pl.Int32) for name in ENTRIES if name in names}


def training_set(n: int, seed: int = 3) -> SignatureSet:
    people = NETWORK.sample(n, np.random.default_rng(seed))
    return known_set(places(people, NAMES), None, SPEC, SEED, 1)


def trained(n: int) -> KnownRecords:
    return KnownRecords.of([training_set(n)], SMALL.latent)


def joint_set(names: Sequence[str]) -> SignatureSet:
    """The network's own distribution of some variables, as shares of all cells."""
    order = [name for name in ENTRIES if name in names]
    table = decomposable_model(NETWORK).marginal(order)
    cells = np.zeros((table.size, len(NAMES)), dtype=np.int32)
    for axis, codes in enumerate(np.unravel_index(np.arange(table.size), table.shape)):
        cells[:, NAMES.index(order[axis])] = codes
    return known_set(places(cells, order), table.ravel().copy(), SPEC, SEED, 1)


def known_joint() -> KnownRecords:
    """The network's own distribution of all variables of the smaller plan."""
    return KnownRecords.of([joint_set([variable.name for variable in SMALL.latent.variables])], SMALL.latent)


@pytest.fixture(scope="module")
def insured() -> Insured:
    return invented(0)


@cache
def linked(insured: Insured, plan: LinkagePlan = SMALL) -> Linkage:
    return insured.linked(plan)


def true_table(names: Sequence[str]) -> np.ndarray:
    """The network's distribution of some variables by code."""
    table = decomposable_model(NETWORK).marginal(list(names))
    for axis, name in enumerate(names):
        labels = Relabelling.of(SPEC, SEED, 1).labels(ENTRIES[name])
        table = np.take(table, [ENTRIES[name].categories.index(label) for label in labels], axis=axis)
    return table


def gap(linkage: Linkage, names: Sequence[str] = ("SocioEcon", "Age", "HomeBase")) -> float:
    """How far the joint distribution is from the network's: total variation."""
    return float(np.abs(linkage.latent.joint.table(list(names)) - true_table(names)).sum()) / 2


def test_codes_get_the_columns_of_the_plan():
    found = KnownRecords.of([training_set(50), joint_set(["SocioEcon", "Age"])], SMALL.latent)
    assert found.training.shape == (50, len(SMALL.latent.variables))
    of_training = training_set(50).variables
    for column, variable in enumerate(SMALL.latent.variables):
        np.testing.assert_array_equal(found.training[:, column], of_training[variable.name].codes)
        given = variable.name in ("SocioEcon", "Age")
        assert (found.cells[:, column] >= 0).all() == given
    assert found.counts.sum() == pytest.approx(1)
    assert KnownRecords.of([], SMALL.latent).training is None


def test_they_go_to_a_resolver_as_arrays_that_it_checks():
    known = KnownRecords.of([training_set(50), joint_set(["SocioEcon", "Age"])], SMALL.latent)
    arrays = unpacked(packed(known.arrays(), {}))[0]
    found = KnownRecords.of_arrays(arrays, SMALL.latent)
    for name in ("training", "cells", "counts"):
        np.testing.assert_array_equal(getattr(found, name), getattr(known, name))
    assert known.n_bytes == sum(array.nbytes for array in arrays.values())
    assert KnownRecords.of_arrays({}, SMALL.latent).arrays() == {}
    for change in (
        {"training": known.training[:, 1:]},
        {"training": known.training.astype(np.int64)},
        {"training": known.training + 3},
        {"joint_cells": np.full_like(known.cells, -2)},
        {"joint_counts": -known.counts},
        {"joint_counts": known.counts[1:]},
    ):
        with refusal(ErrorCode.UPLOAD_CORRUPT):
            KnownRecords.of_arrays({**arrays, **change}, SMALL.latent)


def test_training_records_bring_the_joint_distribution_nearer_to_the_truth(insured: Insured):
    linkage, without = insured.linked(SMALL, known=trained(2_000)), linked(insured)
    assert linkage.latent.records == pytest.approx(without.latent.records + 2_000)
    assert gap(linkage) < 0.7 * gap(without)


def test_training_records_cost_no_links(insured: Insured):
    """On average of two pairs of files: a few links of one come and go."""
    others = invented(2)
    trained_on = insured.linked(SMALL, known=trained(2_000)), others.linked(SMALL, known=trained(2_000))
    with_them, without = (
        insured.quality(one).f1 + others.quality(other).f1
        for one, other in (trained_on, (linked(insured), linked(others)))
    )
    assert with_them >= without - 2 * 0.01


def test_training_records_count_as_the_library_counts_them(insured: Insured):
    """In the values' columns, which are in another order, and whatever the order of the records."""
    known = trained(300)
    values, _ = values_of(*insured.sets, SMALL.latent)
    array = known.training_for(values, SMALL.latent)
    assert values.variables[0].name == KEY
    for column, variable in enumerate(values.variables):
        np.testing.assert_array_equal(array[:, column], training_set(300).variables[variable.name].codes)
    turned = replace(known, training=known.training[::-1].copy())
    first, second = (insured.linked(SMALL, known=each).pairs.match_probability for each in (known, turned))
    np.testing.assert_allclose(first, second, atol=1e-9)


def test_a_known_distribution_takes_the_place_of_the_estimate(insured: Insured):
    linkage = insured.linked(SMALL, known=known_joint())
    assert gap(linkage) < 1e-4
    assert linkage.latent.records == 0
    assert gap(linked(insured)) > 0.02
    assert not codes_of(linkage) & {"few_records_for_joint", "variable_constant_among_links"}


def test_a_key_without_categories_stands_alone_beside_a_known_distribution(insured: Insured):
    plan = replace(SMALL, latent=replace(SMALL.latent, keys=("sex", KEY)))
    linkage = insured.linked(plan, known=known_joint())
    assert linkage.latent.alone == ("sex",)
    assert set(linkage.latent.joint.names) == {variable.name for variable in SMALL.latent.variables}


def test_a_variable_that_a_file_lacks_is_summed_out_of_a_known_distribution(insured: Insured):
    nothing = VariableCodes(4, np.full(insured.sets[0].n_rows, -1, dtype=np.int16))
    linkage = run(*insured.with_variables(SocioEcon=nothing), SMALL, known=known_joint())
    assert "SocioEcon" not in linkage.latent.joint.names
    assert gap(linkage, ("Age", "HomeBase")) < 1e-4


def cells_of(levels: Sequence[int], rng: np.random.Generator, n: int = 400) -> tuple[KnownRecords, LatentPlan]:
    plan = LatentPlan(tuple(VariablePlan(f"v{i}", ("alice", "bob")[i % 2], k) for i, k in enumerate(levels)))
    cells = np.unique(rng.integers(0, levels, (n, len(levels))), axis=0).astype(np.int32)
    cells[:, 1] = cells[:, 0] % levels[1]
    cells = np.unique(cells, axis=0)
    return KnownRecords(cells=cells, counts=rng.integers(1, 20, len(cells)).astype(float)), plan


def values_with(plan: LatentPlan) -> Values:
    variables = tuple(Variable(v.name, v.holder, v.categories) for v in plan.variables)
    codes = [np.where([v.holder == side for v in variables], 0, -1).astype(np.int32)[None] for side in ("alice", "bob")]
    return Values(variables, *codes)


def test_counts_and_shares_give_the_same_distribution_but_for_what_they_are_worth():
    known, plan = cells_of((3, 3, 2), np.random.default_rng(1))
    values = values_with(plan)
    many = replace(known, counts=known.counts * 1e6 / known.counts.sum())
    shares = replace(known, counts=known.counts / known.counts.sum())
    found = [each.joint_for(values, plan, ExtendedSettings()) for each in (many, shares)]
    tables = [model.marginal(["v0", "v1", "v2"]) for model in found]
    np.testing.assert_allclose(tables[0], tables[1], rtol=1e-12)
    few = known.joint_for(values, plan, ExtendedSettings()).marginal(["v0", "v1", "v2"])
    total = known.counts.sum()
    expected = np.full(few.shape, 1 / 18)
    expected[tuple(known.cells.T)] += known.counts
    np.testing.assert_allclose(few, expected / (total + 1), rtol=1e-9)


def test_of_too_many_cells_the_dependences_are_found():
    """2**21 cells: no table of all of them, and the one strong dependence is kept."""
    known, plan = cells_of((2,) * 21, np.random.default_rng(2), 4_000)
    known = replace(known, counts=np.ones(len(known.cells)))
    model = known.joint_for(values_with(plan), plan, ExtendedSettings())
    assert model.parameters < 2_000
    table = model.marginal(["v0", "v1"])
    assert table[0, 1] + table[1, 0] < 0.01
    assert math.isclose(table.sum(), 1)


def test_without_values_of_a_joint_model_nothing_is_known():
    known, plan = cells_of((3, 3), np.random.default_rng(1))
    assert NOTHING_KNOWN.joint_for(values_with(plan), plan, ExtendedSettings()) is None
    assert NOTHING_KNOWN.training_for(values_with(plan), plan) is None
    assert known.training_for(values_with(plan), plan) is None


def test_a_variable_constant_among_links_is_reported(insured: Insured):
    """Alice's linked people are all of one category: nothing is known of what the others occur with."""
    before = insured.linked(replace(SMALL, latent=None))
    codes = np.ones(insured.sets[0].n_rows, dtype=np.int16)
    codes[before.pairs.row_a[before.links]] = 0
    sets = insured.with_variables(SocioEcon=VariableCodes(4, codes))
    linkage = run(*sets, SMALL)
    expected = result_warning("variable_constant_among_links", variable="SocioEcon")
    assert [each for each in linkage.warnings if each.code == expected.code] == [expected]
    assert np.isfinite(linkage.pairs.weight).all()
    assert expected not in run(*sets, SMALL, known=trained(200)).warnings


def test_more_parameters_than_records_are_reported(insured: Insured):
    """A variable of more categories than there are links."""
    wide = VariableCodes(900, (np.arange(insured.sets[0].n_rows) % 900).astype(np.int16))
    variables = tuple(
        replace(variable, categories=900) if variable.name == "SocioEcon" else variable
        for variable in SMALL.latent.variables
    )
    plan = replace(SMALL, latent=replace(SMALL.latent, variables=variables))
    linkage = run(*insured.with_variables(SocioEcon=wide), plan)
    (found,) = [warning for warning in linkage.warnings if warning.code == "few_records_for_joint"]
    assert "it is mostly its prior" in found.text
    assert "few_records_for_joint" not in codes_of(linked(insured))


def test_beliefs_are_added_to_those_of_the_fields_and_to_all_pairs(insured: Insured):
    found, scheme = all_pairs(insured, SMALL)[0], linked(insured).scheme
    latent = replace(
        SMALL.latent, m_prior=(("sex", MPrior(0.8, 10)),), u_prior=(("born", MPrior(0.1, 1_000)),), p_prior=(2.0, 98.0)
    )
    believed, levels = with_beliefs(scheme, found, latent)
    names = [field.name for field in believed.model.fields]
    sex, born = names.index("sex"), names.index("born")
    own = scheme.model.fields[sex].m_prior
    assert believed.model.fields[sex].m_prior.weight == own.weight + 10
    expected = (own.weight * own.agreement + 8) / (own.weight + 10)
    assert believed.model.fields[sex].m_prior.agreement == pytest.approx(expected)
    known = (np.count_nonzero(part.fields["born"].codes >= 0) for part in insured.sets)
    assert levels[born].sum() == pytest.approx(math.prod(known) + 1_000)
    assert with_beliefs(scheme, found, SMALL.latent) == (scheme, found.levels)


@pytest.mark.parametrize("assignment", ["one_to_one", "none"])
def test_a_strong_belief_decides_m(insured: Insured, assignment: str):
    """Worth a hundred thousand matches, where there are two hundred."""
    plan = replace(SMALL, assignment=assignment, dependence="none")
    believed = replace(plan, latent=replace(plan.latent, m_prior=(("sex", MPrior(0.7, 100_000)),)))
    row = [field.name for field in linked(insured).model.fields].index("sex")
    moved = linked(insured, believed)
    assert abs(moved.model.m[row, 1] - 0.7) < 0.01
    assert abs(linked(insured, plan).model.m[row, 1] - 0.7) > 0.1
    assert "priors_without_effect" not in codes_of(moved)


def test_a_belief_about_p_has_no_effect_under_an_assignment_and_is_reported(insured: Insured):
    plan = replace(SMALL, latent=replace(SMALL.latent, p="free", p_prior=(1e6, 1e6)))
    without = result_warning("priors_without_effect", parameters="p")
    assert without in linked(insured, plan).warnings
    free = linked(insured, replace(plan, assignment="none"))
    assert without not in free.warnings
    assert free.model.p > 0.4


def test_no_parameter_moves_by_a_belief_about_another(insured: Insured):
    # Where u is corrected, that of every field depends on p.
    plain = replace(SMALL, u="all_pairs")
    plan = replace(plain, latent=replace(SMALL.latent, u_prior=(("sex", MPrior(0.7, 1e9)),)))
    before, after = linked(insured, plain).model, linked(insured, plan).model
    others = [row for row, field in enumerate(before.fields) if field.name != "sex"]
    np.testing.assert_array_equal(before.u[others], after.u[others])
