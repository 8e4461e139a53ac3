"""How many values to redraw or swap, searched: what is lost by it, and the least change among all strengths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gemel.common.errors import GemelError
from gemel.risk.protection.changes import STRENGTHS, Levels, Methods, strata_of
from gemel.risk.protection.key_table import level_losses
from gemel.risk.protection.perturbed_keys import perturbed_keys
from gemel.risk.protection.policy import Policy
from gemel.risk.protection.protected_file import protect
from gemel.risk.protection.request import Request
from tests.risk.protection.small_files import KEYS, TOWNS, people

REQUEST = Request(
    KEYS,
    0.1,
    Policy(max_correct_matches=0.03),
    Levels(rows={"town": (TOWNS, "town.csv")}, widths={"age": (5, 10, 20)}),
    Methods(pram_searched=("sex",), swap_searched=("age",), within=("sex",)),
)


def test_joint_shares_are_those_of_many_draws() -> None:
    records = people(120).with_columns(age=people(120)["age"] // 20)
    request = replace(REQUEST, levels=Levels())
    table = request.table(records)
    methods, rng = Methods(pram={"age": 0.4}, swap={"town": 0.5}, within=("sex",)), np.random.default_rng(1)
    sums = {0: 0.0, 2: 0.0}
    draws = 400
    for _ in range(draws):
        made = perturbed_keys(table, methods, strata_of(records, ("sex",)), rng)
        for q in sums:
            there = table.codes[:, q] >= 0
            size = len(table.hierarchies[q].levels[0])
            place = made.codes[there, q] * size + table.codes[there, q]
            sums[q] = sums[q] + np.bincount(place, minlength=size * size).reshape(size, size) / there.sum() / draws
    for q, mean in sums.items():
        assert made.joints[q].sum() == pytest.approx(1.0)
        assert np.abs(made.joints[q] - mean).max() < 0.01
        assert made.joints[q].sum(axis=0) == pytest.approx(table.value_counts[q] / table.value_counts[q].sum())


def test_bits_lost_are_the_entropy_of_the_truth_given_what_is_published() -> None:
    table = REQUEST.table(people(200))
    plain = level_losses(table)
    unchanged = perturbed_keys(table, Methods(pram={"sex": 0.0}, swap={"age": 0.0}), None, np.random.default_rng(1))
    for own, other in zip(plain, level_losses(table, unchanged.joints), strict=True):
        assert other == pytest.approx(own)
    changed = perturbed_keys(table, Methods(swap={"age": 0.5}), None, np.random.default_rng(1))
    found = level_losses(replace(table, codes=changed.codes), changed.joints)[0]
    joint = changed.joints[0]
    for level, groups in enumerate(table.hierarchies[0].groups):
        bits = 0.0
        for g in set(groups.tolist()):
            together = joint[groups == g].sum(axis=0)
            for p in together[together > 0]:
                bits -= p * np.log2(p / together.sum())
        assert found[level] == pytest.approx(bits)
    assert found == sorted(found)
    assert found[0] > 1


def test_the_least_change_is_chosen_among_all_strengths() -> None:
    made = protect(people(), REQUEST, np.random.default_rng(2))
    rows = made.report["frontier"]
    assert {row["strength"] for row in rows} == set(STRENGTHS)
    (chosen,) = [row for row in rows if row["chosen"]]
    assert chosen["bits_lost"] == min(row["bits_lost"] for row in rows if not row["breaches"])
    assert made.report["after"]["correct_matches"] <= 0.03
    # Where nothing may be recoded or suppressed, changed values are what is left.
    only = replace(
        REQUEST,
        policy=Policy(max_correct_matches=0.2, max_suppressed=0.0),
        levels=replace(REQUEST.levels, fixed=dict.fromkeys(KEYS, 0)),
        missing="level",
    )
    made = protect(people(), only, np.random.default_rng(2))
    (chosen,) = [row for row in made.report["frontier"] if row["chosen"]]
    assert chosen["strength"] > 0
    shares = {c["variable"]: (c["method"], c["parameter"]["rate"]) for c in made.log["changes"]}
    assert shares == {"sex": ("PRAM", chosen["strength"]), "age": ("swapping", chosen["strength"])}
    assert made.report["searched"] == ["sex", "age"]
    assert (made.frame["age"] != people()["age"]).sum() > 0


def test_a_key_is_searched_by_one_method() -> None:
    both = replace(REQUEST, methods=Methods(pram_searched=("sex",), swap={"sex": 0.1}))
    with pytest.raises(GemelError, match="not both"):
        protect(people(), both, np.random.default_rng(2))
    with pytest.raises(GemelError, match="no key wage"):
        protect(people(), replace(REQUEST, methods=Methods(pram_searched=("wage",))), np.random.default_rng(2))
