"""The leakage benchmark's section on results: what a resolver's answer shows Carole, and a share the other custodian.

Carole knows m, u and p, and each candidate pair's comparison vector and rows. A *hidden rival* of a pair is another
candidate of one of its records under another rule, in other rows. The positive control is the answer that a former
release sent, rebuilt from the same run: a link probability for each pair, which is below that of its vector where there
is a rival. The attack then has the answer as it is sent now. Files of 4,000 people whatever the size of the study.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks._block_keyed import compared, encoded
from benchmarks._figures import share
from benchmarks._in_process import no_progress
from benchmarks._leakage_study import Line, Study
from benchmarks.modes import people
from gemel.carole.engine.resolution.padded import shown_pairs
from gemel.carole.engine.resolution.resolution_exchange import Resolved, ResolvedHandles, decide
from gemel.carole.engine.resolution.resolution_request import ResolutionRequest
from gemel.carole.engine.resolution.resolution_result import ResolutionResult, pack_result
from gemel.carole.engine.run.contribution import unpacked
from gemel.carole.engine.run.specified import plan_of
from gemel.common.keys.derivation import Seed
from gemel.common.parties import Side
from gemel.common.specification import Specification

RECORDS, ERRORS = 4_000, 0.6
FEW = ("given_name", "surname", "sex", "date_of_birth")
"""Fields of the harder case, in which many pairs have rivals."""


@dataclass(frozen=True)
class Case:
    """A run decided, its pairs in the order of the resolver's linkage."""

    spec: Specification
    resolved: Resolved
    hidden: NDArray[np.bool_]
    seen: NDArray[np.bool_]


def results(study: Study) -> Iterator[Line]:
    """Attacks on the answer and on shares, as they were and as they are."""
    for few in (False, True):
        which = "names, sex and birth" if few else "all fields"
        case = linked(study.seed, few=few)
        yield from _answers(case, which)
        yield from _shares(case, which)


def linked(seed: int, *, few: bool) -> Case:
    """Two files linked in mode block_keyed, up to the resolver's decision."""
    spec, files = people(RECORDS, ERRORS, seed)
    content = spec.model_dump(mode="json") | {"mode": "block_keyed"}
    if few:
        content["fields"] = [field for field in content["fields"] if field["name"] in FEW]
        content["blocking"] = content["blocking"][:2]
    spec = Specification.model_validate(content)
    plan, key = plan_of(spec), Seed(bytes([seed % 256, *range(1, 32)]))
    made = encoded(files, spec, key)
    found, rows = compared(files, made, plan)
    records = {side: made[side].order[rows[side]].astype(np.int32) for side in Side}
    handles = [ResolvedHandles(records[side], files[side].height) for side in Side]
    resolved = decide(
        ResolutionRequest(found, (bytes(32), bytes(32)), 1), handles[0], handles[1], plan, no_progress, "run"
    )
    rival, seen = (np.logical_or(*(_several(of[side][resolved.order]) for side in Side)) for of in (records, rows))
    return Case(spec, resolved, rival & ~seen, seen)


def _answers(case: Case, which: str) -> Iterator[Line]:
    pairs = case.resolved.linkage.pairs
    flagged = _below_vector(pairs.link_probability, pairs.match_probability) & ~case.seen
    right, n = int((flagged & case.hidden).sum()), int(flagged.sum())
    words = f"{which}, exact probabilities in the answer: {share(right, n, '.0%')} pairs named have a hidden rival"
    yield Line(f"{words}, of {int(case.hidden.sum())} that have", right / max(n, 1), _rate(case, flagged), minimum=0.9)
    sent, _ = unpacked(pack_result(ResolutionResult(case.resolved.document, {})))
    per_pair = [array for array in sent.values() if array.ndim == 1 and len(array) == len(pairs.weight)]
    flagged = _flagged(case, per_pair)
    right, n, chance = int((flagged & case.hidden).sum()), int(flagged.sum()), _rate(case, flagged)
    error = float(np.sqrt(chance * (1 - chance) / n)) if n else 0.0
    words = f"{which}, counts in the answer: {share(right, n, '.0%')} pairs named have a hidden rival"
    yield Line(f"{words}, by their vectors alone", right / n if n else 0.0, chance, error=error, above_chance=0.02)


def _rate(case: Case, flagged: NDArray[np.bool_]) -> float:
    """Share of flagged pairs that have a hidden rival, as far as their comparison vectors show it, which she has."""
    vector = np.unique(case.resolved.linkage.pairs.weight, return_inverse=True)[1]
    unseen = np.bincount(vector, ~case.seen)
    rate = np.bincount(vector, case.hidden) / np.maximum(unseen, 1)
    return float(rate[vector][flagged].mean()) if flagged.any() else 0.0


def _flagged(case: Case, per_pair: list[NDArray[np.generic]]) -> NDArray[np.bool_]:
    """Pairs that the answer points to: by a value of their own, or by a bin that has pairs and fewer links."""
    pairs, counted = case.resolved.linkage.pairs, case.resolved.document.linkage
    if per_pair:
        return _below_vector(per_pair[0].astype(np.float64), pairs.match_probability) & ~case.seen
    edges, linked = np.array(counted.histogram.edges), np.array(counted.histogram.links)
    share = linked / np.maximum(np.array(counted.histogram.counts), 1)
    place = np.clip(np.searchsorted(edges, pairs.weight, side="right") - 1, 0, len(linked) - 1)
    doubtful = (pairs.match_probability >= counted.threshold) & (share[place] < share.max())
    return doubtful & ~case.seen


def _shares(case: Case, which: str) -> Iterator[Line]:
    linkage = case.resolved.linkage
    _, vectors = np.unique(linkage.patterns.gamma, axis=0, return_inverse=True)
    vector = vectors.ravel()[linkage.pairs.pattern[linkage.links]]
    commonest = float(np.bincount(vector).max() / len(vector))
    shown = shown_pairs(linkage, case.spec.release.model_copy(update={"alice": "links"}), Side.ALICE)
    assert shown is not None
    for what, numbers, bound in (
        ("match weights in a share", linkage.pairs.weight[linkage.links], None),
        ("classes in a share", shown.probability, 0.001),
    ):
        number = np.unique(numbers, return_inverse=True)[1]
        held = [np.bincount(vector[number == k]) for k in range(int(number.max()) + 1)]
        alone = sum(int((counts > 0).sum()) == 1 for counts in held)
        words = f"{which}, {what}: {alone} of {len(held)} numbers stand for one comparison vector"
        bounds = {"minimum": 0.9} if bound is None else {"above_chance": bound}
        yield Line(words, alone / len(held), 0.0, **bounds)  # type: ignore[arg-type]
        right = sum(int(counts.max()) for counts in held) / len(vector)
        yield Line(f"{which}, {what}: a link's comparison vector guessed", right, commonest)


def _below_vector(probability: NDArray[np.float64], alone: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Pairs whose link probability is less than that of most pairs of their comparison vector."""
    with np.errstate(divide="ignore", invalid="ignore"):
        residual = np.log(probability) - np.log1p(-probability) - np.log(alone) + np.log1p(-alone)
    known = np.isfinite(residual)
    values, counts = np.unique(np.round(residual[known], 6), return_counts=True)
    return known & (residual < values[counts.argmax()] - 1e-5)


def _several(values: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Whether a value occurs more than once."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return counts[place] > 1
