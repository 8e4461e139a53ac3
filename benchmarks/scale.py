"""Large files of invented people through the three services: ``python -m benchmarks scale --people N --mode MODE``.

A fifth of each file's records has errors. The specification is the draft, with rules, from a sample of both files and
for files of their size; the sample is drawn by `--seed`. Each stage's time and each service's processor time are
printed, what is sent, and what each service held at most beside its limit; what the estimate of `gemel spec check`
claims, beside what is true; and what the linkage claims of its links, beside the truth.

With ``--peer splink`` Splink links the same two files as Gemel cleaned them, by the same blocking keys, in a process
and an environment of its own (``make .venv-peers``).
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks._figures import peak_bytes
from benchmarks._quality_programs import Limits, by_measured_peer
from benchmarks.quality import PEER_PYTHON
from gemel.carole.configuration import LimitsConfiguration, size_in_bytes
from gemel.common.parties import Side
from gemel.common.specification import Specification, read_specification
from gemel.common.specification.model.defaults import Mode
from gemel.coordinator.demonstration.people import IDENTIFIER, TRUTH, two_files
from gemel.coordinator.draft.specification_draft import draft
from gemel.coordinator.draft.specification_text import dump_specification
from gemel.coordinator.estimate.estimate import estimate_of_files
from gemel.coordinator.rehearsal.narration import Narrator
from gemel.coordinator.rehearsal.output_folder import rehearse_into
from gemel.coordinator.truth_columns import Truth
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.leakage.leakage_assessment import assess

GIB = 1 << 30


def show_linkage(
    timings: dict[str, Any],
    linkage: dict[str, Any],
    evaluation: dict[str, Any],
    limits: dict[str, str],
    coordinator: tuple[float, float, int],
) -> None:
    """Where the time and the memory went, and what the links are worth, by a rehearsal's documents.

    `limits` are of memory, by service; `coordinator` has seconds, processor seconds and high-water mark of the
    process in which the resolver is.
    """
    for side, own in timings["custodians"].items():
        stages = ", ".join(
            f"{name.removesuffix('_seconds')} {seconds:.1f} s"
            for name, seconds in own.items()
            if name.endswith("_seconds")
        )
        size = own["upload_bytes"]
        print(f"{side:<8} {own['rows']:,} rows: {stages}; {size / 2**20:,.0f} MiB on the wire")
    carole = timings["carole"]["stages"]
    print(f"carole   {_seconds(carole)}")
    print(f"linking  {sum(stage['seconds'] for stage in carole):.1f} s")
    print(f"steps    {_seconds(timings['stages'])}")
    used = timings["processor_seconds"] | {"coordinator": coordinator[1]}
    print(f"processor {', '.join(f'{name} {seconds:.1f} s' for name, seconds in used.items())}")
    for name, peak in timings["peak_memory"].items():
        print(f"memory   {name} {peak / GIB:.2f} GiB{_beside(limits.get(name), peak)}")
    print(f"memory   coordinator {coordinator[2] / GIB:.2f} GiB, of the whole benchmark's process")
    blocking = linkage["blocking"]
    rules = ", ".join(f"{rule['name']} {rule['candidates']:,}" for rule in blocking["rules"])
    recall = blocking["estimated_recall"]
    print(f"blocking {linkage['candidates']:,} of {linkage['pairs']:,} pairs ({rules})")
    estimate = "cannot be estimated" if recall is None else f"estimated {recall:.4f}"
    print(f"         recall {estimate}, true {evaluation['candidate_recall']:.4f}")
    decision, claims = evaluation["at_decision"], linkage["claims"]
    print(
        f"links    {decision['links']:,}: precision {decision['precision']:.4f}, claimed "
        f"{_claimed(claims['precision'])}; recall {decision['recall']:.4f}, claimed {_claimed(claims['recall'])}; F1 "
        f"{decision['f1']:.4f} (best {evaluation['at_best']['f1']:.4f}), AUC {evaluation['auc']:.4f}"
    )


def _claimed(found: dict[str, float]) -> str:
    return f"{found['value']:.4f} ({found['lower']:.4f} to {found['upper']:.4f})"


def show_peer(program: str, alice: Path, bob: Path, spec: Specification, limits: Limits) -> None:
    """A peer's links of the same files by the same blocking keys, alone and one to one."""
    found = by_measured_peer(program, pl.read_parquet(alice), pl.read_parquet(bob), spec, limits)
    if isinstance(found, str):
        print(f"{program}   {found}")
        return
    judged, took = found
    print(
        f"{program}   linking {took['seconds']:.1f} s, processor {took['processor']:.1f} s; "
        f"memory {took['peak'] / GIB:.2f} GiB"
    )
    for name, links in judged.items():
        print(f"{name}: precision {links.precision:.4f}, recall {links.recall:.4f}, F1 {links.f1:.4f}")


def _beside(limit: str | None, peak: int) -> str:
    if limit is None:
        return ""
    return f", limit {limit}{'' if peak <= size_in_bytes(limit) else ': EXCEEDED'}"


def _seconds(stages: list[dict[str, Any]]) -> str:
    return ", ".join(f"{stage['name']} {stage['seconds']:.1f} s" for stage in stages)


ERRORS = 0.2
"""Share of the records that have errors."""

BATCH = 1_000_000
"""Records of each file that are invented at once: four gigabytes of memory a million."""


