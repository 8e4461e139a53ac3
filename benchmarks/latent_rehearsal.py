"""What values add where names are poor, over several pairs of files: ``python -m benchmarks latent_rehearsal``.

Two insurers' invented files are linked by given name, month of birth, sex and driving quality; Alice holds six more
traits of a driver, Bob four (`coordinator.demonstration.people.insured`). Each pair of files is cleaned, signed and
linked as the services do it, in mode open and in mode block_keyed, once by agreement alone and once with the extended
latent step. Means over the seeds with their 95 % intervals (Student's t); differences are within seeds.
``gemel demo --variables`` is one such linkage through the services themselves.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

from benchmarks._block_keyed import compared, encoded
from benchmarks._in_process import KEY, SignedFiles, no_progress, persons
from gemel.carole.engine import LinkagePlan, Resources
from gemel.carole.engine.resolution.resolution_exchange import ResolvedHandles, decide
from gemel.carole.engine.resolution.resolution_request import ResolutionRequest
from gemel.carole.engine.run.result import Linkage
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.evaluation.link_quality import matching_pairs, number_of_matches, quality
from gemel.common.parties import Side
from gemel.common.signatures.layout import CODES
from gemel.common.signatures.signature_sets import SignatureSet, VariableCodes
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.demonstration.people.insured import insured_specification, with_traits

Mode = Literal["open", "block_keyed"]
MEASURES = ("precision", "recall", "F1", "Brier sum", "claimed/true")
MODES: tuple[Mode, ...] = ("open", "block_keyed")
SPECIFICATIONS = {mode: insured_specification("insurers", mode=mode) for mode in MODES}
SPEC = SPECIFICATIONS["open"]
RESOURCES = Resources(2**31, 2)

Linked = tuple[Linkage, NDArray[np.int64], NDArray[np.int64]]
"""A linkage, and the persons of its rows or handles in either file."""


def insurers(seed: int, n: int, changed: float) -> dict[Side, pl.DataFrame]:
    """Two insurers' files, half of whose people are in both."""
    rng = np.random.default_rng(seed)
    frames = with_traits(*two_files(n, n, n // 2, 0.2, rng), rng, changed=changed)
    return dict(zip(Side, frames, strict=True))


def files(seed: int, n: int, changed: float) -> tuple[list[SignatureSet], list[NDArray[np.int64]]]:
    """The same as signature sets of mode open, and who their rows are."""
    both = SignedFiles.of(*insurers(seed, n, changed).values(), SPEC)
    return list(both.sets), list(both.persons)


def truth_of(frames: dict[Side, pl.DataFrame]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The persons of both files' records, as numbers."""
    alice, bob = (frames[side][TRUTH].cast(pl.String).to_numpy() for side in Side)
    return persons(alice, bob)


def linked(frames: dict[Side, pl.DataFrame], mode: Mode, *, values: bool) -> Linked:
    """One linkage, as the parties make it in this mode."""
    spec = SPECIFICATIONS[mode]
    plan = plan_of(spec)
    plan = plan if values else replace(plan, latent=None)
    if mode == "open":
        both = SignedFiles.of(*frames.values(), spec)
        return both.linked(plan, RESOURCES), *both.persons
    return _resolved(frames, plan)


def _resolved(frames: dict[Side, pl.DataFrame], plan: LinkagePlan) -> Linked:
    spec = SPECIFICATIONS["block_keyed"]
    made = encoded(frames, spec, KEY, noise=None)
    found, rows = compared(frames, made, plan, RESOURCES)
    handles, of_handles = [], []
    for side, own in zip(Side, truth_of(frames), strict=True):
        of_rows = made[side].order[rows[side]]
        records, handle = np.unique(of_rows, return_inverse=True)
        place = np.empty(frames[side].height, dtype=np.int64)
        place[made[side].orders[CODES]] = np.arange(len(place))
        (codes,) = (part for part in made[side].sets if part.rule == CODES)
        values = {
            name: VariableCodes(variable.categories, variable.codes[place[records]])
            for name, variable in codes.variables.items()
        }
        resolved = ResolvedHandles(handle.astype(np.int32), len(records), values=values)
        handles.append(resolved)
        # `decide` numbers handles by their first appearance.
        number = np.empty(frames[side].height, dtype=np.int64)
        number[:] = -1 - np.arange(len(number))
        renumbered = resolved.by_appearance().handles
        number[renumbered] = own[of_rows]
        of_handles.append(number)
    request = ResolutionRequest(found, (bytes(32), bytes(32)), RESOURCES.threads)
    return decide(request, handles[0], handles[1], plan, no_progress, "run").linkage, of_handles[0], of_handles[1]


def judged(found: Linked, matches: int) -> list[float]:
    """The measures of one linkage."""
    linkage, person_a, person_b = found
    pairs = linkage.pairs
    truth = matching_pairs(person_a, person_b, pairs.row_a, pairs.row_b)
    links = quality(truth[linkage.links], matches)
    brier = float(((pairs.link_probability - truth) ** 2).sum()) + matches - float(truth.sum())
    claimed = float(pairs.link_probability.sum() + linkage.matches_below_floor) / matches
    return [links.precision, links.recall, links.f1, brier, claimed]


def interval(values: Sequence[float] | np.ndarray) -> str:
    """Mean with the half width of its 95 % interval."""
    column = np.asarray(values)
    half = stats.t.ppf(0.975, len(column) - 1) * column.std(ddof=1) / np.sqrt(len(column)) if len(column) > 1 else 0.0
    return f"{column.mean():.3f} ± {half:.3f}"


def main(arguments: Sequence[str]) -> int:
    """Link, judge, print a table in Markdown for each mode."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks latent_rehearsal", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10, help="pairs of files")
    parser.add_argument("--records", type=int, default=600, help="records in each file, half of them in both")
    parser.add_argument("--changed", type=float, default=0.1, help="share of Bob's records with another key")
    options = parser.parse_args(arguments)
    print(f"{options.seeds} pairs of files of {options.records} records, seeds 0 to {options.seeds - 1}")
    for mode in MODES:
        found: dict[str, list[list[float]]] = {"agreement alone": [], "with values": []}
        for seed in range(options.seeds):
            frames = insurers(seed, options.records, options.changed)
            matches = number_of_matches(*truth_of(frames))
            found["agreement alone"].append(judged(linked(frames, mode, values=False), matches))
            found["with values"].append(judged(linked(frames, mode, values=True), matches))
        print(f"\n| mode {mode} | {' | '.join(MEASURES)} |\n| --- |{' ---: |' * len(MEASURES)}")
        table = {what: np.array(rows) for what, rows in found.items()}
        table["difference"] = table["with values"] - table["agreement alone"]
        for what, rows in table.items():
            print(f"| {what} | {' | '.join(interval(column) for column in rows.T)} |")
    return 0
