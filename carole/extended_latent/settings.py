"""Settings of the extended latent step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from gemel.carole.extended_latent.variables import wrong

Search = Literal["greedy", "annealing"]
P = Literal["held", "free"]


@dataclass(frozen=True)
class ExtendedSettings:
    """Options of the extended latent step.

    `search`: how the decomposable model is found: by steepest ascent, or by annealing; `precision`: total prior
    precision, of the search and of the fitted cell probabilities (posterior means). None: chosen from the pairs by how
    well the model orders pairs that it was not estimated from (`precision.choose_precision`), at the cost of some
    twenty estimations, of bounded size; `separate`: whether the denominator of the Bayes factor has separate models,
    one for each file's values, instead of the numerator's margins; `p`: "held": the prevalence stays at the
    Fellegi-Sunter estimate. "free": it is estimated again; it can diverge; `one_to_one`: whether p may not exceed 1 /
    max(n_a, n_b); `heaviest`: largest weight with which a pair that is improbable as a match stands for others like it
    when pseudo-counts are made: of pairs with match probability g below it, a share g / `heaviest` is taken, each
    counting as `heaviest`. 0 takes every pair; `resolution`: log Bayes factors are rounded to multiples of this where
    pairs are counted for EM. Scores are not rounded; `rounds`: of estimating the value model again from the extended
    probabilities; 0 is the procedure of Smith and Elliot. More can over-fit, and the result reports by how much;
    `seed`: of the pairs taken, the annealing, and the halves for measuring over-fitting.
    """

    search: Search = "greedy"
    moves: int = 100_000
    precision: float | None = None
    separate: bool = False
    p: P = "held"
    one_to_one: bool = True
    heaviest: float = 0.01
    resolution: float = 2.0**-8
    rounds: int = 0
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
        if self.rounds < 0 or self.max_iterations < 1 or self.moves < 1:
            raise wrong("numbers of steps must not be negative", "latent", "a negative number")
