"""Matches and scores of samples of the generated population."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemel.risk.identification.assessment.beside_keys import auc
from gemel.risk.identification.file_level import file_dis, population_measures
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.matching.bayesian_matching import BayesianMatching, bayesian_matching, fit_models
from gemel.risk.identification.matching.model_attacks import best_cells, cost_matched
from gemel.risk.identification.suda import minimal_uniques
from gemel.risk.identification.suda_ranking import suda_scores
from research._census import FIVE, Census, census

THESIS_CHAPTER_7: Mapping[str, Any] = {
    "moves": 1_000_000,
    "burn_in": 10_000,
    "thin": 100,
    "chains": 1,
    "double_share": 0.0,
}
"""MC3 as T11 chapter 7 ran it."""

THESIS_CHAPTER_8: Mapping[str, Any] = {"moves": 20_000, "burn_in": 1_000, "thin": 20, "chains": 1, "double_share": 0.0}
"""MC3 as T11 chapter 8 ran it."""

THESIS_ANNEALING: Mapping[str, Any] = {"hottest": 1e14, "coldest": 0.01, "moves": 3_666, "double_share": 0.0}
"""Simulated annealing of T11 chapter 8: from 1e14 to .01, each temperature .99 of the one before."""

NOTIONAL = 10_000
"""People of the notional population of chapters 5 and 7."""

NORTH_WEST = 126_251
"""People of the notional population of chapter 8."""

FRACTIONS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.13, 0.15, 0.2, 0.25, *(k / 10 for k in range(3, 10)), 0.99)
"""Sampling fractions of the mean curves of chapter 7; the thesis has one sample at each per cent."""

SERIES = (
    "PU | SU",
    "CM | UM",
    "DIS",
    "CM | SU",
    "ten best, claimed",
    "ten best, true",
    "cost matched by true counts",
    "cost matched by expected counts",
)

METHODS = ("SUDA", "IS", "MC3", "annealing")
"""The scores of figures 49 and 55."""


def measured(file: KeyFile, rng: np.random.Generator) -> list[float]:
    """The measures and attacks of chapter 7 on one sample, in the order of `SERIES`."""
    measures = population_measures(file)
    likely = bayesian_matching(file, fit_models(file, rng=rng))
    assert file.population_sizes is not None
    people = float(file.population_sizes[file.counts == 1].sum())
    by_truth, by_belief = cost_matched(likely, people, by_true_counts=True), cost_matched(likely, people)
    ten = best_cells(likely)
    assert ten.true is not None
    assert by_truth.true is not None
    assert by_belief.true is not None
    return [
        measures["Pr(PU | SU)"],
        measures["Pr(CM | UM)"],
        file_dis(file).value,
        measures["Pr(CM | SU)"],
        ten.claimed.from_sample,
        ten.true.from_sample,
        by_truth.true.from_population,
        by_belief.true.from_population,
    ]


def chapter_7(fractions: Sequence[float], samples: int, seed: int) -> NDArray[np.float64]:
    """Figures 43 and 44: shape (fractions, samples, series). Five variables: the posterior is exact."""
    people = census(NOTIONAL, np.random.default_rng(seed))
    found = np.empty((len(fractions), samples, len(SERIES)))
    for i, fraction in enumerate(fractions):
        for k in range(samples):
            rng = np.random.default_rng((seed, round(1000 * fraction), k))
            found[i, k] = measured(people.sample(FIVE, fraction, rng), rng)
    return found


def thesis_chain(fractions: Sequence[float], seed: int) -> list[tuple[float, float, float]]:
    """MC3 as chapter 7 ran it beside the exact posterior: fraction, greatest difference of a Pr(cm), ten best, true."""
    people = census(NOTIONAL, np.random.default_rng(seed))
    found = []
    for fraction in fractions:
        rng = np.random.default_rng((seed, round(1000 * fraction), 0))
        file = people.sample(FIVE, fraction, rng)
        exact = bayesian_matching(file, fit_models(file, "exact"))
        chain = bayesian_matching(file, fit_models(file, "mc3", rng, **THESIS_CHAPTER_7))
        ten = best_cells(chain)
        assert ten.true is not None
        found.append((fraction, float(np.abs(chain.correct_match - exact.correct_match).max()), ten.true.from_sample))
    return found


@dataclass(frozen=True, eq=False)
class Scored:
    """A sample with its population counts `F`, and by method a score of every sample unique, seconds and models.

    Of models: how many were visited, the best log score, edges of the best.
    """

    file: KeyFile
    scores: dict[str, NDArray[np.float64]]
    F: NDArray[np.int64]
    seconds: dict[str, float]
    models: dict[str, tuple[int, float, int]]


def scored(
    people: Census, names: Sequence[str], fraction: float, seed: int, only: Sequence[str] | None = None
) -> Scored:
    """Chapter 8: SUDA, IS, DIS-IS, MC3 and simulated annealing as the thesis set them, and Occam's window beside."""
    rng = np.random.default_rng(seed)
    file = people.sample(names, fraction, rng)
    rows = file.uniques
    cell = file.of_record[rows]
    scores: dict[str, NDArray[np.float64]] = {}
    seconds: dict[str, float] = {}
    models: dict[str, tuple[int, float, int]] = {}
    begun = time.perf_counter()
    uniques = minimal_uniques(file)
    found = suda_scores(file, "is", found=uniques)
    seconds["DIS-IS"] = time.perf_counter() - begun
    scores["IS"], scores["DIS-IS"] = found.scores[rows], found.dis_scores[rows]
    scores["SUDA"] = suda_scores(file, "suda", found=uniques).scores[rows]
    searches: dict[str, Mapping[str, object]] = {
        "MC3": {"method": "mc3", **THESIS_CHAPTER_8},
        "annealing": {"method": "annealing", **THESIS_ANNEALING},
        "Occam's window": {"method": "occam", "ratio": 20.0, "bridge": 5.0},
        "MC3, four chains, double moves": {"method": "mc3", "moves": 100_000},
    }
    for name, settings in searches.items():
        if only is not None and name not in only:
            continue
        begun = time.perf_counter()
        matching = bayesian_matching(file, fit_models(file, rng=np.random.default_rng(seed + 1), **settings))  # type: ignore[arg-type]
        seconds[name] = time.perf_counter() - begun
        scores[name] = matching.correct_match[cell]
        models[name] = _found(matching)
    assert file.population_sizes is not None
    return Scored(file, scores, file.population_sizes[cell], seconds, models)


def areas(people: Census, names: Sequence[str], fraction: float, samples: int, seed: int) -> NDArray[np.float64]:
    """AUC of each of `METHODS` at identifying population uniques, on samples: shape (samples, methods)."""
    found = np.empty((samples, len(METHODS)))
    for k in range(samples):
        sample = scored(people, names, fraction, seed + 100 + k, only=METHODS)
        found[k] = [auc(sample.scores[method], sample.F == 1) for method in METHODS]
    return found


def _found(matching: BayesianMatching) -> tuple[int, float, int]:
    search = matching.models.search
    return search.visited, search.best.log_score, len(search.best.graph.edges)
