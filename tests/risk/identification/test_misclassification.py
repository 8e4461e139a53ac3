"""Misclassification: equation 7 against all outcomes, equation 8, the identities of tables 1 and 2, swapping, PRAM."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.risk.identification.file_level import population_measures
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.loglinear.risk import log_linear_risk
from gemel.risk.identification.misclassification import Perturbation, aligned, misclassification_risk, swapping_matrix
from gemel.risk.identification.reader import read_theta
from research._swapping import observed_matrix, random_swap
from tests.risk.identification.small_files import identified, refusal


def matrix(draw, levels):
    rows = [draw(st.lists(st.integers(1, 5), min_size=levels, max_size=levels)) for _ in range(levels)]
    theta = np.array(rows, dtype=float).T
    return theta / theta.sum(axis=0)


@given(st.data())
def test_equation_7_is_the_share_of_all_outcomes(data):
    """Everyone is sampled or not, and if sampled observed somewhere: the chance that a given person of j is the one
    record observed at j, given that there is one."""
    people = data.draw(st.lists(st.integers(0, 2), min_size=2, max_size=4))
    theta = matrix(data.draw, 3)
    pi = data.draw(st.sampled_from([0.1, 0.5, 0.9]))
    requested = people[0]
    alone, mine = 0.0, 0.0
    for fates in product(range(-1, 3), repeat=len(people)):
        chance = 1.0
        for true, seen in zip(people, fates, strict=True):
            chance *= 1 - pi if seen < 0 else pi * theta[seen, true]
        if fates.count(requested) == 1:
            alone += chance
            mine += chance * (fates[0] == requested)
    labels = (tuple("012"),)
    cells, counts = np.unique(people, return_counts=True)
    file = KeyFile(
        ("x",),
        labels,
        np.array([[requested]], dtype=np.int32),
        pi,
        cells[:, None].astype(np.int32),
        counts,
        perturbed=True,
    )
    found = misclassification_risk(file, {"x": theta})
    assert found.exact[0] == pytest.approx(mine / alone, rel=1e-9)
    F = sum(n * theta[requested, k] for k, n in zip(cells, counts, strict=True))
    assert found.approximate[0] == pytest.approx(theta[requested, requested] / F)
    assert found.exact[0] <= 1 / people.count(requested) + 1e-12


@given(st.data())
def test_variables_perturbed_independently_multiply(data):
    theta = {"a": matrix(data.draw, 2), "c": matrix(data.draw, 3)}
    rows = data.draw(
        st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 2)), min_size=3, max_size=20)
    )
    people = [*product((0, 1), (0, 1), (0, 1, 2)), *rows]
    sample = {n: [row[q] for row in rows] for q, n in enumerate("abc")}
    population = {n: [row[q] for row in people] for q, n in enumerate("abc")}
    file = KeyFile.from_columns(sample, 0.3, population=population, perturbed=True)
    found = misclassification_risk(file, theta)
    for at, record in enumerate(found.uniques):
        own = rows[record]
        chances = np.array([theta["a"][own[0], p[0]] * (own[1] == p[1]) * theta["c"][own[2], p[2]] for p in people])
        stay = theta["a"][own[0], own[0]] * theta["c"][own[2], own[2]]
        plain = (stay / (1 - 0.3 * stay)) / (chances / (1 - 0.3 * chances)).sum()
        assert found.exact[at] == pytest.approx(plain)
        assert found.approximate[at] == pytest.approx(stay / chances.sum())


def test_an_empty_cell_of_the_population_has_no_match():
    file = KeyFile(
        ("x",), (("a", "b"),), np.array([[1]], np.int32), 0.1, np.array([[0]], np.int32), np.array([9]), perturbed=True
    )
    found = misclassification_risk(file, {"x": [[0.9, 0.2], [0.1, 0.8]]})
    assert (found.tau, found.tau_approximate) == (0, 0)


def test_without_misclassification_it_is_one_over_the_population_count():
    rng = np.random.default_rng(1)
    population = {n: rng.integers(0, 6, 3_000) for n in "abc"}
    chosen = rng.random(3_000) < 0.05
    file = KeyFile.from_columns({n: v[chosen] for n, v in population.items()}, 0.05, population=population)
    found = misclassification_risk(file, {"a": np.eye(6)})
    assert found.tau == pytest.approx(population_measures(file)["Pr(CM | SU)"] * len(file.uniques))
    assert found.tau_approximate == pytest.approx(found.tau)
    model = log_linear_risk(file, "independence")
    assert misclassification_risk(file, {}, model).tau_estimated == pytest.approx(model.tau2)


def test_the_swapping_matrix_is_one_of_distributions_and_simulated_swaps_follow_it():
    """200 swaps of 2,000 records; each entry within 5 standard errors and .004 for the partners that run out."""
    rng = np.random.default_rng(3)
    values = rng.choice(5, 2_000, p=[0.3, 0.25, 0.2, 0.15, 0.1]).astype(np.int32)
    counts = np.bincount(values, minlength=5)
    theta = swapping_matrix(counts, 0.2)
    assert np.allclose(theta.sum(axis=0), 1)
    assert np.allclose(np.diag(theta), 0.8)
    simulated = np.array([observed_matrix(values, random_swap(values, 0.2, rng), 5) for _ in range(200)])
    error = np.abs(simulated.mean(axis=0) - theta)
    assert (error < 5 * simulated.std(axis=0, ddof=1) / np.sqrt(200) + 0.012).all(), error


def test_the_swapping_matrix_fails_where_one_level_dominates():
    rng = np.random.default_rng(3)
    values = np.repeat(np.array([0, 1], dtype=np.int32), [1_900, 100])
    simulated = observed_matrix(values, random_swap(values, 0.2, rng), 2)
    assert swapping_matrix(np.bincount(values), 0.2)[0, 0] == pytest.approx(0.8)
    assert simulated[0, 0] > 0.98  # there is no one to swap with


def test_swapping_keeps_the_margin_and_moves_the_share_asked_for():
    rng = np.random.default_rng(9)
    values = rng.integers(0, 4, 1_000).astype(np.int32)
    swapped = random_swap(values, 0.2, rng)
    assert (np.bincount(swapped) == np.bincount(values)).all()
    assert (swapped != values).sum() == pytest.approx(200, abs=8)
    assert (random_swap(values, 0.0, rng) == values).all()


def test_bad_input():
    file = KeyFile.from_columns({"x": [0, 1, 1]}, 0.1)
    for theta, words in (
        ({"y": np.eye(2)}, "no key variable y"),
        ({"x": np.eye(3)}, "2 rows and columns"),
        ({"x": [[0.9, 0.1], [0.2, 0.8]]}, "transpose it"),
    ):
        with pytest.raises(GemelError, match=words):
            misclassification_risk(file, theta)
    with pytest.raises(GemelError, match="one of another file"):
        misclassification_risk(file, {}, log_linear_risk(KeyFile.from_columns({"x": [0, 1]}, 0.1)))
    with pytest.raises(GemelError, match="two levels must have records"):
        swapping_matrix([5, 0], 0.2)
    with pytest.raises(GemelError, match="from 0 to 1"):
        swapping_matrix([5, 5], 1.2)
    perturbed = KeyFile.from_columns({"x": [0, 0]}, population={"x": [0, 1]}, perturbed=True)
    assert perturbed.population_sizes is None
    assert perturbed.people_alike.tolist() == [1]
    assert population_measures(perturbed) == {}


# Misclassification matrices from files: both forms, the same risk as of arrays, and what is no matrix.

YAML = """\
region:
  n: {n: 0.8, s: 0.2}
  s: {s: 0.7, no: 0.3}
  no: {no: 1}
