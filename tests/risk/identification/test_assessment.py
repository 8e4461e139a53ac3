"""The whole assessment: command, JSON, page; what is left out and why; several key sets; bad input of files."""

from __future__ import annotations

import json
import re

import numpy as np
import polars as pl
import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.identification.assessment.beside_keys import score_ranking
from gemel.risk.identification.assessment.file_assessment import assess
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.misclassification import Perturbation
from gemel.risk.identification.reader import read_key_file, read_weights
from gemel.risk.identification.suda_ranking import suda_scores
from gemel.risk.report.drawing import INK, OCHRE, RUST, TEAL
from gemel.risk.report.identification import histogram_chart, render
from tests.risk.identification.small_files import identified, refusal, sampled_file


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


# Several key sets in one call, and scores ranked by the truth.


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    path = tmp_path_factory.mktemp("scenarios") / "r.csv"
    rng = np.random.default_rng(3)
    rows = [f"{a},{b},{c}" for a, b, c in zip(*rng.integers(0, [[6], [4], [3]], (3, 120)).tolist(), strict=True)]
    path.write_text("\n".join(["a,b,c", *rows]) + "\n", encoding="utf-8")
    return path


def test_each_key_set_is_assessed_as_by_itself(records):
    both = identified(records, "--keys a,b,c --keys a,c --fraction 0.1")
    scenarios = both.document["scenarios"]
    for keys, scenario in zip(("a,b,c", "a,c"), scenarios, strict=True):
        assert scenario == identified(records, f"--keys {keys} --fraction 0.1").document
    first, second = both.document["comparison"]
    assert first["keys"] == ["a", "b", "c"]
    assert (first["uniques"], second["uniques"]) == tuple(s["file"]["uniques"] for s in scenarios)
    assert second["violate_3_anonymity"] == scenarios[1]["privacy_models"]["violations"][1]["records"]
    assert "The key sets compared" in both.page
    identifiers = [part.split('"')[0] for part in both.page.split(' id="')[1:]]
    assert len(identifiers) == len(set(identifiers))
    assert "== keys a, c" in both.output


def test_a_key_set_twice_and_a_swapped_variable_of_no_set_are_refused(records):
    assert "same variables" in refusal(records, "--keys a,b --keys b,a --fraction 0.1")
    assert "no key variable c" in refusal(records, "--keys a,b --keys a --fraction 0.1 --swapped c=0.1")


def test_swapping_is_of_the_key_sets_that_have_the_variable(records):
    found = identified(records, "--keys a,b --keys a,c --fraction 0.1 --swapped b=0.1").document
    assert ["misclassification" in scenario for scenario in found["scenarios"]] == [True, False]


def test_scores_are_ranked_by_who_is_alone():
    file = sampled_file(300, 3_000, 4)
    found = assess(file, weights=np.full(300, 10.0), records=False)["score_ranking"]
    names = [each["score"] for each in found["scores"]]
    assert set(names) == {"calibrated", "modelled", "log-linear", "IS", "SUDA", "individual"}
    assert [each["auc"] for each in found["scores"]] == sorted((each["auc"] for each in found["scores"]), reverse=True)
    alone = file.population_sizes[file.of_record[file.uniques]] == 1
    assert found["population_uniques"] == alone.sum()
    score = suda_scores(file).scores[file.uniques]
    pairs = [(a > b) + 0.5 * (a == b) for a in score[alone] for b in score[~alone]]
    assert next(each["auc"] for each in found["scores"] if each["score"] == "IS") == pytest.approx(np.mean(pairs))
    assert next(each for each in found["scores"] if each["score"] == "individual")["auc"] == 0.5  # one weight, one risk


def test_where_one_kind_is_absent_nothing_is_ranked():
    file = KeyFile.from_columns({"a": ["x", "y"]}, population={"a": ["x", "y", "z"]})
    with pytest.raises(GemelError, match="one kind is absent"):
        score_ranking(file, {"IS": np.ones(2)})
    assert "score ranking" in [left["what"] for left in assess(file)["left_out"]]
    with pytest.raises(GemelError, match="need the population"):
        score_ranking(KeyFile.from_columns({"a": ["x", "y"]}, 0.1), {"IS": np.ones(2)})


def test_the_histogram_has_a_bar_for_every_class_that_has_records():
    found = assess(sampled_file(300, 3_000, 4), records=False)["histogram"]
    drawn = re.findall(r'<path d="M[\d.]+,[\d.]+h[\d.]+v[1-9][\d.]*h[^"]*" fill="(#\w+)"', str(histogram_chart(found)))
    bars = sum(share > 0 for own in found["series"].values() for share in own["share"])
    assert sum(colour in (INK, TEAL, OCHRE, RUST) for colour in drawn) == bars
