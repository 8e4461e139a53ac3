"""Misclassification matrices from files: both forms, the same risk as of arrays, and what is no matrix."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from gemel.common.errors import GemelError
from gemel.risk.commands.disclosure import app
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.misclassification import Perturbation, aligned, misclassification_risk, swapping_matrix
from gemel.risk.identification.reader import read_theta

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
    arguments = ["identify", str(tmp_path / "r.csv"), "--keys", "region,age", "--fraction", "0.1"]
    outputs = ["--json", str(tmp_path / "r.json"), "--out", str(tmp_path / "r.html")]
    done = CliRunner().invoke(app, [*arguments, "--theta", str(tmp_path / "t.yaml"), *outputs])
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["misclassification"]["theta"] == {"region": {"unchanged_min": 0.7, "unchanged_max": 1.0}}
    tau2 = next(m["value"] for m in found["measures"] if m["name"] == "tau2")
    assert 0.7 * tau2 < found["misclassification"]["tau_estimated"] < tau2
    assert "With misclassified values" in (tmp_path / "r.html").read_text()
    for wrong, words in (
        ((str(tmp_path / "none.yaml"),), "no such file"),
        (("region",), "--theta"),
        ((f"age={tmp_path / 'r.csv'}",), "`true` or `observed`"),
        ((str(tmp_path / "t.yaml"), str(tmp_path / "t.yaml")), "two misclassification matrices"),
    ):
        done = CliRunner().invoke(app, [*arguments, *(part for each in wrong for part in ("--theta", each))])
        assert words in str(done.exception), done.output
    both = CliRunner().invoke(app, [*arguments, "--theta", str(tmp_path / "t.yaml"), "--swapped", "region=0.1"])
    assert "both swapped and given" in str(both.exception)
