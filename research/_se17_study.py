"""Draws of two files from the insurance network, linked by every method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gemel.carole.evaluation.link_quality import TiedClasses, curve_of, tied_classes
from gemel.carole.extended_latent import (
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
from gemel.carole.extended_latent.estimation import MAX_ITERATIONS, TOLERANCE, match_records, saturated_counts
from gemel.carole.fellegi_sunter.model import PatternCounts
from gemel.carole.fellegi_sunter.schemes import FittedScheme, fit_scheme
from gemel.carole.fellegi_sunter.settings import Estimation
from gemel.coordinator.demonstration.people.insured import driver_network
from gemel.coordinator.demonstration.people.names import name_tables
from gemel.risk.models.fitted import fit
from gemel.risk.models.queries import jensen_shannon
from research._networks import decomposable_model, divergence_from_data

PEOPLE, FROM_A, FROM_B, TRAINING = 1000, 400, 600, 500
KEYS = ("DrivQuality", "Surname")
ALICE = ("SeniorTrain", "RiskAversion", "VehicleYear", "GoodStudent", "DrivingSkill", "SocioEcon")
BOB = ("HomeBase", "Age", "MakeModel", "OtherCar")
BOUNDS = ((0.5, 1.0), (0.5, 1.0))
PERTURBED = 0.2
"""Share of B's keys that are wrong; half of the wrong surnames are misspellings, half another person's."""

PRECISION = 64.0
"""Of the prior, in the tables and figures of the page."""

METHODS = ("FS", "Ext. EM", "Ext. EM +", "GP")
SURNAMES_OF_FILES = "GP, surnames by the files"
"""GP where the surnames' frequencies are not known, which no specification can name; it is not the paper's."""

PAPER = {"full dependence": (0.573, 0.546, 0.328, 0.508), "decomposable": (None, 0.333, 0.199, 0.113)}
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
    pairs, patterns = every_pair(a[:, [quality, -1]], b[:, [quality, -1]])
    training = np.column_stack([network.sample(TRAINING, rng), np.full(TRAINING, -1)]).astype(np.int32)
    known = weights[distinct] / tables.weights.sum()
    return Files(Values(variables, a, b), pairs, patterns, in_a[pairs.row_a] == in_b[pairs.row_b], known, training)


def every_pair(fields_a: NDArray[np.int32], fields_b: NDArray[np.int32]) -> tuple[ArrayPairs, PatternCounts]:
    """Every pair of two files, compared field by field by equality."""
    row_a, row_b = (x.ravel() for x in np.indices((len(fields_a), len(fields_b)), dtype=np.int32))
    gamma, pattern = np.unique((fields_a[row_a] == fields_b[row_b]).astype(np.int8), axis=0, return_inverse=True)
    patterns = PatternCounts(gamma, np.zeros(len(gamma), np.uint32), np.bincount(pattern.ravel()).astype(np.int64))
    return ArrayPairs(row_a, row_b, pattern.ravel().astype(np.int32)), patterns


@dataclass(frozen=True)
class Outcome:
    """What one method makes of one draw: pairs and matches by match probability, and divergences from the network.

    Jensen-Shannon, in bits; NaN where there is none.
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


def linked(
    files: Files, u: str, settings: ExtendedSettings | None = None, methods: Sequence[str] = METHODS
) -> dict[str, Outcome]:
    """One draw linked by some methods besides FS; by default all four, and `SURNAMES_OF_FILES` is a fifth.

    `u` is "all_pairs" as in the paper, or "corrected". By default every pair is used, as in the paper, with a prior
    precision of `PRECISION`.
    """
    settings = settings or ExtendedSettings(heaviest=0.0, precision=PRECISION)
    estimation = Estimation(u=u, refuse_unidentified=False)  # type: ignore[arg-type]
    fitted = fit_scheme("exact", files.patterns, KEYS, BOUNDS, FROM_A, FROM_B, estimation)
    # The surnames' shares among people; misspelt ones have none, and never agree.
    shares = np.where(files.surnames > 0, files.surnames, 1e-12)
    joint = decomposable_model(driver_network())
    known = ValueModel.of(joint, (AloneKey(len(driver_network().names), shares),))
    reported = {
        "Ext. EM": {},
        "Ext. EM +": {"training": files.training},
        "GP": {"known": known},
        SURNAMES_OF_FILES: {"known": joint},
    }
    outcomes = {"FS": _outcome(files, fitted, None)}
    for method, options in reported.items():
        if method not in methods:
            continue
        found = fit_extended(files.values, files.pairs, files.patterns, fitted, BOUNDS, settings, **options)  # type: ignore[arg-type]
        outcomes[method] = _outcome(files, fitted, found)
    return outcomes


