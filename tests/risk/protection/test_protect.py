"""The loop: what is published meets the policy by the file's own measure, the report is right, the log holds it."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.identification.individual_risk import expected_reciprocal_of_sampled
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.protection.candidate import Setting
from gemel.risk.protection.changes import STRENGTHS, Levels, Methods, strata_of
from gemel.risk.protection.key_table import level_losses, suppression_losses
from gemel.risk.protection.log import verify
from gemel.risk.protection.minimal_change import candidates, minimal_change
from gemel.risk.protection.perturbed_keys import perturbed_keys
from gemel.risk.protection.policy import Policy, record_risks
from gemel.risk.protection.protected_file import protect
from gemel.risk.protection.request import Request
from tests.risk.protection.small_files import KEYS, TOWNS, people

REQUEST = Request(
    KEYS,
    0.1,
    Policy(k=3, max_correct_matches=0.02, max_record_risk=0.05),
    Levels(rows={"town": (TOWNS, "town.csv")}, widths={"age": (5, 10, 20)}, top={"age": 80}),
    Methods(microaggregate=("wage", "bonus"), group=4),
    model=("wage", ("age", "sex")),
    dropped=("id",),
    missing="any",
)


def generator() -> np.random.Generator:
    return np.random.default_rng(2)


def keys_of(frame: pl.DataFrame, missing: str) -> KeyFile:
    names = [k for k in KEYS if k in frame.columns]
    return KeyFile.from_columns({k: frame[k] for k in names}, 0.1, missing=missing)  # type: ignore[arg-type]


@pytest.mark.parametrize("missing", ["any", "level"])
def test_the_published_file_meets_the_policy(missing: str) -> None:
    records = people()
    made = protect(records, replace(REQUEST, missing=missing), generator())  # type: ignore[arg-type]
    file = keys_of(made.frame, missing)
    assert file.frequency.min() >= 3
    risks = expected_reciprocal_of_sampled(file.frequency, 0.1)
    assert risks.max() <= 0.05
    assert risks.mean() <= 0.02
    after = made.report["after"]
    assert after["k"] == file.frequency.min()
    assert after["correct_matches"] == pytest.approx(risks.mean())
    assert made.report["before"]["below_2"] == len(keys_of(records, missing).uniques)
    assert made.frame.height == records.height
    assert "id" not in made.frame.columns
    assert made.frame["weight"].equals(records["weight"])
    assert verify(made.frame, json.loads(json.dumps(made.log)), "p.csv") == []


def test_the_chosen_candidate_loses_less_than_all_recodings_alone() -> None:
    """Whatever node meets the policy without suppression loses at least as much as what was chosen."""
    records = people(200)
    request = replace(REQUEST, policy=Policy(k=3))
    table = request.table(records)
    setting = Setting(request.policy, 0.1, (1.0, 1.0, 1.0))
    chosen = minimal_change(candidates(table, setting))
    assert chosen is not None
    losses = level_losses(table)
    for node in product(*(range(h + 1) for h in table.heights)):
        if table.frequencies(node)[0].min() >= 3:
            assert sum(own[i] for own, i in zip(losses, node, strict=True)) >= chosen.loss - 1e-12


def test_information_lost_by_definition() -> None:
    table = REQUEST.table(people(150))
    node = (2, 0, 1)
    rng = np.random.default_rng(1)
    suppressed = (rng.random(table.codes.shape) < 0.1) & (table.codes >= 0)
    recoded = [own[i] for own, i in zip(level_losses(table), node, strict=True)]
    more = suppression_losses(table, node, suppressed)
    for q, h in enumerate(table.hierarchies):
        bits = 0.0
        values = table.codes[:, q]
        for r in np.flatnonzero(values >= 0):
            level = h.height if suppressed[r, q] else node[q]
            own = h.groups[level]
            alike = (values >= 0) & (own[values] == own[values[r]])
            bits += np.log2(alike.sum() / (values == values[r]).sum())
        assert recoded[q] + more[q] == pytest.approx(bits / len(values))


def test_levels_that_are_given_are_kept() -> None:
    request = replace(REQUEST, levels=replace(REQUEST.levels, fixed={"age": 3, "town": 0}), policy=Policy(k=2))
    made = protect(people(), request, generator())
    assert made.log["codebook"]["age"]["level"] == 3
    assert made.log["codebook"]["town"]["level"] == 0
    assert {row["levels"]["age"] for row in made.report["frontier"]} == {3}


def test_groups_of_the_recoding_search_become_levels() -> None:
    request = Request(("age", "town"), 0.1, Policy(k=2), Levels(found=0.01))
    table = request.table(people(40).with_columns(pl.col("age") // 10))
    assert table.hierarchies[0].height == 2
    assert any(" | " in label for label in table.hierarchies[0].labels[1])


def test_weights_give_each_combination_a_fraction_of_its_own() -> None:
    records = people()
    made = protect(
        records, replace(REQUEST, weights="weight", policy=Policy(k=2, max_record_risk=0.02), model=None), generator()
    )
    file = keys_of(made.frame, "any")
    weights = records["weight"].to_numpy()
    risks = record_risks(file, weights)
    assert risks.max() <= 0.02
    one = int(np.argmax(risks))
    codes = file.codes
    agrees = ((codes == codes[one]) | (codes < 0) | (codes[one] < 0)).all(axis=1)
    pi = agrees.sum() / weights[agrees].sum()
    assert risks[one] == pytest.approx(float(expected_reciprocal_of_sampled(agrees.sum(), pi)), rel=1e-5)
    assert made.report["after"]["record_risk"] == pytest.approx(risks.max())


def test_perturbed_keys_are_less_often_right() -> None:
    request = replace(
        REQUEST,
        policy=Policy(),
        levels=Levels(fixed={"age": 0, "sex": 0, "town": 0}),
        methods=Methods(pram={"sex": 0.4}, swap={"age": 0.5}, within=("sex",)),
    )
    records = people()
    made = protect(records, request, generator())
    changes = {c["variable"]: c for c in made.log["changes"]}
    assert changes["sex"]["values"] == int((made.frame["sex"] != records["sex"]).sum()) > 0
    assert changes["age"]["values"] == int((made.frame["age"] != records["age"]).sum()) > 0
    for sex in ("f", "m"):  # swapped within the original strata
        own = records["sex"] == sex
        assert made.frame["age"].filter(own).sort().equals(records["age"].filter(own).sort())
    p = float((records["sex"] == "f").mean())
    stays = [0.6 + 0.4 * p if s == "f" else 0.6 + 0.4 * (1 - p) for s in made.frame["sex"]]
    ages = []
    for s, a in zip(records["sex"], made.frame["age"], strict=True):
        own = records["age"].filter(records["sex"] == s)
        ages.append(0.5 + 0.5 * float((own == a).mean()))
    file = keys_of(made.frame, "any")
    risks = expected_reciprocal_of_sampled(file.frequency, 0.1) * np.array(stays) * np.array(ages)
    assert made.report["after"]["correct_matches"] == pytest.approx(risks.mean())


def test_utility_by_hand() -> None:
    records = people()
    fixed = replace(REQUEST.levels, fixed={"age": 2, "sex": 0})
    made = protect(records, replace(REQUEST, levels=fixed), generator(), frontier=False)
    found = made.report["utility"]
    wage = next(m for m in found["moments"] if m["name"] == "wage")
    assert wage["mean"][0] == pytest.approx(records["wage"].mean())
    assert wage["mean"][1] == pytest.approx(records["wage"].mean())
    assert wage["deviation"] == pytest.approx([records["wage"].std(), made.frame["wage"].std()])
    pair = next(c for c in found["correlations"] if c["names"] == ["wage", "bonus"])
    assert pair["after"] == pytest.approx(np.corrcoef(made.frame["wage"], made.frame["bonus"])[0, 1])
    x = np.stack([np.ones(400), records["age"].to_numpy(), (records["sex"] == "m").to_numpy()], axis=1)
    commonest = records["sex"].mode()[0]
    x[:, 2] = records["sex"] != commonest
    assert [c["name"] for c in found["coefficients"]][:2] == ["(intercept)", "age"]
    beta = np.linalg.lstsq(x, records["wage"].to_numpy(), rcond=None)[0]
    assert [c["value"][0] for c in found["coefficients"]] == pytest.approx(beta)
    assert all(c["overlap"] <= 1.0 + 1e-12 for c in found["coefficients"])
    assert {tuple(t["names"]) for t in found["tables"]} == {("age", "sex"), ("age", "town"), ("sex", "town")}


def test_a_term_that_is_left_out_is_not_compared() -> None:
    request = replace(REQUEST, levels=replace(REQUEST.levels, fixed={"sex": 1}), model=("wage", ("bonus", "sex")))
    found = protect(people(), request, generator(), frontier=False).report["utility"]
    assert found["terms_left_out"] == ["sex"]
    assert [c["name"] for c in found["coefficients"]] == ["(intercept)", "bonus"]


def test_a_category_that_is_suppressed_wholly_is_left_out_on_both_sides() -> None:
    town = pl.when(pl.arange(0, 400) == 5).then(pl.lit("ayr")).otherwise(pl.col("town").fill_null("leeds"))
    records = people().with_columns(town=town)
    levels = Levels(fixed={"sex": 0, "town": 0})
    request = Request(("sex", "town"), 0.1, Policy(k=2), levels, model=("wage", ("town",)), missing="any")
    made = protect(records, request, generator(), frontier=False)
    assert made.frame["town"][5] is None
    found = made.report["utility"]
    assert found["terms_left_out"] == ["town: ayr"]
    assert [c["name"] for c in found["coefficients"]] == ["(intercept)", "town: dover", "town: kent", "town: york"]
    assert all(c["overlap"] == pytest.approx(1.0) for c in found["coefficients"])
    nothing = protect(records, replace(request, model=("wage", ("wage", "bonus", "wage"))), generator(), frontier=False)
    assert nothing.report["utility"]["terms_left_out"] == ["wage", "wage", "bonus", "wage"]


def test_nothing_changed_costs_nothing() -> None:
    made = protect(people(), Request(KEYS, 0.1, model=("wage", ("age", "sex"))), generator())
    assert made.log["changes"] == []
    assert sum(row["bits"] for row in made.report["lost"]) == 0.0
    assert all(t["hellinger"] == t["jensen_shannon"] == 0.0 for t in made.report["utility"]["tables"])
    assert all(c["overlap"] == pytest.approx(1.0) for c in made.report["utility"]["coefficients"])
    assert made.report["before"] == made.report["after"]


def test_the_log_holds_no_value_that_is_not_published() -> None:
    records = people(60)
    made = protect(records, REQUEST, generator())
    assert "identifying" in made.report
    text = json.dumps(made.log)
    for name in ("id", "wage"):
        assert not [v for v in records[name].cast(pl.String) if f'"{v}"' in text]
    assert "seed" not in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"keys": ("age", "height")}, "no column height"),
        ({"fraction": 0.0}, "fraction"),
        ({"policy": Policy(k=401)}, "401 of 400 records"),
        ({"policy": Policy(max_record_risk=1e-9)}, "no file of so many records"),
        ({"policy": Policy(max_correct_matches=0.0)}, "nothing that was tried meets"),
        ({"importance": {"wage": 2.0}}, "no key wage"),
        ({"importance": {"age": 0.0}}, "above 0"),
        ({"methods": Methods(noise={"age": 0.1})}, "a key is recoded"),
        ({"methods": Methods(noise={"town": 0.1}), "keys": ("age", "sex"), "levels": Levels()}, "must hold numbers"),
        ({"methods": Methods(pram={"sex": 0.1}, swap={"sex": 0.1})}, "not both"),
        ({"levels": Levels(fixed={"sex": 5})}, "no such level"),
        ({"levels": Levels(widths={"town": (5,)})}, "whole numbers"),
        ({"dropped": ("sex",)}, "cannot be dropped"),
        ({"model": ("town", ("age",))}, "a key of categories"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(GemelError, match=words):
        protect(people(), replace(REQUEST, **change), generator())  # type: ignore[arg-type]


def test_a_key_with_one_value_and_weights_of_zero() -> None:
    with pytest.raises(GemelError, match="key sex: the key has one value"):
        protect(people().with_columns(sex=pl.lit("f")), REQUEST, generator())
    nothing = people().with_columns(weight=pl.when(pl.col("age") < 30).then(0.0).otherwise(1.0))
    with pytest.raises(GemelError, match="numbers above 0"):
        protect(nothing, replace(REQUEST, weights="weight"), generator())
    with pytest.raises(GemelError, match="no records"):
        protect(people().head(0), REQUEST, generator())


@pytest.mark.parametrize(
    ("policy", "words"),
    [({"k": 1}, "at least 2"), ({"max_suppressed": 2}, "0 to 1"), ({"l": 3}, "no l"), ({"k": "3"}, "is a number")],
)
def test_a_policy_that_is_none(policy: dict[str, object], words: str) -> None:
    with pytest.raises(GemelError, match=words):
        Policy.read(policy, "policy.yaml")


def test_a_file_that_is_no_longer_what_its_log_describes() -> None:
    made = protect(people(), REQUEST, generator())
    key = next(iter(made.log["codebook"]))
    other = pl.when(pl.arange(0, 400) == 7).then(pl.lit("x")).otherwise(pl.col(key).cast(pl.String))
    changed = {
        "not in its codebook": made.frame.with_columns(other.alias(key)),
        "400 records": made.frame.head(399),
        "columns are not": made.frame.drop("bonus"),
        "another digest": made.frame.with_columns(wage=pl.col("wage") + 1),
    }
    for words, frame in changed.items():
        assert words in " ".join(str(e) for e in verify(frame, made.log, "p.csv")), words
    unprotected = people().select(c for c in people().columns if c in made.frame.columns)
    text = " ".join(str(e) for e in verify(unprotected, made.log, "p.csv"))
    assert "codebook" in text or "agree with fewer" in text
    for log in ({}, {**made.log, "version": 99}):
        with pytest.raises(GemelError) as refused:
            verify(made.frame, log, "p.csv")
        assert refused.value.code is ErrorCode.MALFORMED
    lacking = {k: v for k, v in made.log.items() if k != "codebook"}
    with pytest.raises(GemelError, match="lacks an entry"):
        verify(made.frame, lacking, "p.csv")


# How many values to redraw or swap, searched: what is lost by it, and the least change among all strengths.

SEARCHED = Request(
    KEYS,
    0.1,
    Policy(max_correct_matches=0.03),
    Levels(rows={"town": (TOWNS, "town.csv")}, widths={"age": (5, 10, 20)}),
    Methods(pram_searched=("sex",), swap_searched=("age",), within=("sex",)),
)


def test_joint_shares_are_those_of_many_draws() -> None:
    records = people(120).with_columns(age=people(120)["age"] // 20)
    request = replace(SEARCHED, levels=Levels())
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
    table = SEARCHED.table(people(200))
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
    made = protect(people(), SEARCHED, np.random.default_rng(2))
    rows = made.report["frontier"]
    assert {row["strength"] for row in rows} == set(STRENGTHS)
    (chosen,) = [row for row in rows if row["chosen"]]
    assert chosen["bits_lost"] == min(row["bits_lost"] for row in rows if not row["breaches"])
    assert made.report["after"]["correct_matches"] <= 0.03
    # Where nothing may be recoded or suppressed, changed values are what is left.
    only = replace(
        SEARCHED,
        policy=Policy(max_correct_matches=0.2, max_suppressed=0.0),
        levels=replace(SEARCHED.levels, fixed=dict.fromkeys(KEYS, 0)),
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
    both = replace(SEARCHED, methods=Methods(pram_searched=("sex",), swap={"sex": 0.1}))
    with pytest.raises(GemelError, match="not both"):
        protect(people(), both, np.random.default_rng(2))
    with pytest.raises(GemelError, match="no key wage"):
        protect(people(), replace(SEARCHED, methods=Methods(pram_searched=("wage",))), np.random.default_rng(2))
