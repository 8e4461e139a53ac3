"""Two files whose age bands differ and overlap, rehearsed: they link as well as with a common coding.

The services are real, and so are the commands: a codebook becomes an environment, the environment a table in the
specification. The same people three times: each file coded in its own way, and harmonised, by the services; coded in
common before they came, and each in its own way and compared as it is, in one process. Cleaning must make of the first
files exactly what the second ones held, and the links must be the same pairs. In mode open they differ as throw-away
keys let similarities of names differ (F1 .957, .955 and .945 in one try), so the mode here is trusted.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import gemel
from gemel.common.specification import load_specification
from gemel.coordinator.demonstration.people import IDENTIFIER, TRUTH, two_files
from gemel.custodian.cleaning.columns import clean
from tests.typed import printed

Pair = tuple[str, str]

N, COMMON, SEED = 600, 300, 5
HERE = ((0, "0-15"), (16, "16-24"), (25, "25-44"), (45, "45-64"), (65, "65+"))
THERE = ((0, "0-17"), (18, "18-24"), (25, "25-34"), (35, "35-64"), (65, "65-79"), (80, "80+"))
BOTH = ((0, "0-24"), (25, "25-64"), (65, "65+"))
SPECIFICATION = f"""\
version: 1
project: bands
mode: trusted
custodians: {{alice: {{identifier: {IDENTIFIER}}}, bob: {{identifier: {IDENTIFIER}}}}}
fields:
  - {{name: given_name, kind: name}}
  - {{name: postcode, kind: code}}
  - {{name: sex, kind: category}}
  - name: age
    kind: category
blocking:
  - {{name: given-name, keys: [{{field: given_name, prefix: 3}}]}}
  - {{name: postcode, keys: [{{field: postcode, prefix: 3}}]}}
retention: {{uploads_days: 7, results_days: 30, maps_days: 90}}
"""


def banded(frame: pl.DataFrame, bands: tuple[tuple[int, str], ...]) -> pl.DataFrame:
    """The file with a band in place of the date of birth, where that has a year."""
    age = 2026 - frame["date_of_birth"].str.extract(r"(\d{4})").cast(pl.Int64)
    band = [None if a is None else next(label for low, label in reversed(bands) if a >= low) for a in age.to_list()]
    return frame.drop("date_of_birth").with_columns(pl.Series("age", band, dtype=pl.String))


def written(folder: Path, bands: dict[str, tuple[tuple[int, str], ...]]) -> dict[str, Path]:
    folder.mkdir()
    people = two_files(N, N, COMMON, 0.2, np.random.default_rng(SEED))
    files = {side: folder / f"{side}.csv" for side in ("alice", "bob")}
    for frame, (side, path) in zip(people, files.items(), strict=True):
        banded(frame, bands[side]).write_csv(path)
    return files


def rehearsed(files: dict[str, Path], specification: str) -> tuple[dict[str, float], set[Pair]]:
    """What is true of the decision, and its links."""
    folder = files["alice"].parent
    (folder / "linkage.yaml").write_text(specification)
    words = [f"--{side}={path}" for side, path in files.items()] + [f"--truth-{side}={TRUTH}" for side in files]
    printed("rehearse", str(folder / "linkage.yaml"), *words, "--out", str(folder / "out"))
    found = json.loads((folder / "out" / "evaluation.json").read_text())["at_decision"]
    return found, set(pl.read_csv(folder / "out" / "links.csv").select("alice", "bob").rows())


def linked(files: dict[str, Path], specification: str) -> tuple[dict[str, float], set[Pair]]:
    """The same, in one process."""
    made = gemel.link(*files.values(), specification)
    found = made.evaluate(*files.values(), TRUTH)
    return json.loads(found.model_dump_json())["at_decision"], set(made.links.select("alice", "bob").rows())


@pytest.mark.long
def test_bands_that_differ_and_overlap_link_as_well_as_common_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{form},Age,{label},whole" for form, bands in (("a", HERE), ("b", THERE)) for _, label in bands]
    (tmp_path / "codings.csv").write_text("\n".join(["form,variable,category,scale", *rows]) + "\n")
    (tmp_path / "linkage.yaml").write_text(SPECIFICATION)
    printed("keyvars", "add", "environment")
    printed("keyvars", "add", "codebook", "codings.csv")
    words = ["--alice", "a", "--bob", "b", "--into", "linkage.yaml", "--field", "age"]
    assert "age in 3 common categories" in printed("keyvars", "export", "linkage", "Age", *words)
    harmonised = (tmp_path / "linkage.yaml").read_text()
    reported = " ".join(printed("spec", "check", "linkage.yaml").split())
    assert "Field age is harmonised: alice's 5 values (1 of them kept apart from all others)" in reported
    assert "become 3 categories" in reported

    codings = {"common": (BOTH, BOTH), "own": (HERE, THERE)}
    files = {
        name: written(tmp_path / name, dict(zip(("alice", "bob"), given, strict=True)))
        for name, given in codings.items()
    }
    own, links = rehearsed(files["own"], harmonised)
    common, links_in_common = linked(files["common"], SPECIFICATION)
    as_they_are, _ = linked(files["own"], SPECIFICATION)
    for name, found in (("coded in common", common), ("harmonised", own), ("compared as they are", as_they_are)):
        print(f"{name:22s} precision {found['precision']:.4f} recall {found['recall']:.4f} F1 {found['f1']:.4f}")
    for side in ("alice", "bob"):
        ours, theirs = (
            clean(pl.read_csv(folder / f"{side}.csv", infer_schema=False), spec, side).columns
            for folder, spec in (
                (tmp_path / "own", load_specification(harmonised)),
                (tmp_path / "common", load_specification(SPECIFICATION)),
            )
        )
        assert all(ours[name].equals(theirs[name], null_equal=True) for name in theirs)
    assert links == links_in_common
    assert own == common
    assert own["f1"] > as_they_are["f1"]
