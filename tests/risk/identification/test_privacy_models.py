"""k-anonymity and its kin against their definitions record by record, with both meanings of missing; the command."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy, wasserstein_distance
from typer.testing import CliRunner

from gemel.common.errors import GemelError
from gemel.risk.commands.disclosure import app
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.privacy_models import diversity, k_anonymity, sensitive_classes

VALUES = st.one_of(st.none(), st.sampled_from("abc"))
RECORDS = st.lists(st.tuples(VALUES, VALUES, st.sampled_from(["1", "2", "10"])), min_size=1, max_size=25)


def classes_of(rows, missing: str) -> list[list[int]]:
    """By the definition: for each record, which records agree with it on the keys."""

    def agree(a, b) -> bool:
        return a == b or (missing == "any" and None in (a, b))

    return [[j for j, other in enumerate(rows) if all(map(agree, own[:2], other[:2]))] for own in rows]


@given(RECORDS, st.sampled_from(["level", "any"]))
def test_counts_are_their_definitions(rows, missing):
    file = KeyFile.from_columns({"x": [r[0] for r in rows], "y": [r[1] for r in rows]}, 0.1, missing=missing)
    own = classes_of(rows, missing)
    found = k_anonymity(file)
    assert found.smallest == min(map(len, own))
    assert found.below == {k: sum(len(c) < k for c in own) for k in (2, 3, 5)}
    groups = sensitive_classes(file, [r[2] for r in rows], "s")
    assert list(groups.levels) == sorted({r[2] for r in rows}, key=int)
    measured = diversity(groups, ordered=True, c=2.0)
    place = {label: k for k, label in enumerate(groups.levels)}
    values = np.array([place[r[2]] for r in rows])
    counts = [np.bincount(values[c], minlength=len(place)) for c in own]
    assert measured.distinct == min(len(set(values[c])) for c in own)
    assert measured.below == {k: sum(len(set(values[c])) < k for c in own) for k in (2, 3, 5)}
    assert measured.entropy == pytest.approx(min(np.exp(entropy(n)) for n in counts))
    whole = np.bincount(values) / len(values)
    assert measured.t == pytest.approx(max(np.abs(n / n.sum() - whole).sum() / 2 for n in counts))
    steps = max(len(place) - 1, 1)
    far = max(wasserstein_distance(values[c], values) / steps for c in own)
    assert measured.t_ordered == pytest.approx(far, abs=1e-12)
    recursive = []
    for n in counts:
        sizes = sorted(n.tolist(), reverse=True)
        holds = [sizes[0] < 2.0 * sum(sizes[el:]) for el in range(len(sizes))]
        recursive.append(next((el for el, good in enumerate(holds) if not good), len(holds)))
    assert measured.recursive == min(recursive)


def test_a_missing_sensitive_value_is_a_value_and_numbers_are_in_order():
    file = KeyFile.from_columns({"x": ["a", "a", "a", "b"]}, 0.1)
    groups = sensitive_classes(file, ["10.5", "9", None, "9"], "income")
    assert groups.levels == ("9", "10.5", "(missing)")
    assert groups.sensitive.tolist() == [[1, 1, 1], [1, 0, 0]]


def test_wrong_input_is_named():
    file = KeyFile.from_columns({"x": ["a", "b"]}, 0.1)
    with pytest.raises(GemelError, match="one value for each record"):
        sensitive_classes(file, ["1"], "income")
    with pytest.raises(GemelError, match="at least 2"):
        k_anonymity(file, (1, 2))


def test_the_command_reports_them(tmp_path):
    rows = ["x,y,illness,income", *(f"{i % 3},{i % 2},{'flu' if i % 5 else ''},{i % 4}" for i in range(60))]
    (tmp_path / "r.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    arguments = [str(tmp_path / "r.csv"), "--keys", "x,y", "--fraction", "0.1", "--sensitive", "illness"]
    outputs = ["--ordinal", "income", "--json", str(tmp_path / "r.json"), "--out", str(tmp_path / "r.html")]
    done = CliRunner().invoke(app, ["identify", *arguments, *outputs])
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "r.json").read_text())["privacy_models"]
    assert found["smallest_class"] == 10
    illness, income = found["sensitive"]
    assert (illness["l_distinct"], illness["t_ordered"]) == (2, None)
    assert income["t_ordered"] == pytest.approx(1 / 6)
    assert "0 (0.00%) for k = 5; smallest class 10" in done.output
    assert "income, worst class" in done.output
    assert "t-closeness" in (tmp_path / "r.html").read_text()