"""
MATRIX = [[0.8, 0.0, 0.0], [0.0, 1.0, 0.3], [0.2, 0.0, 0.7]]  # [observed, true] in the order n, no, s


def test_all_forms_are_the_same_matrix(tmp_path):
    (tmp_path / "t.yaml").write_text(YAML, encoding="utf-8")
    rows = {"n": {"n": 0.8, "s": 0.2}, "s": {"s": 0.7, "no": 0.3}, "no": {"no": 1}}
    (tmp_path / "t.json").write_text(json.dumps({"region": rows}), encoding="utf-8")
    (tmp_path / "true.csv").write_text("true,n,no,s\ns,0,.3,.7\nn,.8,,.2\nno,0,1,0\n", encoding="utf-8")
    (tmp_path / "seen.csv").write_text("observed,n,s,no\nn,.8,0,0\ns,.2,.7,0\nno,0,.3,1\n", encoding="utf-8")
    forms = [str(tmp_path / "t.yaml"), str(tmp_path / "t.json")]
    forms += [f"region={tmp_path / name}.csv" for name in ("true", "seen")]
    for form in forms:
        stated = read_theta([form])["region"]
        assert aligned(stated, ("n", "no", "s"), "theta") == pytest.approx(np.array(MATRIX))


def test_the_risk_is_that_of_the_arrays():
    rng = np.random.default_rng(2)
    people = {"region": rng.choice(["n", "no", "s"], 400), "age": rng.integers(0, 9, 400)}
    sample = {name: values[:60] for name, values in people.items()}
    file = KeyFile.from_columns(sample, population=people, perturbed=True)
    stated = {"n": {"n": 0.8, "s": 0.2}, "s": {"s": 0.7, "no": 0.3}, "no": {"no": 1.0}}
    own = Perturbation({"age": 0.1}, {"region": stated}).matrices(file)
    q = file.names.index("age")
    expected = {
        "region": np.array(MATRIX),
        "age": swapping_matrix(np.bincount(file.codes[:, q], minlength=file.levels[q]), 0.1),
    }
    assert misclassification_risk(file, own).tau == pytest.approx(misclassification_risk(file, expected).tau)


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"n": {"n": 1.0}}, "every level.*1 of 2"),
        ({"n": {"n": 1.0}, "s": {"x": 1.0}}, "neither the records nor the population.*x"),
        ({"n": {"n": 0.9}, "s": {"s": 1.0}}, "sums from 0.9 to 1"),
        ({"n": {"n": 0.9, "s": 0.2}, "s": {"n": 0.1, "s": 0.8}}, "transpose"),
    ],
)
def test_what_is_no_matrix_of_a_file(stated, words):
    with pytest.raises(GemelError, match=words):
        aligned(stated, ("n", "s"), "theta of region")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("t.yaml", "region: [1, 2]", "mapping of what is observed"),
        ("t.yaml", "- region", "mapping of key variables"),
        ("t.yaml", "region: {n: {n: 1.5}}", "from 0 to 1"),
        ("t.json", '{"region": {"n": {"n": true}}}', "from 0 to 1"),
        ("t.csv", "region,n\nn,1\n", "`true` or `observed`"),
        ("t.csv", "true,n,s\nn,1\n", "every level once"),
        ("t.csv", "true,n,s\nn,1,0\nn,0,1\n", "every level once"),
        ("t.csv", "true,n\nn,much\n", "from 0 to 1"),
        ("t.csv", "", "`true` or `observed`"),
    ],
)
def test_what_is_no_file_of_matrices(tmp_path, name, text, words):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(GemelError, match=words) as caught:
        read_theta([str(path) if name != "t.csv" else f"region={path}"])
    assert str(path) in str(caught.value)


def test_the_command_with_a_matrix(tmp_path):
    rng = np.random.default_rng(2)
    rows = [f"{r},{a}" for r, a in zip(rng.choice(["n", "s", "no"], 60), rng.integers(0, 9, 60), strict=True)]
    (tmp_path / "r.csv").write_text("\n".join(["region,age", *rows]) + "\n", encoding="utf-8")
    (tmp_path / "t.yaml").write_text(YAML, encoding="utf-8")
    records, theta = tmp_path / "r.csv", tmp_path / "t.yaml"
    arguments = f"--keys region,age --fraction 0.1 --theta {theta}"
    _, found, page = identified(records, arguments)
    assert found["misclassification"]["theta"] == {"region": {"unchanged_min": 0.7, "unchanged_max": 1.0}}
    tau2 = next(m["value"] for m in found["measures"] if m["name"] == "tau2")
    assert 0.7 * tau2 < found["misclassification"]["tau_estimated"] < tau2
    assert "With misclassified values" in page
    for wrong, words in (
        (f"--theta {tmp_path / 'none.yaml'}", "no such file"),
        ("--theta region", "--theta"),
        (f"--theta age={records}", "`true` or `observed`"),
        (f"--theta {theta}", "two misclassification matrices"),
        ("--swapped region=0.1", "both swapped and given"),
    ):
        assert words in refusal(records, f"{arguments} {wrong}")
