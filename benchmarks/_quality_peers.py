"""One linkage by Splink or by recordlinkage for `benchmarks.quality`, in a process and an environment of its own.

    python benchmarks/_quality_peers.py splink|recordlinkage FOLDER

Reads ``alice.csv``, ``bob.csv`` and ``case.json`` (fields with their kinds, names of the columns to block by) from the
folder and writes ``pairs.csv``: both identifiers and the match probability. Imports nothing of Tryst.
"""

from __future__ import annotations

import importlib
import json
import sys
from importlib import metadata
from pathlib import Path

MINIMUM = 1e-4
"""Least probability of a pair that is written."""

SEED = 1


def main(program: str, folder: Path) -> None:
    """Link and write the pairs; print the program's version as JSON."""
    pandas = importlib.import_module("pandas")
    case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    sides = [pandas.read_csv(folder / f"{side}.csv", dtype=str, keep_default_na=False) for side in ("alice", "bob")]
    sides = [side.replace("", None) for side in sides]
    pairs = {"splink": _splink, "recordlinkage": _recordlinkage}[program](case, *sides)
    pairs.to_csv(folder / "pairs.csv", index=False)
    print(json.dumps({"version": metadata.version(program)}))


def _splink(case, alice, bob):  # type: ignore[no-untyped-def]
    """Splink as its tutorial for linking has it: its own comparisons by kind, u from random pairs, EM in two passes."""
    splink = importlib.import_module("splink")
    library = importlib.import_module("splink.comparison_library")
    by_kind = {
        "name": library.NameComparison,
        "text": lambda name: library.JaroWinklerAtThresholds(name, [0.9, 0.7]),
        "date": lambda name: library.DamerauLevenshteinAtThresholds(name, [1, 2]),
        "code": lambda name: library.DamerauLevenshteinAtThresholds(name, [1, 2]),
        "number": lambda name: library.LevenshteinAtThresholds(name, [1]),
        "category": library.ExactMatch,
    }
    names = [field["name"] for field in case["fields"]]
    blocked = [splink.block_on(key) for key in case["keys"]] or ["1=1"]
    settings = splink.SettingsCreator(
        link_type="link_only",
        unique_id_column_name="identifier",
        comparisons=[by_kind[field["kind"]](field["name"]) for field in case["fields"]],
        blocking_rules_to_generate_predictions=blocked,
    )
    api = splink.DuckDBAPI()
    tables = [api.register(table, dataset_display_name=name) for table, name in ((alice, "alice"), (bob, "bob"))]
    linker = splink.Linker(tables, settings)
    rarest = sorted(names, key=lambda name: -alice[name].nunique())[:3]
    certain = [splink.block_on(*(name for name in rarest if name != left_out)) for left_out in rarest]
    linker.training.estimate_probability_two_random_records_match(certain, recall=0.7)
    linker.training.estimate_u_using_random_sampling(max_pairs=2e6, seed=SEED)
    for name in rarest[:2]:
        linker.training.estimate_parameters_using_expectation_maximisation(splink.block_on(name))
    found = linker.inference.predict(threshold_match_probability=MINIMUM).as_pandas_dataframe()
    a_first = found["source_dataset_l"].str.contains("alice")
    out = found[["match_probability"]].rename(columns={"match_probability": "probability"})
    out["alice"] = found["identifier_l"].where(a_first, found["identifier_r"])
    out["bob"] = found["identifier_r"].where(a_first, found["identifier_l"])
    return out


def _recordlinkage(case, alice, bob):  # type: ignore[no-untyped-def]
    """recordlinkage's expectation-conditional maximisation, as its documentation has it: binary comparisons."""
    recordlinkage = importlib.import_module("recordlinkage")
    alice, bob = alice.set_index("identifier"), bob.set_index("identifier")
    index = recordlinkage.Index()
    if case["keys"]:
        for key in case["keys"]:
            index.block(key)
    else:
        index.full()
    candidates = index.index(alice, bob)
    comparison = recordlinkage.Compare()
    for field in case["fields"]:
        name = field["name"]
        if field["kind"] in ("name", "text"):
            comparison.string(name, name, method="jarowinkler", threshold=0.85, label=name)
        else:
            comparison.exact(name, name, label=name)
    vectors = comparison.compute(candidates, alice, bob)
    classifier = recordlinkage.ECMClassifier()
    classifier.fit(vectors)
    probability = classifier.prob(vectors)
    out = probability[probability >= MINIMUM].rename("probability").reset_index()
    out.columns = ["alice", "bob", "probability"]
    return out


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
