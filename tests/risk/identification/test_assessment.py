"""The whole assessment: command, JSON, page; what is left out and why; bad input of files."""

from __future__ import annotations

import json
import re

import numpy as np
import polars as pl
import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.identification.assessment.file_assessment import assess
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.misclassification import Perturbation
from gemel.risk.identification.reader import read_key_file, read_weights
from gemel.risk.report.identification import render
from tests.risk.identification.small_files import identified, refusal


def people(n: int, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    region = rng.choice(5, n, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    age = np.minimum(rng.poisson(3, n) + region // 3, 7)
    status = np.where(rng.random(n) < 0.7, age // 3, rng.integers(0, 4, n))
    return pl.DataFrame({"region": region, "age": age, "status": status, "weight": np.full(n, 10.0)}).with_columns(
        pl.col("region").replace_strict(dict(enumerate("abcd<")), return_dtype=pl.String)
    )


KEYS = ["region", "age", "status"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    whole = people(4_000)
    whole.write_csv(folder / "population.csv")
    whole[::10].write_csv(folder / "sample.csv")
    return folder


def test_the_command_writes_a_report_and_everything_as_json(files):
    _, found, text = identified(
        files / "sample.csv", f"--keys {','.join(KEYS)} --population {files / 'population.csv'}"
    )
    assert {m["name"] for m in found["measures"]} >= {"DIS", "Pr(CM | UM)", "tau1", "tau2", "Pr(CM), modelled"}
    assert all(m["meaning"] and m["intruder"] and m["lower"] for m in found["measures"])
    assert found["left_out"] == []
    assert all(c["relative_risk"] > 0 and c["merged_avoided"] >= -1e-9 for c in found["risk_reduction"]["by_category"])
    ten, every, smallest = found["modelled"]["attacks"]
    assert ten["combinations"] == 10
    assert 0 < ten["true"] <= 1
    assert every["true"] == pytest.approx(next(m["value"] for m in found["measures"] if m["name"] == "Pr(CM | UM)"))
    assert smallest["cost"] == pytest.approx(every["cost"], rel=0.2)
    assert len(found["strategies"]) == 7
    assert found["file"]["fraction"] == pytest.approx(0.1)
    for own in found["histogram"]["series"].values():
        assert sum(own["share"]) == pytest.approx(1)
        assert own["at_or_above"][0] == pytest.approx(1)
        assert (np.diff(own["at_or_above"]) <= 1e-12).all()
    assert text.count("<svg") == 5 + 4  # charts; graphs of both models, a junction tree, the trace beside DIS
    assert not re.search(r"<script|src=|href=", text)
    assert "a, age" in text or "region" in text


def test_riskiest_records_are_uniques_with_what_makes_them_stand_out(files):
    file = read_key_file(files / "sample.csv", KEYS, population=files / "population.csv")
    found = assess(file)
    listed = found["highest_risk_records"]
    assert listed == sorted(listed, key=lambda r: (r["population"], -r["calibrated"]))
    uniques = {int(u) + 1 for u in file.uniques}
    rows = pl.read_csv(files / "sample.csv", infer_schema=False)
    for r in listed:
        assert r["record"] in uniques
        own = rows.row(r["record"] - 1, named=True)
        assert {k: own[k] for k in KEYS} == r["values"]
        for special in r["special"]:
            alike = rows.filter([pl.col(k) == v for k, v in special.items()])
            assert len(alike) == 1
        whole = pl.read_csv(files / "population.csv", infer_schema=False)
        assert len(whole.filter([pl.col(k) == own[k] for k in KEYS])) == r["population"]


def test_no_records_means_no_key_values_of_records(files):
    file = read_key_file(files / "sample.csv", KEYS, 0.1)
    found = assess(file, records=False)
    assert found["highest_risk_records"] == []
    assert "The records of highest risk" not in render(found)


def test_values_are_escaped_on_the_page(files):
    file = KeyFile.from_columns({"x": ["<i>x</i>", "2", "2"], "y": ["a", "b", "b"]}, 0.1)
    text = render(assess(file))
    assert "<i>" not in text
    assert "&lt;i&gt;x" in text


def test_swapping_lowers_the_risk(files):
    plain = assess(read_key_file(files / "sample.csv", KEYS, 0.1))
    swapped = assess(
        read_key_file(files / "sample.csv", KEYS, 0.1, perturbed=True), perturbation=Perturbation({"region": 0.2})
    )
    tau2 = next(m["value"] for m in plain["measures"] if m["name"] == "tau2")
    assert swapped["misclassification"]["tau_estimated"] == pytest.approx(0.8 * tau2)
    assert "With swapped values" in render(swapped)


def test_a_swapped_file_beside_its_population(files, tmp_path):
    rng = np.random.default_rng(4)
    sample = pl.read_csv(files / "sample.csv", infer_schema=False)
    sample = sample.with_columns(sample["region"].shuffle(seed=int(rng.integers(100))))
    sample.write_csv(tmp_path / "swapped.csv")
    arguments = f"--keys {','.join(KEYS)} --population {files / 'population.csv'}"
    found = identified(tmp_path / "swapped.csv", f"{arguments} --swapped region=0.7").document
    assert found["misclassification"]["tau"] > 0
    assert found["left_out"] == []
    assert "strategies" not in found
    assert "true" not in found["histogram"]["series"]
    assert "more often in the sample" in refusal(tmp_path / "swapped.csv", arguments)


def test_levels_are_merged_in_a_long_search_only_when_asked_for(files, monkeypatch):
    monkeypatch.setattr("gemel.risk.identification.matching.risk_reduction._EFFORT", 10)
    file = read_key_file(files / "sample.csv", KEYS, 0.1)
    found = assess(file)
    assert found["left_out"] == []
    soon = found["risk_reduction"]["recoding"]
    assert soon["reached"]
    assert not soon["merging"]
    assert all(words.startswith("leave out") for words in soon["words"])
    assert "only whole keys were left out" in render(found)
    requested = assess(file, selected=0.02)
    assert requested["left_out"] == []
    assert requested["risk_reduction"]["recoding"]["merging"]
    assert requested["risk_reduction"]["recoding"]["after"] <= 0.02


def test_survey_weights(files):
    weights = read_weights(files / "sample.csv", "weight")
    file = read_key_file(files / "sample.csv", KEYS, 0.1)
    found = assess(file, weights=weights)
    assert found["log_linear"]["weighted"]
    assert found["log_linear"]["models"][0]["B1"] is None
    json.dumps(found, allow_nan=False)
    with pytest.raises(GemelError, match="numbers above 0"):
        read_weights(files / "sample.csv", "region")


def test_where_missing_agrees_with_all_what_needs_cells_is_left_out_with_a_reason():
    rng = np.random.default_rng(1)
    columns = {n: [None if rng.random() < 0.1 else int(v) for v in rng.integers(0, 20, 200)] for n in "abc"}
    found = assess(KeyFile.from_columns(columns, 0.1, missing="any"))
    assert {left["what"] for left in found["left_out"]} == {"calibrated risk", "log-linear risk", "modelled matching"}
    assert found["special_uniques"]["minimal_uniques"] > 0
    assert "agree with every value" in render(found)


def test_numbers_with_many_decimals_as_keys():
    file = KeyFile.from_columns({"income": np.random.default_rng(1).normal(size=3_000), "sex": [0, 1] * 1_500}, 0.1)
    found = assess(file)
    codes = [w["code"] for w in found["warnings"]]
    assert codes[:3] == ["model_contradicts_dis", "model_contradicts_dis", "key_nearly_unique"]
    assert "its risks are too low" in found["warnings"][0]["text"]
    assert "income has 3,000 values in 3,000 records" in found["warnings"][2]["text"]
    assert found["file"]["uniques"] == 3_000
    assert found["measures"][0]["value"] == 1
    assert {left["what"] for left in found["left_out"]} == {"calibrated risk"}
    assert "recoding" in found["risk_reduction"]
    assert "<strong>Not to be relied on: log-linear and modelled.</strong>" in render(found)


@pytest.mark.parametrize(
    "columns",
    [
        {"a": ["x"]},
        {"a": ["x", "x", "y", "y"], "b": ["z"] * 4},
        {"a": ["x", "y"], "b": ["z", "z"]},
        {"a": np.random.default_rng(1).normal(size=60)},
        {"a": ["x"] * 5},
    ],
)
def test_odd_files_have_defined_results(columns):
    found = assess(KeyFile.from_columns(columns, 0.1))
    json.dumps(found, allow_nan=False)
    assert "Identification risk" in render(found)
    assert found["measures"][0]["name"] == "DIS"


def test_errors_of_the_command(files, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    sample, population = files / "sample.csv", files / "population.csv"
    for records, arguments, words in (
        (sample, "--keys region,colour --fraction 0.1", "no column 'colour'"),
        (sample, "--keys region --fraction 0", "sampling fraction"),
        (sample, "--keys region --fraction 1.5", "sampling fraction"),
        (sample, "--keys region", "sampling fraction is needed"),
        (sample, "--keys region,region --fraction 0.1", "named twice"),
        (sample, "--keys , --fraction 0.1", "at least one key"),
        (tmp_path / "empty.csv", "--keys region --fraction 0.1", "got an empty file"),
        (tmp_path / "none.csv", "--keys region --fraction 0.1", "no such file"),
        (sample, "--keys region --fraction 0.1 --models magic", "--models"),
        (sample, "--keys region --fraction 0.1 --missing magic", "--missing"),
        (sample, "--keys region --fraction 0.1 --swapped region", "--swapped"),
        (population, f"--keys region --population {sample}", "smaller than the sample"),
    ):
        assert words in refusal(records, arguments)


def test_parquet_and_columns_that_are_not_keys(files, tmp_path):
    path = tmp_path / "sample.parquet"
    people(100).write_parquet(path)
    file = read_key_file(path, ["age"], 0.1)
    assert file.n_records == 100
    bad = tmp_path / "bad.parquet"
    bad.write_text("no parquet")
    with pytest.raises(GemelError, match="not a whole Parquet file") as caught:
        read_key_file(bad, ["age"], 0.1)
    assert caught.value.code == ErrorCode.SOURCE
