"""Several key sets in one call, and scores ranked by the truth."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gemel.common.errors import GemelError
from gemel.risk.identification.assessment.beside_keys import score_ranking
from gemel.risk.identification.assessment.file_assessment import assess
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.suda_ranking import suda_scores
from gemel.risk.report.drawing import INK, OCHRE, RUST, TEAL
from gemel.risk.report.identification import histogram_chart
from tests.risk.identification.small_files import identified, refusal, sampled_file


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
