"""How well Gemel links data whose truth is known, beside Splink and recordlinkage: ``python -m benchmarks quality``.

Every program gets the same records as Gemel cleaned them, the same fields, and the same blocking keys. Gemel links by
the draft specification as it comes; nothing is tuned to the data, and the truth is used to judge only. Splink compares
by its own comparisons for each kind of field and is trained as its tutorial does; recordlinkage runs its ECM classifier
on binary comparisons. A link is a pair of probability .5 or more, in Gemel's case after the assignment of the draft. So
that the peers are not judged by what they do not offer, each has a second row: its match weights under that assignment,
by the same program that does it for Gemel.

The peers need packages that Gemel does not have, in an environment of their own:

    python3.11 -m venv .venv-peers && .venv-peers/bin/pip install splink==5.0.0 recordlinkage==0.16
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import DATA, REPOSITORY
from benchmarks._in_process import JudgedLinks
from benchmarks._quality_files import Case, large, overlapping, whole
from benchmarks._quality_programs import PEERS, Limits, by_gemel, by_peer

PEER_PYTHON = REPOSITORY / ".venv-peers" / "bin" / "python"

HEAD = (
    "| data | program | F1 | precision | claimed | recall | claimed | sum / matches | best F1 | AUC | gap |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|"
)

CLAIMS = (
    "| program | rows | sum within 3 % | claimed recall within .02 | claimed precision within .01 | lowest F1 |\n"
    "|---|---|---|---|---|---|"
)

SUM_WITHIN, RECALL_WITHIN, PRECISION_WITHIN = 0.03, 0.02, 0.01
"""How near to what is true a claim is to be."""

Linked = tuple[str, str, list[JudgedLinks]]
"""A case, a program, and its links in each draw."""


def main(arguments: list[str]) -> int:
    """Link every case by every program and print the tables as Markdown."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks quality", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="link only the cases whose title has this in it")
    parser.add_argument("--draws", type=int, default=3, help="files of each kind that is drawn, seeds 1 to this")
    parser.add_argument("--records", type=int, default=5000, help="invented people in each file")
    parser.add_argument("--large", action="store_true", help="100,000 invented people in each file, and nothing else")
    parser.add_argument("--minutes", type=float, default=20, help="time that a peer has")
    parser.add_argument("--memory", type=float, default=8, help="GiB that a peer has")
    parser.add_argument("--peer-python", type=Path, default=PEER_PYTHON, help="interpreter that has the peers")
    options = parser.parse_args(arguments)
    if not DATA.is_dir():
        print("The reference data is not beside this checkout.")
        return 1
    limits = Limits(options.peer_python, options.minutes, options.memory)
    tables = (large(100_000),) if options.large else (whole(), overlapping(options.records))
    linked: list[Linked] = []
    for cases in tables:
        print(HEAD)
        for case in cases:
            if options.only in case.title:
                for program, found in _linked(case, 1 if options.large or not case.drawn else options.draws, limits):
                    print(_row(case.title, program, found), flush=True)
                    if not isinstance(found, str):
                        linked.append((case.title, program, found))
        print()
    _show_claims(linked)
    if not options.peer_python.exists():
        print(f"\nThe peers are not installed:\n{(__doc__ or '').rsplit(':', 1)[-1].strip()}", file=sys.stderr)
    return 0


def _linked(case: Case, draws: int, limits: Limits) -> Iterator[tuple[str, list[JudgedLinks] | str]]:
    """What each program finds in each draw, or why it does not."""
    drawn = [case.files(np.random.default_rng(seed)) for seed in range(1, draws + 1)]
    specs = [case.specification(*files) for files in drawn]
    yield "Gemel", [by_gemel(*files, spec) for files, spec in zip(drawn, specs, strict=True)]
    for peer in PEERS if case.peers and limits.python.exists() else ():
        found: dict[str, list[JudgedLinks]] = {}
        for seed, (files, spec) in enumerate(zip(drawn, specs, strict=True), 1):
            one = by_peer(peer, *files, spec, limits)
            if isinstance(one, str):
                yield peer, one if draws == 1 else f"seed {seed}: {one}"
                continue
            for program, judged in one.items():
                found.setdefault(program, []).append(judged)
        yield from found.items()


def _row(title: str, program: str, found: list[JudgedLinks] | str) -> str:
    if isinstance(found, str):
        return f"| {title} | {program} | {found} |{' |' * 8}"

    def mean(name: str) -> float:
        return float(np.mean([getattr(one, name) for one in found]))

    figures = [
        _interval([one.f1 for one in found]),
        *(f"{mean(name):.4f}" for name in ("precision", "claimed_precision", "recall", "claimed_recall")),
        f"{_sum(found):.4f}",
        *(f"{mean(name):.4f}" for name in ("best_f1", "auc")),
        f"{mean('largest_gap'):+.1%}",
    ]
    return f"| {title} | {program} | {' | '.join(figures)} |"


def _interval(values: list[float]) -> str:
    """Mean, with a 95 % interval of several draws."""
    half = 1.96 * np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{np.mean(values):.4f}" + (f" ± {half:.4f}" if half else "")


def _sum(found: list[JudgedLinks]) -> float:
    """Sum of the probabilities of all pairs, as a share of the matches."""
    return sum(one.claimed_matches for one in found) / sum(one.matches for one in found)


def _show_claims(linked: list[Linked]) -> None:
    """How often each program's claims are near the truth, and where Gemel's are not."""
    print(CLAIMS)
    for kind in dict.fromkeys(_kind(program) for _, program, _ in linked):
        rows = [found for _, program, found in linked if _kind(program) == kind]
        near = [
            sum(abs(_sum(found) - 1) <= SUM_WITHIN for found in rows),
            sum(abs(_excess(found, "recall")) <= RECALL_WITHIN for found in rows),
            sum(abs(_excess(found, "precision")) <= PRECISION_WITHIN for found in rows),
        ]
        lowest = min(float(np.mean([one.f1 for one in found])) for found in rows)
        print(f"| {kind} | {len(rows)} | {' | '.join(map(str, near))} | {lowest:.4f} |")
    print("\nGemel's outside of these, of the sum or the recall:\n")
    for title, program, found in linked:
        far = abs(_sum(found) - 1) > SUM_WITHIN or not abs(_excess(found, "recall")) <= RECALL_WITHIN
        if program == "Gemel" and far:
            print(f"- {title}: sum {_sum(found):.4f} of the matches, recall claimed {_excess(found, 'recall'):+.4f}")


def _kind(program: str) -> str:
    """A program whatever its version, and whether its weights were put through an assignment."""
    name, comma, _ = program.partition(",")
    return f"{name}, assigned" if comma else name


def _excess(found: list[JudgedLinks], of: str) -> float:
    """What is claimed of the links beyond what is true, on average; NaN where a draw claims nothing."""
    return float(np.mean([getattr(one, f"claimed_{of}") - getattr(one, of) for one in found]))
