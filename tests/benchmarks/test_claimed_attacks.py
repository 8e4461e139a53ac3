"""The attacks on claims of risk: the truth is of the people who exist, and what is noted is what the program prints."""

import numpy as np
import polars as pl
import pytest

from benchmarks._claimed_attacks import AttackedFile, attacked_claims, two_crowds
from benchmarks._public_populations import ADULT


@pytest.fixture(scope="module")
def people():
    return ADULT.records().select(pl.all().cast(pl.String).fill_null("?"))


def test_a_person_in_the_file_twice_is_one_person_and_is_noticed(people):
    keys = ADULT.keys["6 keys"]
    once = people[np.random.default_rng(2).choice(len(people), 1_500, replace=False)]
    plain = attacked_claims(AttackedFile(once, people, keys, 0.03), 1)
    twice = attacked_claims(AttackedFile(pl.concat([once, once.head(150)]), people, keys, 0.03), 1)
    alike = people.group_by(keys).len().join(once.select(keys), on=keys, how="right")["len"]
    own = once.select(keys).is_unique()
    assert plain.uniques == own.sum()
    assert plain.tau2[3] == pytest.approx((1.0 / alike.filter(own)).sum())
    assert plain.dis[3] == pytest.approx(own.sum() / alike.filter(own).sum())
    assert twice.uniques == own[150:].sum()
    assert twice.tau2[0] < 0.8 * twice.tau2[3]
    assert "records_copied" in twice.noted
    assert "records_copied" not in plain.noted


def test_too_few_pairs_are_left_out(people):
    keys = ADULT.keys["8 keys"]
    assert attacked_claims(AttackedFile(people[:40], people, keys, 0.01), 1) is None


def test_two_crowds_are_of_the_sizes_asked_for():
    sizes = two_crowds(30, 20, 7, np.random.default_rng(1)).group_by("a", "b", "c").len()["len"]
    assert sorted(sizes.to_list()) == [1] * 30 + [7] * 20
