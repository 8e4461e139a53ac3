"""Settings of the extended latent step."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from gemel.carole.arrays import F64
from gemel.carole.extended_latent.variables import wrong

Search = Literal["greedy", "annealing"]
P = Literal["held", "free"]


@dataclass(frozen=True)
class Priors:
    """Prior knowledge, as pseudo-observations that are added to the expected counts of every step.

    `m` (float64, shape (n_fields, n_levels)): pseudo-matches by field and level; `u` (float64, shape (n_fields,
    n_levels)): pseudo-pairs by field and level, added to those of all pairs; `matches`, `non_matches`: pseudo-pairs
    behind p; they count only where p is free.
    """

    m: F64 | None = field(default=None, repr=False)
    u: F64 | None = field(default=None, repr=False)
    matches: float = 0.0
    non_matches: float = 0.0

    def __post_init__(self) -> None:
        for name, counts in (("m", self.m), ("u", self.u)):
            if counts is not None and (counts.ndim != 2 or not np.isfinite(counts).all() or (counts < 0).any()):
                raise wrong("prior counts must be finite and not negative", f"latent.priors.{name}", "others")
        if min(self.matches, self.non_matches) < 0:
            raise wrong("prior counts must not be negative", "latent.priors", f"{self.matches}, {self.non_matches}")


@dataclass(frozen=True)
class ExtendedSettings:
    """Options of the extended latent step.

    `search`: how the decomposable model is found: by steepest ascent, or by annealing; `precision`: total prior
    precision, of the search and of the fitted cell probabilities (posterior means). None: chosen from the pairs by how
    well the model orders pairs that it was not estimated from (`precision.choose_precision`), at the cost of some
    twenty estimations, of bounded size; `separate`: whether the denominator of the Bayes factor has separate models,
    one for each file's values, instead of the numerator's margins; `p`: "held": the prevalence stays at the
    Fellegi-Sunter estimate. "free": it is estimated again; it can diverge; `one_to_one`: whether p may not exceed 1 /
    max(n_a, n_b); `prior`: pseudo-matches of each field's distribution of levels, spread evenly; `heaviest`: largest
    weight with which a pair that is improbable as a match stands for others like it when pseudo-counts are made: of
    pairs with match probability g below it, a share g / `heaviest` is taken, each counting as `heaviest`. 0 takes every
    pair; `resolution`: log Bayes factors are rounded to multiples of this where pairs are counted for EM. Scores are
    not rounded; `rounds`: of estimating the value model again from the extended probabilities; 0 is the procedure of
    Smith and Elliot. More can over-fit, and the result reports by how much; `held_out`: whether to measure over-fitting
    where there are no further rounds too, at twice the cost of the estimation; `seed`: of the pairs taken, the
    annealing, and the halves for measuring over-fitting.
    """

    search: Search = "greedy"
    moves: int = 100_000
    precision: float | None = None
    separate: bool = False
    p: P = "held"
    one_to_one: bool = True
    prior: float = 1.0
    priors: Priors = field(default_factory=Priors)
    heaviest: float = 0.01
    resolution: float = 2.0**-8
    rounds: int = 0
    held_out: bool = False
    max_iterations: int = 500
    tolerance: float = 1e-8
    seed: int = 1

    def __post_init__(self) -> None:
        for name, allowed, holds in (
            ("search", "greedy or annealing", self.search in get_args(Search)),
            ("p", "held or free", self.p in get_args(P)),
            ("precision", "a number above 0, or none", self.precision is None or 0 < self.precision < math.inf),
            ("heaviest", "0 to 1", 0 <= self.heaviest <= 1),
            ("resolution", "a number above 0, at most 1", 0 < self.resolution <= 1),
            ("tolerance", "a number in (0, 1)", 0 < self.tolerance < 1),
        ):
            if not holds:
                got = getattr(self, name)
                raise wrong(f"expected {allowed}", f"latent.{name}", repr(got) if isinstance(got, str) else str(got))
        if self.prior < 0 or self.rounds < 0 or self.max_iterations < 1 or self.moves < 1:
            raise wrong("numbers of steps and the prior must not be negative", "latent", "a negative number")
