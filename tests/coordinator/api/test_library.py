"""`import gemel` as a notebook uses it: lazy, documented by examples that run, the same whatever holds the records."""

from __future__ import annotations

import doctest
import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import gemel
from gemel.common.documents.claimed_words import claimed_share
from gemel.common.errors import ErrorCode
from gemel.coordinator.demonstration.people import IDENTIFIER, TRUTH, two_files
from tests.carole.refusals import refusal
from tests.packaging.test_startup import HEAVY

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ("gemel.coordinator.api.specifications", "gemel.coordinator.api.linking")
TEXT = f"""
version: 1
project: kinds
mode: open
custodians: {{alice: {{identifier: {IDENTIFIER}}}, bob: {{identifier: {IDENTIFIER}}}}}
fields:
  - {{name: surname, kind: name}}
  - {{name: given_name, kind: name}}
  - {{name: date_of_birth, kind: date, date: {{order: ymd}}}}
retention: {{uploads_days: 1, results_days: 1, maps_days: 1}}
"""

Tables = tuple[pl.DataFrame, pl.DataFrame]


@pytest.fixture(scope="module")
def people() -> Tables:
    return two_files(80, 80, 40, 0.2, np.random.default_rng(8))


@pytest.fixture(scope="module")
def linked(people: Tables) -> gemel.LinkedFiles:
    return gemel.link(*people, TEXT)


@pytest.mark.parametrize("module", EXAMPLES)
def test_the_examples_of_docstrings_are_right(module: str) -> None:
    found = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert found.attempted > 0
    assert found.failed == 0


def test_the_name_alone_imports_nothing_heavy() -> None:
    program = "import json, sys, gemel; dir(gemel); print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    modules = set(json.loads(done.stdout))
    assert not modules & {*HEAVY, "pydantic", "typer"}
    assert not [name for name in modules if name.startswith("gemel.")]


def test_an_installation_without_the_coordinators_folder_names_what_lacks() -> None:
    """As in a custodian's image."""
    program = (
        "import sys, gemel; sys.modules['gemel.coordinator'] = None\nfrom gemel.common.errors import GemelError;"
        " gemel.risk\ntry: gemel.link\nexcept GemelError as error: print(error.code, error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert "gemel.coordinator" in done.stdout
    assert "is not installed" in done.stdout


def test_every_public_name_is_there() -> None:
    for name in gemel.PUBLIC:
        assert getattr(gemel, name).__doc__, name
        assert name in dir(gemel)
    with pytest.raises(AttributeError, match="no attribute 'lnik'"):
        gemel.lnik  # noqa: B018


def test_the_same_of_polars_pandas_arrow_and_paths(people: Tables, linked: gemel.LinkedFiles, tmp_path: Path) -> None:
    a, b = people
    a.write_csv(tmp_path / "a.csv")
    b.write_parquet(tmp_path / "b.parquet")
    forms = [(a.to_pandas(), b.to_arrow()), (tmp_path / "a.csv", str(tmp_path / "b.parquet")), (a.lazy(), b)]
    for left, right in forms:
        assert gemel.link(left, right, linked.specification).pairs.equals(linked.pairs)


def test_another_seed_signs_otherwise(people: Tables, linked: gemel.LinkedFiles) -> None:
    other = gemel.link(*people, linked.specification, seed=2)
    assert not other.pairs.equals(linked.pairs)
    assert abs(other.links.height - linked.links.height) <= 2


def test_the_links_are_judged_and_shown(people: Tables, linked: gemel.LinkedFiles) -> None:
    judged = linked.evaluate(*people, TRUTH)
    assert judged.at_decision.f1 > 0.9
    assert judged.matches == 40
    page = linked.report(judged).html
    assert "<html" in page
    frame = linked.report()._repr_html_()
    assert "srcdoc" in frame
    assert frame.count("<") == 2  # the page's own are escaped
    assert linked.charts()["weights"].to_dict()["$schema"]
    shown = linked._repr_html_()
    assert f"{linked.links.height:,}" in shown
    claims = linked.statistics.linkage.claims
    assert f'<td style="text-align:left">{claimed_share(claims.precision)}</td>' in shown
    assert claims.precision.lower <= claims.precision.value <= claims.precision.upper


def test_other_records_than_those_linked_are_no_truth(people: Tables, linked: gemel.LinkedFiles) -> None:
    a, b = people
    for others in (a.head(10), pl.concat([a, a.head(1)])):
        with refusal(ErrorCode.PARAMETER, "not the records that were linked"):
            linked.evaluate(others, b, TRUTH)


def test_drawn_linkages_are_of_the_same_pairs(people: Tables) -> None:
    drawn = gemel.link(*people, TEXT + "release: {alice: draws, bob: draws, draws: 5}\n")
    assert drawn.draws is not None
    assert drawn.draws["draw"].unique().sort().to_list() == [0, 1, 2, 3, 4]
    kept = drawn.draws.join(drawn.pairs, on=["alice", "bob"], how="inner")
    assert kept.height == drawn.draws.height
    assert (kept["link_probability"] == kept["link_probability_right"]).all()


def test_records_that_are_none_are_refused_without_a_value(people: Tables) -> None:
    with refusal(ErrorCode.SOURCE, "polars, pandas or Arrow"):
        gemel.link([1, 2], [3], TEXT)
    import pandas as pd

    mixed = pd.DataFrame({IDENTIFIER: ["confidential", 2], "surname": ["a", "b"]})
    with pytest.raises(gemel.GemelError, match="several types") as caught:
        gemel.draft(mixed, mixed)
    assert "confidential" not in str(caught.value)
    with pytest.raises(gemel.GemelError, match="expected a size"):
        gemel.link(*people, TEXT, memory="many")
