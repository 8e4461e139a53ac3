"""Link probabilities of the kept pairs under an assignment: who may be linked how often.

An assignment decides which pairs exclude each other. The posterior probabilities follow from it, and so do the pairs
that are known to be no match because a record of theirs is linked elsewhere. Estimation (`refinement`, `dependence`)
needs both and no more, whatever the assignment.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tryst.carole.fellegi_sunter.fixed_point import LinkProbabilities
from tryst.carole.fellegi_sunter.link_rule import Assignment
from tryst.carole.fellegi_sunter.many_to_one import partner_probabilities
from tryst.carole.fellegi_sunter.one_to_one import link_probabilities
from tryst.common.progress import StageProgress


@dataclass(frozen=True)
class LinkPosterior:
    """The kept pairs, and what excludes what among them.

    Parameters
    ----------
    assignment : {"one_to_one", "greedy", "many_to_one", "one_to_many", "none"}
        one_to_one, greedy: no record has two links. many_to_one: no record of A has. one_to_many: no record of B has.
        none: pairs do not exclude each other.
    row_a, row_b : ndarray of int, shape (n_pairs,)
        Rows of the two files; no pair twice.
    n_a, n_b : int
        Records in the two files.
    """

    assignment: Assignment
    row_a: NDArray[np.integer] = field(repr=False)
    row_b: NDArray[np.integer] = field(repr=False)
    n_a: int
    n_b: int

    def probabilities(
        self,
        weight: NDArray[np.float64],
        progress: StageProgress = lambda _: None,
        near: float | None = None,
        *,
        cycles: bool = True,
    ) -> LinkProbabilities:
        """Probability that each pair is linked.

        Parameters
        ----------
        weight : ndarray of float64, shape (n_pairs,)
            Match weights in bits.
        progress : callable
            Called with the fraction done, never less than before. An exception from it ends the work.
        near : float, optional
            Expected links under weights little different: saves work in a large one_to_one linkage.
        cycles : bool
            As for `link_probabilities`.

        Notes
        -----
        many_to_one and one_to_many: exact for a given number of links. one_to_one: belief propagation. The number of
        links is put at its mode. O(n_pairs), in each round of messages.
        """
        a, b, n_a, n_b = self.row_a, self.row_b, self.n_a, self.n_b
        if self.assignment == "many_to_one":
            return partner_probabilities(a, b, weight, n_a, n_b, progress=progress)
        if self.assignment == "one_to_many":
            return partner_probabilities(b, a, weight, n_b, n_a, progress=progress)
        if self.assignment == "none":
            # Each of all pairs is a record with one candidate, its partner.
            each = np.arange(len(weight))
            return partner_probabilities(each, each, weight, n_a * n_b, 1, progress=progress)
        return link_probabilities(a, b, weight, n_a, n_b, progress=progress, near=near, cycles=cycles)

    def excluded(self, linked: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], float]:
        """The pairs that some links exclude, whatever their levels, and their share of all pairs that are no link.

        Parameters
        ----------
        linked : ndarray of bool, shape (n_pairs,)
        """
        one_link_a = self.assignment not in ("one_to_many", "none")
        one_link_b = self.assignment not in ("many_to_one", "none")
        taken_a = np.bincount(self.row_a[linked & one_link_a], minlength=self.n_a) > 0
        taken_b = np.bincount(self.row_b[linked & one_link_b], minlength=self.n_b) > 0
        share = 1.0 - (1.0 - float(taken_a.mean())) * (1.0 - float(taken_b.mean()))
        return (taken_a[self.row_a] | taken_b[self.row_b]) & ~linked, share
