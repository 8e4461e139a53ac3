"""Which log-linear model to use: the minimum-error criterion over a path of models."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from tryst.common.errors import ErrorCode, TrystError
from tryst.risk.identification.key_file import KeyFile
from tryst.risk.identification.loglinear import LogLinearRisk, log_linear_risk
from tryst.risk.identification.support import LIMIT
from tryst.risk.models.counts import SparseCounts

Criterion = Literal["B1", "B2"]


@dataclass(frozen=True, eq=False)
class ModelChoice:
    """Models that were tried, and the preferred one.

    Parameters
    ----------
    models
        In the order tried: independence, then one interaction more each, up to all two-way ones.
    chosen
        Position of the model with the smallest absolute criterion among those that converged.
    criterion
        ``B1`` for tau1, ``B2`` for tau2.
    """

    models: tuple[LogLinearRisk, ...]
    chosen: int
    criterion: Criterion

    @property
    def best(self) -> LogLinearRisk:
        """The preferred model."""
        return self.models[self.chosen]


def pairwise_dependence(table: SparseCounts) -> dict[tuple[int, int], float]:
    """How strongly each pair of variables depends: likelihood-ratio statistic per degree of freedom."""
    strength = {}
    for v, w in combinations(range(len(table.levels)), 2):
        pair = table.marginal((table.names[v], table.names[w]))
        alone = [np.bincount(pair.cells[:, k], pair.counts, pair.levels[k]) for k in (0, 1)]
        expected = alone[0][pair.cells[:, 0]] * alone[1][pair.cells[:, 1]] / pair.total
        statistic = 2.0 * float((pair.counts * np.log(pair.counts / expected)).sum())
        strength[v, w] = statistic / ((table.levels[v] - 1) * (table.levels[w] - 1))
    return strength


def choose_model(
    file: KeyFile, criterion: Criterion = "B2", *, max_models: int | None = None, limit: int = LIMIT
) -> ModelChoice:
    """Fit independence, models with more and more interactions, and all two-way ones; prefer the smallest error.

    Parameters
    ----------
    file
        The records.
    criterion
        Which error counts.
    max_models
        How many models at most; interactions are then added several at a time.
    limit
        Of `support`: models that would need more cells are left out.

    Raises
    ------
    TrystError
        No model could be fitted.

    Notes
    -----
    The path adds two-way interactions from the strongest pairwise dependence on. At most 1 + K (K - 1)/2 fits.

    References
    ----------
    .. [1] Skinner and Shlomo, JASA 103, 2008, section 4. doi:10.1198/016214507000001328
    """
    if criterion not in ("B1", "B2"):
        raise TrystError(ErrorCode.PARAMETER, "a criterion is `B1` or `B2`", where="criterion", got=repr(criterion))
    table = file.table()
    names = [str(n) for n in table.names]
    strength = pairwise_dependence(table)
    order = sorted(strength, key=lambda pair: -strength[pair])
    steps = np.arange(len(order) + 1)
    if max_models is not None and len(steps) > max(2, max_models):
        steps = np.unique(np.linspace(0, len(order), max(2, max_models)).round().astype(int))
    models = []
    refused: TrystError | None = None
    for count in steps.tolist():
        terms = [(names[v], names[w]) for v, w in order[:count]]
        try:
            models.append(log_linear_risk(file, terms, limit=limit))
        except TrystError as error:
            if error.code != ErrorCode.MEMORY:
                raise
            refused = error
    if not models:
        raise refused or AssertionError("a path has a model")
    errors = [abs(getattr(m, criterion)) if m.converged else np.inf for m in models]
    return ModelChoice(tuple(models), int(np.argmin(errors)), criterion)
