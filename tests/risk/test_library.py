"""`gemel.risk` as a library: the figures of the commands of the same names, from tables and from files."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import gemel
from gemel.command import app
from gemel.risk.library import identification, tables

KEYS = ["age", "sex", "town"]


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> tuple[pl.DataFrame, Path]:
    rng = np.random.default_rng(2)
    n = 120
    table = pl.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "sex": rng.choice(["f", "m"], n),
            "town": rng.choice(["Bath", "Ely", "Ryde"], n, p=[0.7, 0.2, 0.1]),
            "income": rng.integers(10, 90, n),
            "weight": rng.integers(5, 15, n),
            "household": np.arange(n) // 3,
            "tenure": np.repeat(rng.choice(["own", "rent"], n // 3), 3),
            "illness": rng.choice(["none", "flu", "cough"], n),
        }
    )
    path = tmp_path_factory.mktemp("people") / "people.csv"
    table.write_csv(path)
    return table, path


def by_command(path: Path, *arguments: str) -> dict[str, object]:
    out = path.with_suffix(".json")
    done = CliRunner().invoke(app, ["risk", *arguments, "--json", str(out)])
    assert done.exit_code in (0, 1), done.output
    return dict(json.loads(out.read_text()))


def plain(document: dict[str, object]) -> dict[str, object]:
    return dict(json.loads(json.dumps(document)))


def test_the_examples_are_right() -> None:
    failed, attempted = np.sum([doctest.testmod(module) for module in (identification, tables)], axis=0)
    assert attempted > 14
    assert not failed


def test_identification_is_the_commands(people: tuple[pl.DataFrame, Path]) -> None:
    table, path = people
    expected = by_command(path, "identify", str(path), "--keys", ",".join(KEYS), "--fraction", "0.1")
    assert plain(gemel.risk.identify(table, KEYS, 0.1).document) == expected
    assert plain(gemel.risk.identify(path, KEYS, 0.1).document) == expected
    assert "srcdoc" in gemel.risk.identify(table.to_pandas(), KEYS, 0.1)._repr_html_()


def test_all_that_is_known_beside_the_keys_is_the_commands(people: tuple[pl.DataFrame, Path]) -> None:
    """Units, sensitive and numeric variables, swapped and misclassified keys, weights, two key sets: at once."""
    table, path = people
    perturbed = path.with_name("perturbed.csv")
    changed = table.with_columns(pl.col("income") + 1)
    changed.write_csv(perturbed)
    theta = {"sex": {"f": {"f": 0.9, "m": 0.1}, "m": {"m": 1.0}}}
    matrices = path.with_name("theta.json")
    matrices.write_text(json.dumps(theta))
    expected = by_command(
        *(perturbed, "identify", str(perturbed), "--keys", "age,sex", "--keys", "sex,town", "--weights", "weight"),
        *("--unit", "household", "--unit-keys", "tenure", "--sensitive", "illness", "--ordinal", "income"),
        *("--numeric", "income", "--original", str(path), "--swapped", "town=0.2", "--theta", str(matrices)),
        *("--target", "0.1", "--models", "exact", "--no-records", "--missing-values", ",NA,none"),
    )
    options = {
        "weights": "weight", "unit": "household", "unit_keys": ["tenure"], "sensitive": ["illness"],
        "ordinal": ["income"], "numeric": ["income"], "swapped": {"town": 0.2}, "target": 0.1, "models": "exact",
        "listed": False, "missing_values": ["", "NA", "none"],
    }  # fmt: skip
    sets = [["age", "sex"], ["sex", "town"]]
    found = gemel.risk.identify(changed, sets, original=table, theta=theta, **options)
    assert plain(found.document) == expected
    assert [row["keys"] for row in found["comparison"]] == sets
    of_files = gemel.risk.identify(perturbed, sets, original=path, theta=matrices, **options)
    assert plain(of_files.document) == expected
    assert "srcdoc" in found._repr_html_()


def test_key_sets_beside_names_and_matrices_that_are_none(people: tuple[pl.DataFrame, Path]) -> None:
    table, _ = people
    with pytest.raises(gemel.GemelError, match="write a key set of one variable as a list too"):
        gemel.risk.identify(table, ["sex", ["town", "age"]], 0.1)
    with pytest.raises(gemel.GemelError, match=r"theta, sex: .*for each true level"):
        gemel.risk.identify(table, ["sex"], 0.1, theta={"sex": {"f": 0.9}})
    assert gemel.risk.identify(table, "sex", 0.1)["file"]["keys"] == [{"name": "sex", "levels": 2}]


def test_measures_of_records(people: tuple[pl.DataFrame, Path]) -> None:
    table, _ = people
    scores = gemel.risk.suda(table, KEYS, 0.1)
    alone = table.select(pl.struct(KEYS).is_unique()).to_series()
    assert (scores["minimal_uniques"] > 0).equals(alone)
    assert (scores["is_score"] > 0).equals(alone)
    measured = gemel.risk.dis(table, KEYS, 0.1)
    assert 0 < measured.low < measured.value < measured.high < 1
    assert alone.sum() / (1 / scores["dis_is"].filter(alone)).sum() == pytest.approx(measured.value)  # harmonic mean
    risks = gemel.risk.individual(table, KEYS, "weight")
    assert risks.len() == table.height
    assert risks.is_between(0, 1).all()
    found = gemel.risk.log_linear(table, ["age", "town"], 0.1)
    assert found.models[found.chosen].tau1 > 0


def test_protection_meets_its_policy(people: tuple[pl.DataFrame, Path]) -> None:
    table, path = people
    made = gemel.risk.protect(table, KEYS, 0.1, policy=gemel.risk.Policy(k=3), drop=["weight"], frontier=False)
    # A suppressed value agrees with suppressed ones: counted pair by pair.
    left = [key for key in KEYS if key in made.frame.columns]
    assert left
    rows = made.frame.select(left).rows()
    agreeing = [sum(one == other for other in rows) for one in rows]
    assert min(agreeing) >= 3
    assert "weight" not in made.frame.columns
    before, after = made.risk.filter(pl.col("measure") == "k").row(0)[1:]
    assert before < 3 <= after
    out = path.with_name("protected.csv")
    done = CliRunner().invoke(
        app, ["risk", "protect", str(path), "--keys", ",".join(KEYS), "--fraction", "0.1", "--k", "3",
              "--drop", "weight", "--out", str(out), "--no-frontier"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    written = pl.read_csv(out, infer_schema=False)
    assert written.select(left).equals(made.frame.select(pl.col(left).cast(pl.String)))


def test_protection_by_the_population_is_the_commands(people: tuple[pl.DataFrame, Path]) -> None:
    table, path = people
    whole = pl.concat([table, table.with_columns(pl.col("age") + 1)])
    everyone = path.with_name("everyone.csv")
    whole.write_csv(everyone)
    made = gemel.risk.protect(
        *(table, KEYS), population=whole, policy=gemel.risk.Policy(max_correct_matches=0.3),
        importance={"sex": 2.0}, numbers=["income"], drop=["household"], frontier=False, seed=1,
    )  # fmt: skip
    out = path.with_name("protected.csv")
    expected = by_command(
        *(path, "protect", str(path), "--keys", ",".join(KEYS), "--population", str(everyone), "--out", str(out)),
        *("--max-correct-matches", "0.3", "--importance", "sex=2", "--numbers", "income", "--drop", "household"),
        *("--no-frontier", "--seed", "1"),
    )
    assert plain(made.assessment.document) == expected
    row = made.risk.filter(pl.col("measure") == "exact_correct_matches")
    assert row["after"].item() == expected["after"]["exact"]["correct_matches"] <= 0.3 < row["before"].item()
    for wrong in ({}, {"fraction": 0.1, "population": whole}):
        with pytest.raises(gemel.GemelError, match="give one of the two"):
            gemel.risk.protect(table, KEYS, **wrong)


def test_tables_of_sums_are_the_commands(people: tuple[pl.DataFrame, Path]) -> None:
    table, path = people
    expected = by_command(path, "magnitude", str(path), "--by", "sex,town", "--value", "income")
    assert plain(gemel.risk.magnitude_tables(table, [["sex", "town"]], "income").document) == expected


def test_a_column_that_is_not_there(people: tuple[pl.DataFrame, Path]) -> None:
    with pytest.raises(gemel.GemelError, match="there is no column shoe"):
        gemel.risk.identify(people[0], ["shoe"], 0.1)
    with pytest.raises(AttributeError, match="no attribute 'sudda'"):
        gemel.risk.sudda  # noqa: B018
