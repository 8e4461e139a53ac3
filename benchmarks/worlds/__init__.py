"""Worlds nobody chose: links, claims and warnings judged over drawn populations: ``python -m benchmarks worlds``.

Each seed is a population drawn from stated ranges (`world`, `files`), linked by the draft as it comes. Splink links
the same records by the same fields and rules, one to one. Outcomes are kept by label, so that a rerun does what is
missing and a report can be printed again or set beside that of another label.

Exit status 1 where a requirement is missed.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import _one_blas_thread  # noqa: F401 - before numpy
from benchmarks.worlds.ablation import MECHANISMS, REMEDIES
from benchmarks.worlds.kept import Judged, Kept, judge_all
from benchmarks.worlds.peer import LIMITS
from benchmarks.worlds.report import print_ablation, print_remedies, print_report
from benchmarks.worlds.world import drawn


def main(arguments: list[str]) -> int:
    """Judge the worlds that are missing and print the report as Markdown."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks worlds", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draw", type=int, default=300, metavar="N", help="worlds, of seeds that follow each other")
    parser.add_argument("--seed", type=int, default=1, help="the first")
    parser.add_argument("--only", default="", metavar="SEED,SEED", help="these worlds and no others")
    parser.add_argument("--processes", type=int, default=1, help="worlds at a time")
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "worlds", help="folder of outcomes")
    parser.add_argument("--label", default="now", help="name of the program's state, under which outcomes are kept")
    parser.add_argument("--again", action="store_true", help="judge worlds anew that are kept under the label")
    parser.add_argument("--against", default="", metavar="LABEL", help="print what changed since that label")
    parser.add_argument("--report-only", action="store_true", help="judge nothing, print what is kept")
    parser.add_argument("--pairs", type=float, metavar="N", help="worlds of at most so many pairs of records")
    parser.add_argument("--ablation", action="store_true", help="judge them without each mechanism too")
    parser.add_argument("--remedies", action="store_true", help="judge them with the remedy of each warning too")
    parser.add_argument("--no-peer", action="store_true", help="without the peer, unless its outcomes are kept")
    parser.add_argument("--peer-python", type=Path, default=LIMITS.python, help="interpreter that has the peer")
    options = parser.parse_args(arguments)
    seeds = [int(seed) for seed in options.only.split(",") if seed]
    seeds = seeds or list(range(options.seed, options.seed + options.draw))
    if options.pairs is not None:
        seeds = [seed for seed in seeds if math.prod(drawn(seed).sizes) <= options.pairs]
    kept = Kept(options.keep, options.label)
    if not options.report_only:
        peer = None if options.no_peer else options.peer_python.absolute()
        if peer is not None and not peer.exists():
            print("The peer is not installed (`make .venv-peers`).", file=sys.stderr)
            peer = None
        for one in judge_all(kept, seeds, peer, options.processes, options.again):
            print(_line(one), file=sys.stderr, flush=True)
    found = kept.all_judged(seeds)
    if options.ablation:
        return _ablation(options, seeds, found)
    if options.remedies:
        return _remedies(options, found)
    earlier = Kept(options.keep, options.against).all_judged(seeds) if options.against else []
    return print_report(found, earlier, options.against)


def _ablation(options: argparse.Namespace, seeds: Sequence[int], found: Sequence[Judged]) -> int:
    """Judge the worlds without each mechanism, and print what that changes."""
    without: dict[str, Sequence[Judged]] = {}
    for name in MECHANISMS:
        kept = Kept(options.keep, f"{options.label}, without {name}")
        if not options.report_only:
            print(name, file=sys.stderr, flush=True)
            list(judge_all(kept, seeds, None, options.processes, options.again, name))
        without[name] = kept.all_judged(seeds)
    print_ablation(found, without)
    return 0


def _remedies(options: argparse.Namespace, found: Sequence[Judged]) -> int:
    """Judge the worlds in which there is a warning with its remedy, and print what that changes."""
    remedied: dict[str, Sequence[Judged]] = {}
    for code in REMEDIES:
        seeds = [one.own.seed for one in found if code in one.own.warnings]
        kept = Kept(options.keep, f"{options.label}, remedy of {code}")
        if not options.report_only:
            list(judge_all(kept, seeds, None, options.processes, options.again, code))
        remedied[code] = kept.all_judged(seeds)
    print_remedies(found, remedied)
    return 0


def _line(one: Judged) -> str:
    """A world in short, for who waits."""
    own, peer = one.own, one.peer
    beside = "" if peer is None else f", peer {peer.refused or f'{peer.f1:.3f}'}"
    ended = f" {own.incident and 'incident: '}{own.incident or own.refused}" if own.incident or own.refused else ""
    took = sum(own.seconds.values())
    return f"{own.seed}: {own.records[0]:,} x {own.records[1]:,}, F1 {own.f1:.3f}{beside}, {took:.1f} s{ended}"
