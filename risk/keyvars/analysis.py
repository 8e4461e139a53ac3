"""How finely a target can be matched against a share of the other forms: the maximal harmonisation.

Of N forms the target's categorisation and theirs harmonise to something; over all choices of N forms of the
environment, the analysis finds that of most categories. A node of the harmonisation graph is a candidate if it is no
finer than the target's categorisation and at least N forms have categorisations finer than it or equal; the largest
candidate is the answer, and no choice of forms has to be looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.keyvars.harmonisation import HarmonisationGraph


@dataclass(frozen=True)
class Step:
    """Up to `forms` forms can be matched in as many as `size` categories: by one of `nodes`."""

    forms: int
    size: float
    nodes: tuple[int, ...]


@dataclass(frozen=True)
class Course:
    """Maximal harmonisations of one target for every number of forms; sizes fall as the numbers rise."""

    environment: int
    """How many forms there are to match against, with or without the variable."""
    steps: tuple[Step, ...]

    def at(self, minimum: int) -> Step | None:
        """The maximal harmonisation with at least so many forms; None if too few have the variable."""
        return next((step for step in self.steps if step.forms >= minimum), None)


def min_forms(environment: int, prevalence: float) -> int:
    """N = floor(|E| p), with p as it is written: .29 of 100 forms are 29, though not in binary."""
    if not 0 <= prevalence <= 1:
        raise GemelError(ErrorCode.PARAMETER, "the prevalence must be from 0 to 1", got=f"{prevalence:g}")
    return math.floor(Fraction(str(prevalence)) * environment)


def course(graph: HarmonisationGraph, target: int, counts: Mapping[int, int], environment: int) -> Course:
    """Maximal harmonisations of a target at every prevalence.

    Parameters
    ----------
    graph
        Of a superset of the categorisations concerned.
    target
        The node of the target's categorisation.
    counts
        How many forms of the environment have each observed node's categorisation; others have none.
    environment
        How many forms there are, with or without the variable.

    Returns
    -------
    Course
        Its steps ascend in `forms` and descend in `size`; ties in size are all named.

    Notes
    -----
    O(n_nodes * n_observed) once the graph is there.
    """
    finer = graph.finer
    weights = np.array([counts.get(node, 0) for node in graph.observed], dtype=np.int64)
    tallies = finer @ weights
    # Coarser than the target or equal: all observed that are finer than the target are finer than the node.
    candidates = np.flatnonzero((finer | ~finer[target]).all(axis=1))
    sizes = graph.sizes()[candidates]
    tallies = tallies[candidates]
    steps: list[Step] = []
    beaten = -1
    for value in sorted(set(sizes.tolist()), reverse=True):
        best = int(tallies[sizes == value].max())
        if best > beaten:
            steps += _ties(candidates, sizes, tallies, value, beaten)
            beaten = best
    return Course(environment, tuple(steps))


def _ties(candidates: np.ndarray, sizes: np.ndarray, tallies: np.ndarray, value: float, beaten: int) -> list[Step]:
    """The steps of one size: where nodes of it serve different numbers of forms, those that still serve are named."""
    chosen = sizes == value
    return [
        Step(int(forms), value, tuple(int(v) for v in candidates[chosen & (tallies >= forms)]))
        for forms in sorted(set(tallies[chosen].tolist()))
        if forms > beaten
    ]
