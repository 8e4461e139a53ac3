"""The extended latent step on unusual files: a clear error, or a correct result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gemel.carole.extended_latent import ExtendedSettings, Values, Variable, WeightedPairs
from gemel.common.errors import GemelError
from tests.carole.extended_latent.linked_files import VARIABLES, linked_files, of_columns, population


@pytest.fixture(scope="module")
def linked():
    return linked_files(150, np.random.default_rng(21))


def test_a_code_that_the_other_file_never_has_agrees_with_nothing(linked):
    """A town and a name of A that B lacks: such records agree on neither, and all results are finite."""
    a = linked.values.codes_a.copy()
    b = linked.values.codes_b.copy()
    a[:20, 4], a[:20, 5] = 3, 79
    b[b[:, 4] == 3, 4] = 0
    b[b[:, 5] == 79, 5] = 0
    values = Values(VARIABLES, a, b)
    factor = linked.fit(values).factors.log(*linked.rows)
    assert np.isfinite(factor).all()
    assert not values.agreeing(*linked.rows)[linked.pairs.row_a < 20].any()


def test_a_category_without_records_changes_nothing(linked):
    wider = tuple(replace(v, levels=v.levels + 2) if v.name == "job" else v for v in VARIABLES)
    fit = linked.fit(Values(wider, linked.values.codes_a, linked.values.codes_b))
    assert fit.joint is not None
    assert 0 < fit.joint.marginal(["job"])[-1] < 0.1


@pytest.mark.parametrize("name", ["income", "job", "town", "name"])
def test_a_variable_without_values_adds_nothing(linked, name):
    column = [v.name for v in VARIABLES].index(name)
    a, b = linked.values.codes_a.copy(), linked.values.codes_b.copy()
    a[:, column] = b[:, column] = -1
    values = Values(VARIABLES, a, b)
    without = of_columns(values, [q for q in range(len(VARIABLES)) if q != column])
    factor, other = (linked.fit(these).factors.log(*linked.rows) for these in (values, without))
    # Its cells have prior counts all the same, which move the other probabilities a little.
    assert np.abs(factor - other).max() < 0.7
    assert np.isfinite(factor).all()


def test_training_records_with_unknown_levels_are_refused_with_a_count(linked):
    training = np.zeros((10, len(VARIABLES)), dtype=np.int32)
    training[:3, 0] = 3
    with pytest.raises(GemelError, match=r"training records: codes of income must be -1 to 2, got 3 records"):
        linked.fit(training=training)
    with pytest.raises(GemelError, match="a column for each of 6 variables"):
        linked.fit(training=training[:, :2])


def test_a_value_model_of_keys_alone_weighs_agreement_by_how_common_the_value_is(linked):
    """c / P(x) for each key that agrees, whether it stands alone or not."""
    keys = of_columns(linked.values, [4, 5])
    for alone in (True, False):
        values = replace(keys, variables=tuple(replace(key, alone=alone) for key in keys.variables))
        # So little prior that the joint model is the pairs' own frequencies.
        fit = linked.fit(values, settings=ExtendedSettings(precision=1e-3))
        agree = values.agreeing(*linked.rows)
        factor = fit.factors.log(*linked.rows)
        assert np.allclose(factor[~agree.any(axis=1)], 0)
        only = agree[:, 0] & ~agree[:, 1]
        town = values.codes_a[linked.pairs.row_a[only], 0]
        for x in range(4):
            assert np.ptp(factor[only][town == x]) < 1e-9
        if alone:
            counts = np.bincount(np.concatenate([values.codes_a[:, 0], values.codes_b[:, 0]]), minlength=4)
            share = counts / counts.sum()
            estimated = fit.value_fit.model.alone[0].share
            assert estimated == pytest.approx(share, abs=0.08)
            assert np.allclose(factor[only], np.log((estimated**2).sum() / estimated[town]))


def test_there_must_be_something_to_learn_from(linked):
    nothing = WeightedPairs(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))
    with pytest.raises(GemelError, match="no pair and no training record"):
        linked.fit(learn_from=nothing)


def test_a_known_model_must_fit_the_variables(linked):
    with pytest.raises(GemelError, match="with their levels"):
        linked.fit(of_columns(linked.values, range(1, 6)), known=population())


def test_files_of_another_linkage_are_refused(linked):
    with pytest.raises(GemelError, match="files that were compared"):
        linked.fit(Values(VARIABLES, linked.values.codes_a[:-1], linked.values.codes_b))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Variable("x", "carole", 2),
        lambda: Variable("x", "alice", 1),
        lambda: Variable("x", "alice", 2, alone=True),
        lambda: Values((), np.zeros((1, 0), np.int32), np.zeros((1, 0), np.int32)),
        lambda: Values((Variable("x", "alice", 2),) * 2, np.zeros((1, 2), np.int32), np.full((1, 2), -1, np.int32)),
        lambda: ExtendedSettings(search="luck"),
        lambda: ExtendedSettings(p="lost"),
        lambda: ExtendedSettings(precision=0),
        lambda: ExtendedSettings(heaviest=2),
        lambda: ExtendedSettings(resolution=0),
        lambda: ExtendedSettings(tolerance=1),
        lambda: ExtendedSettings(rounds=-1),
    ],
)
def test_settings_that_make_no_sense_are_refused(make):
    with pytest.raises(GemelError):
        make()


def test_too_many_combinations_of_missing_values_are_named(linked):
    """Ten variables a side, each missing from a third of the records: the cases cannot all be prepared."""
    rng = np.random.default_rng(2)
    variables = tuple(Variable(f"{side}{i}", side, 2) for side in ("alice", "bob") for i in range(10))
    a = np.where(np.arange(20) < 10, rng.integers(-1, 2, (linked.values.n_a, 20)), -1).astype(np.int32)
    b = np.where(np.arange(20) >= 10, rng.integers(-1, 2, (linked.values.n_b, 20)), -1).astype(np.int32)
    with pytest.raises(GemelError, match="a separate category"):
        linked.fit(Values(variables, a, b))
