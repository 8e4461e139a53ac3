"""How well each score finds the population uniques among the sample uniques, where the population is known.

For each score the area under the ROC curve and Copas's logit rank plot. Both look at the order of the records only:
whether a claimed chance means what it says is another question.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.identification.assessment.rank_plots import auc, logit_rank_plot
from gemel.risk.identification.key_file import KeyFile

_POINTS = 49


def score_ranking(file: KeyFile, scores: Mapping[str, NDArray[np.float64]]) -> dict[str, Any]:
    """Compare scores, best first.

    Parameters
    ----------
    file
        With its population.
    scores
        By name, each of shape (n_records,): greater is riskier.

    Returns
    -------
    dict
        Ready for JSON: numbers of sample uniques and of population uniques among them; for each score `auc`, `slope`
        and the points of its plot, logits of ranks `t` and of smoothed probabilities `logit`.

    Raises
    ------
    GemelError
        The population is not known, or all sample uniques are population uniques, or none is.
    """
    F = file.population_sizes
    if F is None:
        raise GemelError(ErrorCode.PARAMETER, "scores are ranked by the truth, and need the population", where="scores")
    own = file.uniques
    alone = F[file.of_record[own]] == 1
    if not 0 < alone.sum() < len(alone):
        raise GemelError(
            ErrorCode.PARAMETER,
            "scores are compared by how they separate population uniques from other uniques, and one kind is absent",
            where="scores",
            got=f"{int(alone.sum()):,} population uniques among {len(alone):,} sample uniques",
        )
    ranked = []
    for name, score in scores.items():
        plot = logit_rank_plot(score[own], alone, points=_POINTS)
        ranked.append(
            {
                "score": name,
                "auc": auc(score[own], alone),
                "slope": plot.slope,
                "t": plot.t.tolist(),
                "logit": [value if math.isfinite(value) else None for value in plot.logit.tolist()],
            }
        )
    ranked.sort(key=lambda each: -each["auc"])
    return {"uniques": len(own), "population_uniques": int(alone.sum()), "scores": ranked}
