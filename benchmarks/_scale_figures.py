"""What `benchmarks.scale` prints of a linkage through the three services, and of a peer on the same files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from benchmarks._quality_programs import Limits, by_measured_peer
from gemel.carole.configuration import size_in_bytes
from gemel.common.specification import Specification

GIB = 1 << 30


def show_linkage(
    timings: dict[str, Any],
    linkage: dict[str, Any],
    evaluation: dict[str, Any],
    limits: dict[str, str],
    coordinator: tuple[float, float, int],
) -> None:
    """Where the time and the memory went, and what the links are worth.

    Parameters
    ----------
    timings, linkage, evaluation
        A rehearsal's documents.
    limits
        Of memory, by service.
    coordinator
        Seconds, processor seconds and high-water mark of the coordinator's process, in which the resolver is.
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
    decision, expected = evaluation["at_decision"], linkage["expected"]
    print(
        f"links    {decision['links']:,}: precision {decision['precision']:.4f}, claimed {expected['precision']:.4f}; "
        f"recall {decision['recall']:.4f}, claimed {expected['recall']:.4f}; F1 {decision['f1']:.4f} (best "
        f"{evaluation['at_best']['f1']:.4f}), AUC {evaluation['auc']:.4f}"
    )


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