def _outcome(files: Files, fitted: FittedScheme, extended: ExtendedFit | None) -> Outcome:
    gamma = files.patterns.gamma[files.pairs.pattern]
    if extended is None:
        probability = fitted.match_probabilities(gamma)
    else:
        probability = extended.match_probabilities(files.pairs.row_a, files.pairs.row_b, gamma)
    weighted = WeightedPairs(files.pairs.row_a, files.pairs.row_b, probability)
    training = files.training if extended is not None and extended.value_fit.training else None
    data = match_records(files.values, weighted, training)
    counts, _ = saturated_counts(data, TOLERANCE, MAX_ITERATIONS)
    network = decomposable_model(driver_network())
    full = divergence_from_data(counts, network)
    decomposable = float("nan")
    if extended is not None and extended.joint is not None:
        decomposable = jensen_shannon(fit(counts, extended.joint.graph), network).bits
    return Outcome(tied_classes(np.round(probability, 12), files.truth), full, decomposable)


RECALL = np.linspace(0.01, 1.0, 100)
RANKS = np.arange(1, 251)
"""Pairs, most probable first, at which cumulative probability and matches are read off."""


@dataclass(frozen=True)
class Experiment:
    """All replicates under one u, methods in the order of `METHODS`.

    Of shape (n_replicates, n_methods): areas under the expected precision-recall curve; Jensen-Shannon divergences
    in bits; mean match probability of the ten most probable pairs (and those tied with them), and their share of
    matches. By method: the mean precision at each recall of `RECALL`; mean cumulative probability and expected
    matches of the most probable pairs at each of `RANKS`.
    """

    areas: NDArray[np.float64]
    full: NDArray[np.float64]
    decomposable: NDArray[np.float64]
    claimed: NDArray[np.float64]
    true: NDArray[np.float64]
    precision: NDArray[np.float64]
    expected: NDArray[np.float64]
    observed: NDArray[np.float64]


def replicate(r: int, seed: int, u: str) -> dict[str, Outcome]:
    """The r-th draw, linked; the same files for every u."""
    return linked(drawn_files(np.random.default_rng([seed, r])), u)


def experiment(replicates: int, seed: int, u: str = "all_pairs", processes: int = 1) -> Experiment:
    """Repeat the experiment."""
    one = partial(replicate, seed=seed, u=u)
    if processes > 1:
        with ProcessPoolExecutor(processes) as pool:
            outcomes = list(pool.map(one, range(replicates)))
    else:
        outcomes = [one(r) for r in range(replicates)]

    def table(value: Callable[[Outcome], object]) -> NDArray[np.float64]:
        return np.array([[value(found[method]) for method in METHODS] for found in outcomes], dtype=np.float64)

    return Experiment(
        areas=table(lambda o: o.area),
        full=table(lambda o: o.full),
        decomposable=table(lambda o: o.decomposable),
        claimed=table(lambda o: o.top[0]),
        true=table(lambda o: o.top[1]),
        precision=table(lambda o: _at_recall(o.classes)).mean(axis=0),
        expected=table(lambda o: _running(o.classes, o.classes.probability)).mean(axis=0),
        observed=table(lambda o: _running(o.classes, o.classes.matches / o.classes.pairs)).mean(axis=0),
    )


def _at_recall(classes: TiedClasses) -> NDArray[np.float64]:
    """Expected precision at each of `RECALL`, inside a class that of any order of its pairs."""
    found = RECALL * classes.matches.sum()
    some = classes.matches > 0
    pairs = np.where(some, classes.pairs, 0.0)
    # Pairs of classes without a match lie before those of the next that has one.
    before = np.cumsum(classes.pairs) - classes.pairs
    end, true = np.cumsum(classes.matches)[some], classes.matches[some]
    at = np.minimum(np.searchsorted(end, found - 1e-9), len(end) - 1)
    inside = (found - (end[at] - true[at])) / true[at] * pairs[some][at]
    return np.asarray(found / (before[some][at] + inside))


def _running(classes: TiedClasses, share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cumulative sum over pairs of a value that each class's pairs share, at each of `RANKS`."""
    seen = np.concatenate([[0.0], np.cumsum(classes.pairs)])
    return np.interp(RANKS, seen, np.concatenate([[0.0], np.cumsum(share * classes.pairs)]))


def precisions(replicates: int, seed: int, tried: Sequence[float]) -> str:
    """A table of what the prior's precision does to Ext. EM."""
    lines = ["| precision | area | divergence, decomposable | top pairs: claimed | true |", "|---|---|---|---|---|"]
    for precision in tried:
        found = []
        for r in range(replicates):
            settings = ExtendedSettings(heaviest=0.0, precision=precision)
            outcome = linked(drawn_files(np.random.default_rng([seed, r])), "all_pairs", settings, ("Ext. EM",))[
                "Ext. EM"
            ]
            found.append((outcome.area, outcome.decomposable, *outcome.top))
        lines.append(f"| {precision:g} | {' | '.join(f'{x:.3f}' for x in np.mean(found, axis=0))} |")
    return "\n".join(lines)