def main(arguments: list[str]) -> int:
    """Invent the people, link them, and print where the time and the memory went."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks scale", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=int, default=100_000, help="records in each file")
    parser.add_argument("--mode", choices=("block_keyed", "open", "shared"), default="block_keyed")
    parser.add_argument("--overlap", type=float, default=0.5, help="share of each file that is in the other")
    parser.add_argument("--sample", type=int, default=20_000, help="records of each file that the draft reads")
    parser.add_argument("--specification", type=Path, help="a specification to link by, instead of a draft")
    parser.add_argument("--keep", type=Path, help="where to write the specification")
    parser.add_argument("--seed", type=int, default=1, help="of the invention")
    parser.add_argument("--memory", default="3GiB", help="Carole's memory setting")
    parser.add_argument("--custodian-memory", default="2GiB", help="what a custodian's high-water mark is set beside")
    parser.add_argument("--threads", type=int, default=0, help="Carole's threads; 0: one per core")
    parser.add_argument("--max-upload", default="2GiB", help="Carole's max_upload")
    parser.add_argument("--peer", choices=("splink",), help="a program that links the same files")
    parser.add_argument("--peer-memory", type=float, default=64, help="GiB of address space that the peer has")
    parser.add_argument("--peer-python", type=Path, default=PEER_PYTHON, help="interpreter that has the peer")
    parser.add_argument("--peer-only", action="store_true", help="only the peer")
    given = parser.parse_args(arguments)
    print(f"{given.people:,} records in each file, {given.overlap:.0%} in both, mode {given.mode}, seed {given.seed}")
    with tempfile.TemporaryDirectory(prefix="scale-") as name:
        folder = Path(name)
        # In a process of its own, which gives its memory back.
        with ProcessPoolExecutor(1, get_context("spawn")) as apart:
            files = apart.submit(_invented, folder, given.people, given.overlap, given.seed).result()
            if given.specification is None:
                spec = apart.submit(_drafted, files, given.people, given.sample, given.mode, given.seed).result()
            else:
                spec = read_specification(given.specification)
            apart.submit(
                _show_estimate, spec, files, LimitsConfiguration(memory=given.memory, max_upload=given.max_upload)
            ).result()
        if given.keep is not None:
            given.keep.write_text(dump_specification(spec, {}), encoding="utf-8")
        if not given.peer_only:
            began = time.perf_counter(), time.process_time()
            narrator, truth = Narrator(explain=False), Truth(TRUTH, TRUTH)
            rehearse_into(
                folder, spec, *files, truth, narrator, given.memory, given.threads, max_upload=given.max_upload
            )
            own = time.perf_counter() - began[0], time.process_time() - began[1]
            documents = {
                name: json.loads((folder / f"{name}.json").read_text()) for name in ("timings", "linkage", "evaluation")
            }
            limits = {"carole": given.memory, "alice": given.custodian_memory, "bob": given.custodian_memory}
            peak = peak_bytes()
            show_linkage(**documents, limits=limits, coordinator=(*own, peak))
        if given.peer:
            show_peer(given.peer, *files, spec, Limits(given.peer_python, 120, given.peer_memory))
    return 0


def _invented(folder: Path, people: int, overlap: float, seed: int) -> tuple[Path, Path]:
    """Both files, as Parquet, of populations of so many people as are invented at once."""
    paths = folder / "alice.parquet", folder / "bob.parquet"
    parts: tuple[list[Path], list[Path]] = [], []
    for number, begin in enumerate(range(0, people, BATCH)):
        n = min(BATCH, people - begin)
        both = two_files(n, n, round(overlap * n), ERRORS, np.random.default_rng([seed, number]))
        own = [pl.format("{}-{}", pl.lit(number), pl.col(name)).alias(name) for name in (IDENTIFIER, TRUTH)]
        for file, path, written in zip(both, paths, parts, strict=True):
            written.append(path.with_suffix(f".{number}"))
            file.with_columns(own).write_parquet(written[-1])
    for path, written in zip(paths, parts, strict=True):
        pl.scan_parquet(written).sink_parquet(path)
        for part in written:
            part.unlink()
    return paths


def _show_estimate(spec: Specification, files: tuple[Path, Path], limits: LimitsConfiguration) -> None:
    """What is claimed of the files themselves, before anything is signed."""
    cleaned = {side: clean(pl.read_parquet(path), spec, side).columns for side, path in zip(Side, files, strict=True)}
    estimate = estimate_of_files(spec, cleaned, limits)
    for line in estimate.lines:
        print(line)
    for error in estimate.exceeded:
        print(f"  {error}", flush=True)


def _drafted(files: tuple[Path, Path], people: int, sample: int, mode: Mode, seed: int) -> Specification:
    """The draft from a sample of each file."""
    rng = np.random.default_rng([seed, 1])
    rows = np.sort(rng.permutation(people)[:sample])
    alice, bob = (pl.read_parquet(path).drop(TRUTH)[rows] for path in files)
    gate = None if mode == "open" else assess
    began = time.perf_counter()
    spec, comments, accepted = draft(alice, bob, "scale", True, mode, gate=gate, rows=people, seed=seed)
    rules = ", ".join(rule.name for rule in spec.blocking)
    print(f"draft    {time.perf_counter() - began:.0f} s, of {len(rows):,} records: {len(spec.fields)} fields; {rules}")
    if not accepted:
        print(comments["blocking"], flush=True)
    return spec
