"""Smith and Elliot's experiment (2017): linkage by agreement alone, and with the values' joint distribution.

A thousand people drawn from the insurance network without its barren nodes, each with a surname; 400 of them in A, 600
in B. A has seven of the network's variables, B five; the driving quality and the surname are in both, and B's are
perturbed. ``python -m benchmarks se17 --write`` makes page and figures.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carole.coordinator.people.drivers import driver_network
from carole.coordinator.people.names import name_tables
from carole.evaluation.classes import TiedClasses, tied_classes
from carole.evaluation.curve import curve_of
from carole.extended_latent import (
    AloneKey,
    ArrayPairs,
    ExtendedFit,
    ExtendedSettings,
    ValueModel,
    Values,
    Variable,
    WeightedPairs,
    fit_extended,
)
from carole.extended_latent.estimation import TOLERANCE, match_records
from carole.fellegi_sunter import Estimation, FittedScheme, PatternCounts, fit_scheme
from risk.models.counts import SparseCounts
from risk.models.divergence import jensen_shannon
from risk.models.fitted import fit
from risk.models.incomplete import fit_incomplete

PEOPLE, FROM_A, FROM_B, TRAINING = 1000, 400, 600, 500
KEYS = ("DrivQuality", "Surname")
ALICE = ("SeniorTrain", "RiskAversion", "VehicleYear", "GoodStudent", "DrivingSkill", "SocioEcon")
BOB = ("HomeBase", "Age", "MakeModel", "OtherCar")
BOUNDS = ((0.5, 1.0), (0.5, 1.0))
PERTURBED = 0.2
"""Share of B's keys that are wrong; half of the wrong surnames are misspellings, half another person's."""

METHODS = ("FS", "Ext. EM", "Ext. EM +", "GP")
PAPER = {
    "full dependence": (0.573, 0.546, 0.328, 0.508),
    "decomposable": (None, 0.333, 0.199, 0.113),
}
"""Table 1 as printed."""


@dataclass(frozen=True)
class Files:
    """One draw: both files as codes, and which pairs are matches.

    The variables are the network's, in its order, then the surname.
    """

    values: Values
    pairs: ArrayPairs
    patterns: PatternCounts
    truth: NDArray[np.bool_]
    surnames: NDArray[np.float64]
    training: NDArray[np.int32]


def drawn_files(rng: np.random.Generator) -> Files:
    """Draw people, take two samples, perturb B's keys, compare every pair."""
    network = driver_network()
    tables = name_tables()["surname"]
    names = tables.names.astype(str)
    everyone = network.sample(PEOPLE, rng)
    surname = np.searchsorted(np.cumsum(tables.weights), rng.integers(0, tables.weights.sum(), PEOPLE), side="right")
    in_a, in_b = rng.permutation(PEOPLE)[:FROM_A], rng.permutation(PEOPLE)[:FROM_B]
    in_b_names = surname[in_b]
    quality = network.names.index("DrivQuality")
    of_b = everyone[in_b].copy()
    wrong = rng.random(FROM_B) < PERTURBED
    of_b[wrong, quality] = (of_b[wrong, quality] + rng.integers(1, 3, int(wrong.sum()))) % 3
    wrong = rng.random(FROM_B) < PERTURBED
    typed = wrong & (rng.random(FROM_B) < 0.5)
    in_b_names = np.where(wrong & ~typed, surname[rng.permutation(PEOPLE)[:FROM_B]], in_b_names)
    # A misspelt name is a value of its own: it agrees with nothing.
    codes = np.concatenate([surname[in_a], np.where(typed, len(names) + np.arange(FROM_B), in_b_names)])
    distinct, codes = np.unique(codes, return_inverse=True)
    weights = np.concatenate([tables.weights, np.zeros(FROM_B)]).astype(np.float64)
    variables = (
        *(
            Variable(str(name), "both" if name in KEYS else "alice" if name in ALICE else "bob", n)
            for name, n in zip(network.names, network.levels, strict=True)
        ),
        Variable("Surname", "both", len(distinct), alone=True),
    )
    a = np.column_stack([everyone[in_a], codes[:FROM_A]]).astype(np.int32)
    b = np.column_stack([of_b, codes[FROM_A:]]).astype(np.int32)
    for v, variable in enumerate(variables):
        if variable.holder == "bob":
            a[:, v] = -1
        elif variable.holder == "alice":
            b[:, v] = -1
    row_a, row_b = (x.ravel() for x in np.indices((FROM_A, FROM_B), dtype=np.int32))
    gamma = np.column_stack([a[row_a, quality] == b[row_b, quality], a[row_a, -1] == b[row_b, -1]]).astype(np.int8)
    vectors, pattern = np.unique(gamma, axis=0, return_inverse=True)
    patterns = PatternCounts(vectors, np.zeros(len(vectors), np.uint32), np.bincount(pattern.ravel()).astype(np.int64))
    training = np.column_stack([network.sample(TRAINING, rng), np.full(TRAINING, -1)]).astype(np.int32)
    known = weights[distinct] / tables.weights.sum()
    pairs = ArrayPairs(row_a, row_b, pattern.ravel().astype(np.int32))
    return Files(Values(variables, a, b), pairs, patterns, in_a[row_a] == in_b[row_b], known, training)


