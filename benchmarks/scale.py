"""100,000 by 100,000 invented people through the three services: ``python -m benchmarks scale``.

Half of the people are in both files, and a fifth of each file's records has errors. The specification is the draft as
it comes, blocked. Times are given separately (encoding, upload, linking), with the memory each service held at most.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tryst.coordinator.demonstration.people import TRUTH, two_files
from tryst.coordinator.draft.specification_draft import draft
from tryst.coordinator.rehearsal.narration import Narrator
from tryst.coordinator.rehearsal.output_folder import rehearse_into
from tryst.coordinator.truth_columns import Truth


def main(arguments: list[str]) -> int:
    """Invent the people, link them, and print where the time and the memory went."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks scale", description=__doc__)
    parser.add_argument("--people", type=int, default=100_000, help="records in each file")
    parser.add_argument("--seed", type=int, default=1, help="of the invention")
    parser.add_argument("--memory", default="2GiB", help="Carole's memory setting")
    parser.add_argument("--threads", type=int, default=0, help="Carole's threads; 0: one per core")
    given = parser.parse_args(arguments)
    print(f"seed {given.seed}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        alice, bob = two_files(given.people, given.people, given.people // 2, 0.2, np.random.default_rng(given.seed))
        spec, *_ = draft(alice.drop(TRUTH), bob.drop(TRUTH), "scale", True)
        alice.write_csv(folder / "alice.csv")
        bob.write_csv(folder / "bob.csv")
        files = (folder / "alice.csv", folder / "bob.csv")
        truth = Truth(TRUTH, TRUTH)
        rehearse_into(folder, spec, *files, truth, Narrator(explain=False), given.memory, given.threads)
        documents = {
            name: json.loads((folder / f"{name}.json").read_text()) for name in ("timings", "linkage", "evaluation")
        }
    _show(**documents)
    return 0


def _show(timings: dict[str, Any], linkage: dict[str, Any], evaluation: dict[str, Any]) -> None:
    for side, own in timings["custodians"].items():
        stages = ", ".join(
            f"{stage} {own[f'{stage}_seconds']:.1f} s" for stage in ("read", "clean", "encode", "upload")
        )
        print(f"{side:<8} {own['rows']:,} rows: {stages}; {own['upload_bytes'] / 2**20:.0f} MiB")
    carole = timings["carole"]["stages"]
    print(f"carole   {_seconds(carole)}")
    print(f"linking  {sum(stage['seconds'] for stage in carole):.1f} s")
    print(f"steps    {_seconds(timings['stages'])}")
    print(f"memory   {', '.join(f'{name} {size / 2**30:.2f} GiB' for name, size in timings['peak_memory'].items())}")
    blocking = linkage["blocking"]
    rules = ", ".join(f"{rule['name']} {rule['candidates']:,}" for rule in blocking["rules"])
    recall = blocking["estimated_recall"]
    print(f"blocking {linkage['candidates']:,} of {linkage['pairs']:,} pairs ({rules})")
    estimate = "cannot be estimated" if recall is None else f"estimated {recall:.4f}"
    print(f"         recall {estimate}, true {evaluation['candidate_recall']:.4f}")
    decision = evaluation["at_decision"]
    expected = linkage["expected"]
    print(
        f"links    {decision['links']:,}: precision {decision['precision']:.4f}, claimed {expected['precision']:.4f}; "
        f"recall {decision['recall']:.4f}, claimed {expected['recall']:.4f}; F1 {decision['f1']:.4f} (best "
        f"{evaluation['at_best']['f1']:.4f}), AUC {evaluation['auc']:.4f}"
    )


def _seconds(stages: list[dict[str, Any]]) -> str:
    return ", ".join(f"{stage['name']} {stage['seconds']:.1f} s" for stage in stages)
