"""Models fitted to samples of the generated population, and searches for them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemel.risk.identification.assessment.beside_keys import auc
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.matching.bayesian_matching import bayesian_matching, fit_models
from gemel.risk.identification.strategies import Frequencies
from gemel.risk.models.annealing import anneal
from gemel.risk.models.mc3_search import mc3
from gemel.risk.models.precision_search import GammaPrior, mc3_with_precision
from gemel.risk.models.result import SearchResult
from gemel.risk.models.scores import HyperDirichlet
from research._census import EIGHT, SIXTEEN, TWELVE, Census
from research._smith2011_printed import COUNT_BANDS
from research._smith2011_study import THESIS_ANNEALING, THESIS_CHAPTER_8

FRACTIONS = (0.01, 0.05)
SETS = (EIGHT, TWELVE, SIXTEEN)
SAMPLES = 20
COOL: Mapping[str, Any] = {**THESIS_ANNEALING, "hottest": 20.0, "coldest": 0.1}
"""Annealing that begins where it matters, with as many moves as the thesis's."""

PRIOR = GammaPrior(1.0, 1.0)
"""The thesis does not state its gamma prior; this one has the mean that it otherwise fixes the precision at."""

FITS: Mapping[str, Mapping[str, Any]] = {
    "precision 1": THESIS_CHAPTER_8,
    "gamma prior": {"precision": PRIOR, **THESIS_CHAPTER_8},
    "precision 1, four chains, double moves": {"moves": 20_000},
    "gamma prior, four chains, double moves": {"precision": PRIOR, "moves": 20_000},
}
"""MC3 as the thesis set it, and the chains of Gemel's default, made as short as the thesis's."""


@dataclass(frozen=True, eq=False)
class Searched:
    """MC3 and annealing as the thesis set them, on one sample."""

    chain: SearchResult
    annealed: SearchResult
    cool: SearchResult  # annealing of as many moves, from temperature 20 to .1

    @property
    def common_edges(self) -> int:
        """Edges that the best models of both have."""
        return len(set(self.chain.best.graph.edges) & set(self.annealed.best.graph.edges))

    @property
    def gain(self) -> float:
        """Log score of annealing's model less that of the best that MC3 visited."""
        return self.annealed.best.log_score - self.chain.best.log_score

    @property
    def walked(self) -> int:
        """Different models along annealing's run; those of one score count once."""
        return len(np.unique(np.round(self.annealed.trace[0], 6)))

    def alone(self) -> list[str]:
        """Variables that annealing's model has independent of all others."""
        graph = self.annealed.best.graph
        return [str(name) for name, joined in zip(graph.names, graph.adjacency, strict=True) if not joined]


def drawn(people: Census, names: Sequence[str], fraction: float, seed: int, number: int) -> KeyFile:
    """Sample number `number`: the same people for every set of variables; the first is that of `smith2011`."""
    return people.sample(names, fraction, np.random.default_rng((seed, number) if number else seed))


def searched(file: KeyFile, seed: int, number: int) -> Searched:
    """Both searches, from the generators that `smith2011` gives them on its sample, and annealing that starts cool."""
    counts = file.table()
    own = (seed + 1, number) if number else seed + 1
    return Searched(
        mc3(HyperDirichlet(counts), np.random.default_rng(own), **THESIS_CHAPTER_8),
        anneal(HyperDirichlet(counts), np.random.default_rng(own), **THESIS_ANNEALING),
        anneal(HyperDirichlet(counts), np.random.default_rng(own), **COOL),
    )


@dataclass(frozen=True)
class Fitted:
    """What the models of one search say of the sample uniques, beside the truth.

    `area` is under the ROC curve, for population uniques; claimed and true are mean Pr(cm) and mean of 1/F of all
    sample uniques and of the 50 riskiest; `edges` of the best model; `precision` its posterior mean; `acceptance`
    the share of the moves made; `seconds` of search and matching.
    """

    area: float
    claimed: float
    true: float
    top_claimed: float
    top_true: float
    visited: float
    edges: float
    precision: float
    acceptance: float
    seconds: float


def fitted(file: KeyFile, seed: int, settings: Mapping[str, Any]) -> Fitted:
    """MC3 with some settings, and the Bayesian match by its models."""
    begun = time.perf_counter()
    models = fit_models(file, "mc3", np.random.default_rng(seed), **settings)
    cell = file.of_record[file.uniques]
    claimed = bayesian_matching(file, models).correct_match[cell]
    seconds = time.perf_counter() - begun
    assert file.population_sizes is not None
    F = file.population_sizes[cell]
    top = np.argsort(-claimed, kind="stable")[:50]
    return Fitted(
        auc(claimed, F == 1),
        float(claimed.mean()),
        float((1 / F).mean()),
        float(claimed[top].mean()),
        float((1 / F[top]).mean()),
        models.search.visited,
        len(models.search.best.graph.edges),
        1.0 if models.precision is None else models.precision.mean,
        models.search.acceptance,
        seconds,
    )


def mixing(file: KeyFile, seed: int) -> dict[str, tuple[float, float]]:
    """Four of the thesis's chains from different starts: R-hat and the spread of an edge's inclusion between them."""
    counts = file.table()
    settings = {**THESIS_CHAPTER_8, "chains": 4}
    fixed = mc3(HyperDirichlet(counts), np.random.default_rng(seed), **settings)
    free = mc3_with_precision(counts, np.random.default_rng(seed), PRIOR, **settings).search
    return {"precision 1": (fixed.r_hat, fixed.edge_spread), "gamma prior": (free.r_hat, free.edge_spread)}


def joint_table(file: KeyFile) -> NDArray[np.int64]:
    """Tables 2 and 3: combinations by sample count (rows) and population count (columns), 0 first."""
    counts = Frequencies.of(file)
    table = np.zeros((len(COUNT_BANDS) + 1, len(COUNT_BANDS) + 1), dtype=np.int64)
    np.add.at(table, (_band(counts.f), _band(counts.F)), 1)
    table[0, 0] = int(np.prod([int(n) for n in file.levels], dtype=object)) - len(counts.F)
    return table


def _band(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    lowest = np.array([low for low, _ in COUNT_BANDS])
    return np.asarray(np.searchsorted(lowest, counts, side="right"), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Study:
    """Everything on the page; lists are by sample."""

    searches: dict[tuple[int, float], list[Searched]]
    fits: dict[float, dict[str, list[Fitted]]]
    mixed: dict[float, list[dict[str, tuple[float, float]]]]
    tables: dict[float, NDArray[np.int64]]  # (samples, 9, 9)


def studied(people: Census, sets: Sequence[Sequence[str]], samples: int, fits: int, seed: int) -> Study:
    """Searches on `samples` samples of each kind; fits and chains of the twelve variables on `fits` of them."""
    searches = {
        (len(names), fraction): [
            searched(drawn(people, names, fraction, seed, number), seed, number) for number in range(samples)
        ]
        for names in sets
        for fraction in FRACTIONS
    }
    twelve = {
        fraction: [drawn(people, TWELVE, fraction, seed, number) for number in range(samples)] for fraction in FRACTIONS
    }
    return Study(
        searches,
        {
            fraction: {
                name: [fitted(file, seed + number, settings) for number, file in enumerate(files[:fits])]
                for name, settings in FITS.items()
            }
            for fraction, files in twelve.items()
        },
        {
            fraction: [mixing(file, seed + number) for number, file in enumerate(files[: max(2, fits // 2)])]
            for fraction, files in twelve.items()
        },
        {fraction: np.array([joint_table(file) for file in files]) for fraction, files in twelve.items()},
    )
