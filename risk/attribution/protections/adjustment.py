"""Controlled tabular adjustment: risky counts go to a safe value nearby, others move so that margins stay."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, hstack

from gemel.risk.attribution.laws import Exact, Within
from gemel.risk.attribution.protections.programmes import layout, solve
from gemel.risk.attribution.protections.protection import Outcome, Protection, all_margins, require_exact
from gemel.risk.attribution.protections.suppression import risky_cells
from gemel.risk.attribution.release import Published


@dataclass(frozen=True)
class TabularAdjustment(Protection):
    """Change each risky count to a safe one, and the others least, with chosen margins unchanged.

    Parameters
    ----------
    threshold
        Counts from 1 to under this are risky: they become 0 or the threshold. With `cells`, each of those goes down or
        up by `step`.
    cells
        Risky cells, as indices of the table.
    step
        See `cells`.
    reach
        Most by which any other count may change; known to an intruder, so it is part of the law.
    margins
        Sets of variables whose margins stay; by default all one-way margins.
    seconds
        Time allowed; the gap is reported.

    References
    ----------
    .. [1] Cox, Kelly and Patil, Balancing quality and confidentiality for multivariate tabular data, 2004.
    """

    threshold: int = 3
    cells: tuple[tuple[int, ...], ...] | None = None
    step: int = 1
    reach: int = 2
    margins: tuple[tuple[str, ...], ...] | None = None
    seconds: float | None = None

    def protect(self, given: Published, generator: np.random.Generator) -> Outcome:
        require_exact(given, "controlled tabular adjustment")
        margins = [m for m in all_margins(given.names) if len(m) == 1] if self.margins is None else list(self.margins)
        plan = layout(given, margins)
        risky = risky_cells(given, self.threshold, self.cells)
        truth = given.counts.ravel().astype(float)
        n = len(truth)
        down = np.minimum(truth, self.step) if self.cells is not None else truth
        up = np.full(n, float(self.step)) if self.cells is not None else self.threshold - truth
        # Unknowns: by how much each count rises and falls, and for each risky one whether it rises.
        is_risky = np.zeros(n, dtype=bool)
        is_risky[risky] = True
        ceiling = np.concatenate(
            [
                np.where(is_risky, np.maximum(up, 0.0), float(self.reach)),
                np.where(is_risky, down, np.minimum(truth, self.reach)),
                is_risky.astype(float),
            ]
        )
        sums = plan.matrix[n:]
        rises, falls = (
            csr_array(np.diag(np.where(is_risky, -up, 0.0))),
            csr_array(np.diag(np.where(is_risky, down, 0.0))),
        )
        picked = csr_array(np.diag(is_risky.astype(float)))
        rows = [
            hstack([sums, -sums, csr_array(sums.shape)], format="csr"),  # margins stay
            hstack([picked, csr_array((n, n)), rises], format="csr"),  # rise = up * choice
            hstack([csr_array((n, n)), picked, falls], format="csr"),  # fall = down * (1 - choice)
        ]
        right = np.concatenate([np.zeros(sums.shape[0]), np.zeros(n), np.where(is_risky, down, 0.0)])
        found = solve(
            np.concatenate([1.0 + generator.random(2 * n) * 1e-3, np.zeros(n)]),
            rows,
            right,
            right,
            np.zeros(3 * n),
            ceiling,
            np.ones(3 * n),
            "controlled tabular adjustment",
            self.seconds,
        )
        moves = np.rint(found.values).astype(np.int64)
        adjusted = (given.counts.ravel() + moves[:n] - moves[n : 2 * n]).reshape(given.counts.shape)
        maximum = int(max(self.reach, up[risky].max(initial=0), down[risky].max(initial=0)))
        also = tuple(
            Published(f"{given.name}: {', '.join(a.variable for a in axes) or 'total'}", axes, counts, Exact())
            for axes, counts in plan.margin_tables(plan.counts)
        )
        return Outcome(replace(given, counts=adjusted, law=Within(maximum, maximum)), also, found.gap)
