"""Primary rules: when the largest contributor to a cell can be estimated too closely by others.

All but the minimum frequency are one question. Contributors who together have `own` subtract it from the cell's size
`X`; what remains holds the largest other contribution `t`. How far above `X` must the estimate of the cell reach, for
the estimate of `t` to be as wide as the rule requires? Where that *reach* is above 0 the published value itself is too
close, and the cell is a primary suppression, with the reach as its protection level (Hundepool et al., table 4.5 of the
handbook). So the same function says which cells are risky, how far they must be protected, and what others who know
more or less must still be left with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import parameter
from gemel.risk.magnitude.contributors import Contributions

Numbers = NDArray[np.float64]


class Rule(Protocol):
    """A primary rule."""

    @property
    def label(self) -> str:
        """The rule with its parameters."""

    @property
    def others(self) -> int:
        """Contributors in the coalition that the rule is on guard against, the largest but one and those after it."""

    def reach(self, size: Numbers, own: Numbers, largest: Numbers) -> Numbers:
        """How far above a cell's size its estimate must reach; not above 0 where it need not reach beyond it.

        Parameters
        ----------
        size, own, largest : ndarray of float64
            Of each cell: the sum of all contributions, the attackers' part in it, the largest contribution of others.
        """

    def applies(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which cells the rule can find risky, by their number of contributors."""


@dataclass(frozen=True)
class MinimumFrequency:
    """A cell has at least so many contributors.

    Parameters
    ----------
    n
        Fewest contributors, 1 at least.
    margin
        Protection in per cent of what the attackers do not have themselves; the rule has none of its own.
    """

    n: int
    margin: float = 10.0
    others: int = 0

    def __post_init__(self) -> None:
        _check("minimum frequency", n=self.n, margin=self.margin)

    @property
    def label(self) -> str:
        return f"fewer than {self.n} contributors"

    def applies(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        return counts < self.n

    def reach(self, size: Numbers, own: Numbers, largest: Numbers) -> Numbers:
        return np.asarray(self.margin / 100 * np.maximum(0.0, size - own))


@dataclass(frozen=True)
class Dominance:
    """The n largest contributors have at most k per cent of the cell."""

    n: int
    k: float

    def __post_init__(self) -> None:
        _check("dominance", n=self.n, k=self.k)
        if self.k >= 100:
            raise parameter("dominance", "k must be below 100 per cent", f"{self.k:g}")

    @property
    def label(self) -> str:
        return f"the {self.n} largest have more than {self.k:g} %" if self.n > 1 else f"one has more than {self.k:g} %"

    @property
    def others(self) -> int:
        return self.n - 1

    def applies(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        return counts > 0

    def reach(self, size: Numbers, own: Numbers, largest: Numbers) -> Numbers:
        return np.asarray(100 / self.k * (own + largest) - size)


@dataclass(frozen=True)
class PriorPosterior:
    """The pq rule: who knows others' contributions within q per cent before must not know one within p per cent after.

    Parameters
    ----------
    p
        Per cent within which a contribution must not become known.
    q
        Per cent within which contributions are known before; 100, knowing no more than that they are not negative, is
        the p % rule.
    coalition
        How many contributors put together what they have.
    """

    p: float
    q: float = 100.0
    coalition: int = 1

    def __post_init__(self) -> None:
        _check("p % rule" if self.q == 100 else "pq rule", p=self.p, q=self.q, coalition=self.coalition)
        if self.p >= self.q:
            raise parameter(
                "p % rule" if self.q == 100 else "pq rule",
                "p must be below q: what is known within q per cent before cannot be kept from within more",
                f"p {self.p:g}, q {self.q:g}",
            )

    @property
    def label(self) -> str:
        rule = f"p % rule, p {self.p:g}" if self.q == 100 else f"pq rule, p {self.p:g}, q {self.q:g}"
        return rule + (f", coalition of {self.coalition}" if self.coalition > 1 else "")

    @property
    def others(self) -> int:
        return self.coalition

    def applies(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        return counts > 0

    def reach(self, size: Numbers, own: Numbers, largest: Numbers) -> Numbers:
        rest = np.maximum(0.0, size - own - largest)  # rounded weights may make more contributors than the cell has
        return np.asarray(self.p / self.q * largest - rest)


@dataclass(frozen=True, eq=False)
class Primary:
    """The risky cells.

    Parameters
    ----------
    cells : ndarray of int64, shape (n_primary,)
        Their numbers.
    reach : ndarray of float64, shape (n_primary,)
        Protection level: how far above and below its value an attacker must be left in doubt.
    rules
        Labels of the rules that each breaks.
    """

    cells: NDArray[np.int64]
    reach: Numbers
    rules: tuple[tuple[str, ...], ...]


def primary_cells(found: Contributions, rules: tuple[Rule, ...]) -> Primary:
    """Apply rules to every cell; a cell is risky if any rule says so, and its protection is the widest.

    Cells whose contributions are all zero are never risky.
    """
    if not rules:
        raise parameter("rules", "at least one primary rule is needed")
    counts = found.counts
    levels = np.full((len(rules), len(counts)), -np.inf)
    for k, rule in enumerate(rules):
        largest = found.largest(rule.others + 1)
        reach = rule.reach(found.sizes, largest[:, 1:].sum(axis=1), largest[:, 0])
        risky = rule.applies(counts) & (counts > 0) & (reach > 1e-9 * found.sizes)
        levels[k, risky] = reach[risky]
    cells = np.flatnonzero(levels.max(axis=0) > 0)
    names = tuple(tuple(rule.label for k, rule in enumerate(rules) if levels[k, c] > 0) for c in cells)
    return Primary(cells, levels.max(axis=0)[cells], names)


def _check(rule: str, **parameters: float) -> None:
    for name, value in parameters.items():
        low = 1 if name in ("n", "coalition") else 0
        if not np.isfinite(value) or value < low or (low == 0 and value == 0):
            raise parameter(rule, f"{name} must be {'at least 1' if low else 'above 0'}", f"{value:g}")
