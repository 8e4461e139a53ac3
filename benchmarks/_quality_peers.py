"""One linkage by Splink or by recordlinkage for `benchmarks.quality`, in a process and an environment of its own.

    python benchmarks/_quality_peers.py splink|recordlinkage FOLDER

Reads ``alice.csv``, ``bob.csv`` and ``case.json`` (fields with their kinds, names of the columns to block by, GiB of
memory) from the folder and writes ``pairs.csv``: both rows, the match probability, and the match weight in bits (the
binary logarithm of the Bayes factor of a pair among all pairs of the two files). Imports nothing of Gemel.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
from importlib import metadata
from pathlib import Path

MINIMUM = 1e-4
"""Least probability of a pair that is written."""

SEED = 1


def main(program: str, folder: Path) -> None:
    """Link and write the pairs; print as JSON the program's version, and what linking took and held at most."""
    case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    resource.setrlimit(resource.RLIMIT_AS, (int(case["memory"] * 2**30),) * 2)
    pandas = importlib.import_module("pandas")
    sides = [pandas.read_csv(folder / f"{side}.csv", dtype=str, keep_default_na=False) for side in ("alice", "bob")]
    sides = [side.replace("", None) for side in sides]
    began = time.perf_counter(), time.process_time()
    pairs = {"splink": _splink, "recordlinkage": _recordlinkage}[program](case, *sides)
    seconds, processor = time.perf_counter() - began[0], time.process_time() - began[1]
    pairs.to_csv(folder / "pairs.csv", index=False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    facts = {"version": metadata.version(program), "seconds": seconds, "processor": processor, "peak": peak}
    print(json.dumps(facts))


def _splink(case, alice, bob):  # type: ignore[no-untyped-def]
    """Splink as its tutorial for linking has it: comparisons by kind, u from random pairs, EM in two passes.

    The passes block by the names and by the date of birth. Where there are no names, or its EM ends with an m that
    Splink refuses, they block by each of the two fields with most values; where that does not help, by each field, and
    a pass that Splink refuses is left out.
    """
    # DuckDB takes an object column's type from some of its values, and no text's where these are missing.
    alice, bob = alice.astype("string"), bob.astype("string")
    kinds = {field["name"]: field["kind"] for field in case["fields"]}
    rarest = sorted(kinds, key=lambda name: -alice[name].nunique())
    names = [name for name in rarest if kinds[name] == "name"]
    of_persons = [name for name in rarest if kinds[name] in ("name", "date")]
    of_persons = (of_persons if len(of_persons) >= 3 else rarest)[:3]
    date = next((name for name in of_persons if name not in names), rarest[0])
    by_rarest = [[name] for name in rarest[:2]]
    for passes in [[names, [date]], by_rarest] if names else [by_rarest]:
        try:
            linker = _trained_splink(case, alice, bob, of_persons, passes)
            break
        except Exception as error:  # noqa: BLE001 - of several kinds, whatever EM ends with
            print(f"Passes by {passes}: {error}"[:200], file=sys.stderr)
    else:
        linker = _trained_splink(case, alice, bob, of_persons, [[name] for name in rarest], some=True)
    prior = linker.misc.save_model_to_json()["probability_two_random_records_match"]
    found = linker.inference.predict(threshold_match_probability=MINIMUM).as_pandas_dataframe()
    a_first = found["source_dataset_l"].str.contains("alice")
    out = found[["match_probability", "match_weight"]].set_axis(["probability", "weight"], axis=1)
    out["weight"] -= _logit(prior)
    out["alice"] = found["identifier_l"].where(a_first, found["identifier_r"])
    out["bob"] = found["identifier_r"].where(a_first, found["identifier_l"])
    return out


def _trained_splink(case, alice, bob, of_persons, passes, some=False):  # type: ignore[no-untyped-def]
    """A model whose matches are first counted by pairs of fields that persons do not share, then by EM in passes.

    `some`: a pass that Splink refuses is left out, unless all are.
    """
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
    settings = splink.SettingsCreator(
        link_type="link_only",
        unique_id_column_name="identifier",
        comparisons=[by_kind[field["kind"]](field["name"]) for field in case["fields"]],
        blocking_rules_to_generate_predictions=[splink.block_on(key) for key in case["keys"]] or ["1=1"],
    )
    api = splink.DuckDBAPI()
    tables = [api.register(table, dataset_display_name=name) for table, name in ((alice, "alice"), (bob, "bob"))]
    linker = splink.Linker(tables, settings)
    certain = [splink.block_on(*(name for name in of_persons if name != left_out)) for left_out in of_persons]
    linker.training.estimate_probability_two_random_records_match(certain, recall=0.7)
    linker.training.estimate_u_using_random_sampling(max_pairs=2e6, seed=SEED)
    refused = []
    for fields in passes:
        try:
            linker.training.estimate_parameters_using_expectation_maximisation(splink.block_on(*fields))
        except Exception as error:
            refused.append(error)
            if not some or len(refused) == len(passes):
                raise
    return linker


def _recordlinkage(case, alice, bob):  # type: ignore[no-untyped-def]
    """recordlinkage's expectation-conditional maximisation, as its documentation has it: binary comparisons."""
    recordlinkage = importlib.import_module("recordlinkage")
    n_pairs = len(alice) * len(bob)
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
    # Its prior is that of a candidate; the expected matches among the candidates are those of all pairs.
    out["weight"] = _logit(out["probability"]) - _logit(classifier.p * len(candidates) / n_pairs)
    return out


def _logit(probability):  # type: ignore[no-untyped-def]
    """Log odds in bits; of a probability that is as good as 1, those of the last one below."""
    numpy = importlib.import_module("numpy")
    probability = numpy.clip(probability, 1e-300, 1 - 2**-53)
    return numpy.log2(probability) - numpy.log2(1 - probability)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
