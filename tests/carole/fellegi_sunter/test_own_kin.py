"""Kin and one person twice in one file, apart by the personal fields."""

from __future__ import annotations

import numpy as np
import pytest

from gemel.carole.fellegi_sunter.entities import without_kin


def test_it_is_a_fixed_point_of_its_definition():
    rng = np.random.default_rng(1)
    same, bits = rng.random(200), rng.normal(3, 8, 200)
    found = without_kin(same, bits)
    n_1, n_k = 1 + found.sum(), 1 + (same - found).sum()
    np.testing.assert_allclose(found, same * n_1 * 2**bits / (n_1 * 2**bits + n_k), rtol=1e-6)
    assert (found <= same).all()


def test_pairs_that_differ_in_all_that_is_personal_are_kin_however_alike_they_are():
    found = without_kin(np.ones(3), np.array([-13.0, -14.0, -12.0]))
    assert found.max() < 1e-3


def test_kin_take_nothing_from_many_copies():
    """290 copies, ten of them with an error in a personal field, and ten pairs of kin."""
    bits = np.concatenate([np.full(280, 14.0), np.full(10, 2.0), np.full(10, -13.0)])
    found = without_kin(np.ones(300), bits)
    assert found[:280].min() > 0.9999
    assert found[280:290].min() > 0.98
    assert found[290:].max() < 0.01


@pytest.mark.parametrize("bits", [np.inf, 5000.0])
def test_without_evidence_for_kin_nothing_changes(bits):
    same = np.array([0.2, 0.9])
    np.testing.assert_allclose(without_kin(same, np.full(2, bits)), same)


def test_no_pairs():
    assert len(without_kin(np.zeros(0), np.zeros(0))) == 0
