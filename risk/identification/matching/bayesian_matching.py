"""The intruder who models: the chance that a match is correct, from decomposable models averaged by their posterior.

The law of a population count F by a model, given the sample count f: F - f is Poisson (T11 chapter 7).

With K ~ Poisson(lambda) people of a combination outside the sample, the chance that a match is the right person is
:math:`E[1/(f + K)]`; `expected_reciprocal` is its closed form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numba import vectorize
from numpy.typing import ArrayLike

from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.errors import parameter
from gemel.risk.arrays import Floats, Integers
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.models.annealing import anneal
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.defaults import search
from gemel.risk.models.enumeration import enumerate_models
from gemel.risk.models.greedy_search import occam_window
from gemel.risk.models.mc3_search import mc3
from gemel.risk.models.precision_search import (
    GammaPrior,
    PrecisionSearch,
    enumerate_with_precision,
    mc3_with_precision,
    search_precision,
)
from gemel.risk.models.queries import ModelAverage
from gemel.risk.models.result import SearchResult
from gemel.risk.models.scores import HyperDirichlet


def expected_reciprocal(f: ArrayLike, rate: ArrayLike) -> Floats:
    r"""E[1/(f + K)] for K ~ Poisson(rate).

    `f` (array of int): sample counts, at least 1; `rate` (array of float): expected people outside the sample, not
    negative.

    With I_f the value sought, :math:`I_1 = (1 - e^{-\lambda})/\lambda` and integration by parts of
    :math:`I_f = \int_0^1 t^{f-1} e^{-\lambda(1-t)} dt` gives :math:`\lambda I_f = 1 - (f-1) I_{f-1}`. Climbing is
    stable while f <= lambda (an error shrinks by (f-1)/lambda at each step). Otherwise Kummer's series
    :math:`I_f = \frac1f \sum_k \frac{(-\lambda)^k}{(f+1) \cdots (f+k)}` has falling terms. O(f) for each value, so O(n)
    for the cells of a file of n records.
    """
    sizes, rates = np.asarray(f, dtype=np.int64), np.asarray(rate, dtype=np.float64)
    if sizes.size and rates.size and (sizes.min() < 1 or not np.isfinite(rates).all() or rates.min() < 0):
        raise parameter("f, rate", "sample counts must be at least 1 and expected counts finite and not negative")
    return np.asarray(_reciprocal(sizes, rates))


@vectorize(cache=True)  # type: ignore[no-untyped-call, untyped-decorator]  # compiled
def _reciprocal(f: int, rate: float) -> float:
    if rate == 0.0:
        return 1.0 / f
    if f <= rate or f == 1:
        value = -math.expm1(-rate) / rate
        for size in range(2, f + 1):
            value = (1.0 - (size - 1) * value) / rate
        return value
    total, term, k = 1.0, 1.0, 1
    while abs(term) > 1e-17 * total:
        term *= -rate / (f + k)
        total += term
        k += 1
    return total / f


# T11 chapter 7. A model gives every combination j of key values a probability p_j. The people of that combination
# outside the sample are Poisson with mean :math:`\lambda_j = \frac{n}{\pi} (1 - \pi) p_j`, so that a match with a
# released record of combination j is the right person with probability :math:`E[1/(f_j + K)]`. The models' results
# are averaged by their weight; probabilities of cells are not averaged first, since 1/F is no linear function of
# them.
#
# What is claimed of the combinations of highest risk is too much: they are the ones for which the models err that way
# (research/smith-2011.md shows by how much). Posterior means instead of maximum likelihood, the thesis's choice, do
# not help: the prior is worth one record.

Method = Literal["default", "exact", "mc3", "annealing", "occam"]

METHODS: tuple[Method, ...] = ("default", "exact", "mc3", "annealing", "occam")


@dataclass(frozen=True, eq=False)
class FittedModels:
    average: ModelAverage
    search: SearchResult
    precision: PrecisionSearch | None = None

    def heaviest(self, number: int) -> FittedModels:
        """The same with no more than `number` models, their weights made to sum to 1."""
        models, weights = self.average.models, self.average.weights
        order = np.argsort(-weights, kind="stable")[:number]
        return replace(self, average=ModelAverage([models[i] for i in order], weights[order] / weights[order].sum()))

    def warnings(self) -> tuple[ResultWarning, ...]:
        found = self.search
        warnings = []
        if found.method == "MC3" and (found.r_hat > 1.01 or found.edge_spread > 0.2):
            warnings.append(result_warning("chains_not_converged", r_hat=found.r_hat, edge_spread=found.edge_spread))
        if found.method == "MC3" and len(found) == 1:
            warnings.append(result_warning("chain_at_one_model"))
        if found.method == "simulated annealing":
            warnings.append(result_warning("one_model_searched"))
        return tuple(warnings)


def fit_models(
    file: KeyFile,
    method: Method = "default",
    rng: np.random.Generator | None = None,
    *,
    precision: float | GammaPrior = 1.0,
    share: float = 0.99,
    at_most: int = 200,
    **settings: Any,
) -> FittedModels:
    """Search for decomposable models of a file's key variables and fit them.

    `file`: the release; missing values must be a level. `method`: ``exact``: every model (to 7 variables). ``mc3``,
    ``annealing``, ``occam``: see `risk.models`. ``default``: exact to 6 variables, MC3 above. `rng`: for ``mc3``,
    ``annealing`` and ``default``. `precision`: the total prior precision of the scores: a number, or a gamma prior, for
    ``default``, ``exact`` and ``mc3``. `share`, `at_most`: the heaviest models that hold this share of the weight are
    kept, and no more than so many.
    """
    if method not in METHODS:
        raise parameter("method", f"must be one of {', '.join(METHODS)}", repr(str(method)))
    counts = file.table()
    drawn = np.random.default_rng(1) if rng is None else rng
    if isinstance(precision, GammaPrior):
        joint = _with_prior(counts, method, drawn, precision, settings)
        average = ModelAverage.of(joint.search, counts, share=share, at_most=at_most)
        return FittedModels(average, joint.search, joint)
    scores = HyperDirichlet(counts, precision)
    searches = {
        "default": lambda: search(scores, drawn, **settings),
        "exact": lambda: enumerate_models(scores),
        "mc3": lambda: mc3(scores, drawn, **settings),
        "annealing": lambda: anneal(scores, drawn, **settings),
        "occam": lambda: occam_window(scores, **settings),
    }
    found = searches[method]()
    average = ModelAverage.of(found, counts, share=share, at_most=at_most)
    return FittedModels(average, found)


def _with_prior(
    counts: SparseCounts, method: Method, rng: np.random.Generator, prior: GammaPrior, settings: dict[str, Any]
) -> PrecisionSearch:
    if method == "default":
        return search_precision(counts, rng, prior, **settings)
    if method == "exact":
        return enumerate_with_precision(counts, prior)
    if method == "mc3":
        return mc3_with_precision(counts, rng, prior, **settings)
    raise parameter(
        "precision",
        "a prior on the precision is for default, exact and mc3",
        f"a gamma prior with method {method}",
        "give the precision as a number, or choose one of these methods",
    )


@dataclass(frozen=True, eq=False)
class BayesianMatching:
    """What the modelling intruder infers of each combination in the file.

    `models`: the models, and how they were found; `correct_match` (float64, shape (n_cells,)): Pr(cm) of each
    combination, averaged over models; `population_unique` (float64, shape (n_cells,)): probability that F = 1; 0 where
    f > 1; `outside` (float64, shape (n_cells,)): expected people outside the sample, lambda_j, averaged over models.
    """

    file: KeyFile = field(repr=False)
    models: FittedModels
    correct_match: Floats = field(repr=False)
    population_unique: Floats = field(repr=False)
    outside: Floats = field(repr=False)

    @property
    def expected_count(self) -> Floats:
        """E(F_j | f_j), shape (n_cells,)."""
        return np.asarray(self.file.counts + self.outside)

    @property
    def of_records(self) -> Floats:
        """Pr(cm) of each record, shape (n_records,)."""
        return np.asarray(self.correct_match[self.file.of_record])

    @cached_property
    def measures(self) -> ModelMeasures:
        return measures_of(self.file.counts, self.correct_match, self.population_unique, self.outside)


@dataclass(frozen=True)
class ModelMeasures:
    """File measures from models alone (T11 chapter 8); those of a file without sample uniques are 0."""

    uniques: int
    expected_matches: float
    expected_population_uniques: float
    cm_given_su: float
    cm_given_um: float
    pu_given_su: float
    cm: float
    greatest: float


def measures_of(counts: Integers, correct_match: Floats, population_unique: Floats, outside: Floats) -> ModelMeasures:
    """File measures of cells with sample counts, Pr(cm), Pr(F = 1) and expected people outside the sample."""
    if not len(counts):
        return ModelMeasures(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    own = counts == 1
    n1 = int(own.sum())
    tau1, tau2 = float(population_unique[own].sum()), float(correct_match[own].sum())
    expected = n1 + float(outside[own].sum())
    return ModelMeasures(
        n1,
        tau2,
        tau1,
        tau2 / n1 if n1 else 0.0,
        n1 / expected if n1 else 0.0,
        tau1 / n1 if n1 else 0.0,
        float((counts * correct_match).sum() / counts.sum()),
        float(correct_match.max()),
    )


def bayesian_matching(file: KeyFile, models: FittedModels) -> BayesianMatching:
    """Pr(cm) and expected population count of every combination in the file, averaged over fitted models.

    O(models * cliques * cells log cells).
    """
    kept = file.varying
    cells = file.cells[:, kept]
    parts = [np.exp(model.log_probability(cells)) for model in models.average.models]
    found = averaged(file.counts, parts, models.average.weights, file.n_records, file.fraction)
    return BayesianMatching(file, models, *found)


def averaged(
    counts: Integers, probabilities: list[Floats], weights: Floats, n_records: int, fraction: float
) -> tuple[Floats, Floats, Floats]:
    """Pr(cm), Pr(F = 1) and lambda of cells, from their probabilities under each model and the models' weights."""
    outside = n_records / fraction * (1.0 - fraction)
    cm, alone, mean = (np.zeros(len(counts)) for _ in range(3))
    for weight, p in zip(weights, probabilities, strict=True):
        rate = outside * p
        cm += weight * expected_reciprocal(counts, rate)
        alone += weight * np.where(counts == 1, np.exp(-rate), 0.0)
        mean += weight * rate
    return cm, alone, mean