@dataclass(frozen=True)
class Outcome:
    """What one method makes of one draw.

    Attributes
    ----------
    classes
        Pairs and matches by match probability.
    full, decomposable
        Jensen-Shannon divergence from the network, in bits; NaN where there is none.
    """

    classes: TiedClasses
    full: float
    decomposable: float

    @property
    def area(self) -> float:
        """Under the expected precision-recall curve."""
        return curve_of(self.classes, int(self.classes.matches.sum())).auc

    @property
    def top(self) -> tuple[float, float]:
        """Claimed probability of the most probable class of at least ten pairs' worth, and its share of matches."""
        seen = np.cumsum(self.classes.pairs)
        last = int(np.searchsorted(seen, 10))
        pairs = self.classes.pairs[: last + 1]
        claimed = float((self.classes.probability[: last + 1] * pairs).sum() / pairs.sum())
        return claimed, float(self.classes.matches[: last + 1].sum() / pairs.sum())


def linked(files: Files, u: str, settings: ExtendedSettings | None = None) -> dict[str, Outcome]:
    """One draw linked by all four methods."""
    settings = settings or ExtendedSettings(heaviest=0.0)
    fitted = fit_scheme(
        "exact",
        files.patterns,
        KEYS,
        BOUNDS,
        FROM_A,
        FROM_B,
        Estimation(u=u, refuse_unidentified=False),  # type: ignore[arg-type]
    )
    network = driver_network()
    known = network.model()

    def run(**options: object) -> ExtendedFit:
        return fit_extended(files.values, files.pairs, files.patterns, fitted, BOUNDS, settings, **options)  # type: ignore[arg-type]

    # The surnames' shares among people; misspelt ones have none, and never agree.
    shares = np.where(files.surnames > 0, files.surnames, 1e-12)
    alone = AloneKey(len(network.names), shares, shares, shares)
    found = {
        "Ext. EM": run(),
        "Ext. EM +": run(training=files.training),
        "GP": run(known=ValueModel.of(known, (alone,))),
    }
    outcomes = {"FS": _outcome(files, fitted, None)}
    outcomes |= {method: _outcome(files, fitted, fit) for method, fit in found.items()}
    return outcomes


def _outcome(files: Files, fitted: FittedScheme, extended: ExtendedFit | None) -> Outcome:
    gamma = files.patterns.gamma[files.pairs.pattern]
    if extended is None:
        probability = fitted.match_probabilities(gamma)
    else:
        probability = extended.match_probabilities(files.pairs.row_a, files.pairs.row_b, gamma)
    network = driver_network()
    weighted = WeightedPairs(files.pairs.row_a, files.pairs.row_b, probability)
    training = files.training if extended is not None and extended.value_fit.training else None
    data = match_records(files.values, weighted, training)
    cells = fit_incomplete(data, tolerance=TOLERANCE, max_iterations=100).model.cliques[0]
    some = cells.values > 0
    counts = SparseCounts(data.names, data.levels, cells.cells[some], cells.values[some])
    full = jensen_shannon(counts, network).bits
    decomposable = float("nan")
    if extended is not None and extended.joint is not None:
        decomposable = jensen_shannon(fit(counts, extended.joint.graph), network).bits
    return Outcome(tied_classes(np.round(probability, 12), files.truth), full, decomposable)
