"""What is known of the records beside their keys, and the parts of an assessment that need it.

People who are in the file more than once: they look like company, and every claim comes out too low.

Key values alone cannot tell two people who are alike from one person twice. The other columns can: two people who share
a combination of keys seldom agree in everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.errors import parameter
from gemel.records.typed_table import Labelled
from gemel.risk.arrays import Codes, Floats, finite
from gemel.risk.identification.assessment.wording import CALIBRATED_TAU2
from gemel.risk.identification.individual_risk import (
    Units,
    Weights,
    check_weights,
    individual_risk_document,
    unit_risk_document,
)
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.numeric_risk import numeric_risk_document
from gemel.risk.identification.privacy_models import privacy_models_document

_OTHERS = 3  # columns that are no keys, from which agreement in all of them says something
_SHARE = 0.02  # of the combinations of two records; public files have .001 to .006


def copied_share(file: KeyFile, rows: NDArray[np.uint64]) -> float:
    """Share of the combinations of exactly two records whose records agree in every column.

    `rows` (uint64, shape (n_records,)): a number of each record's whole content; equal where the contents are.
    """
    pairs = np.flatnonzero(file.counts == 2)
    if not len(pairs):
        return 0.0
    own = np.flatnonzero(np.isin(file.of_record, pairs))
    both = rows[own[np.argsort(file.of_record[own], kind="stable")]].reshape(-1, 2)
    return float((both[:, 0] == both[:, 1]).mean())


def copies_warnings(file: KeyFile, rows: NDArray[np.uint64], n_columns: int) -> list[ResultWarning]:
    share = copied_share(file, rows)
    if n_columns - file.n_keys < _OTHERS or share <= _SHARE:
        return []
    return [result_warning("records_copied", share=share, columns=n_columns)]


# Both show how well a score separates events (sample uniques that are population unique, say) from the rest, and not
# whether its values are probabilities: they do not change under a monotone transformation of the score.

_RIDGE = 1e-3  # of a window in which only one kind occurs: keeps its logit finite
_STEPS = 100


@dataclass(frozen=True, eq=False)
class LogitRankPlot:
    """The smoothed logit of the event's probability against the logit of the score's rank.

    `t` (float64, shape (n_points,)): logits of relative ranks; `logit` (float64, shape (n_points,)): smoothed logit of
    the probability at each.
    """

    t: Floats = field(repr=False)
    logit: Floats = field(repr=False)
    slope: float


def logit_rank_plot(scores: ArrayLike, events: ArrayLike, points: int = 99, h: float = 0.1) -> LogitRankPlot:
    r"""Copas's plot.

    `scores` (array of float, shape (n,)): greater is riskier; equal scores share their mean rank; `events` (array of
    bool, shape (n,)): whether the event took place.

    At :math:`t = \log(j/(m + 1 - j))` a logistic regression on the logit ranks :math:`t_i`, weighted by
    :math:`\exp(-(t - t_i)^2/(2 h_t^2))` with :math:`h_t = h / (4 \Psi(t)(1 - \Psi(t)))`, gives the value
    :math:`a_t + b_t t`. Where a window holds events only, or none, a weak ridge keeps the value finite.

    References
    ----------
    .. [1] Copas, The effectiveness of risk scores: the logit rank plot, Applied Statistics 48, 1999.
    """
    s, y = _pairs(scores, events)
    if points < 1 or not h > 0:
        raise parameter("logit_rank_plot", "points and h must be positive")
    share = rankdata(s) / (len(s) + 1.0)
    t_all = np.log(share / (1.0 - share))
    ranks, which = np.unique(t_all, return_inverse=True)  # equal scores are one point with a weight
    number = np.bincount(which).astype(np.float64)
    happened = np.bincount(which, weights=y).astype(np.float64)
    j = np.arange(1, points + 1)
    t = np.log(j / (points + 1.0 - j))
    width = h / (4.0 * (j / (points + 1.0)) * (1.0 - j / (points + 1.0)))
    logit = np.empty(points)
    for k in range(points):
        weight = np.exp(-0.5 * ((t[k] - ranks) / width[k]) ** 2)
        logit[k], _ = _regression(ranks - t[k], weight * number, weight * happened)
    _, slope = _regression(ranks, number, happened)
    return LogitRankPlot(t, logit, slope)


def auc(scores: ArrayLike, events: ArrayLike) -> float:
    """Area under the ROC curve: the chance that an event scores higher than a non-event, ties counting half.

    NaN where there are only events, or none.
    """
    s, y = _pairs(scores, events)
    n1 = float(y.sum())
    n0 = len(y) - n1
    if n1 == 0 or n0 == 0:
        return float("nan")
    return float((rankdata(s)[y > 0].sum() - n1 * (n1 + 1.0) / 2.0) / (n1 * n0))


def _pairs(scores: ArrayLike, events: ArrayLike) -> tuple[Floats, Floats]:
    s, y = np.asarray(scores, dtype=np.float64), np.asarray(events, dtype=np.float64)
    if s.ndim != 1 or s.shape != y.shape or not len(s):
        raise parameter("", "one score and one event are needed for each record", f"{s.shape} and {y.shape}")
    if not np.isfinite(s).all() or not np.isin(y, (0.0, 1.0)).all():
        raise parameter("scores, events", "scores must be finite, and events yes or no")
    return s, y


def _regression(x: Floats, trials: Floats, events: Floats) -> tuple[float, float]:
    """Logistic regression of events among trials on x by Newton's method with halved steps: intercept and slope."""
    a, b = 0.0, 0.0

    def value(a: float, b: float) -> float:
        eta = a + b * x
        likelihood = (events * eta - trials * np.logaddexp(0.0, eta)).sum()
        return float(likelihood - 0.5 * _RIDGE * (a * a + b * b))

    now = value(a, b)
    for _ in range(_STEPS):
        p = 1.0 / (1.0 + np.exp(-np.clip(a + b * x, -500, 500)))
        residual, curve = events - trials * p, trials * p * (1.0 - p)
        g0, g1 = residual.sum() - _RIDGE * a, (residual * x).sum() - _RIDGE * b
        h00, h01, h11 = curve.sum() + _RIDGE, (curve * x).sum(), (curve * x * x).sum() + _RIDGE
        det = h00 * h11 - h01 * h01
        da, db = (h11 * g0 - h01 * g1) / det, (h00 * g1 - h01 * g0) / det
        step = 1.0
        while (reached := value(a + step * da, b + step * db)) < now and step > 1e-8:
            step /= 2.0
        a, b = a + step * da, b + step * db
        if reached - now < 1e-10:
            break
        now = reached
    return float(a), float(b)


_POINTS = 49


def score_ranking(file: KeyFile, scores: Mapping[str, Floats]) -> dict[str, Any]:
    """Compare scores, best first.

    `scores`: by name, each of shape (n_records,): greater is riskier.
    """
    F = file.population_sizes
    if F is None:
        raise parameter("scores", "scores are ranked by the truth, and need the population")
    own = file.uniques
    alone = F[file.of_record[own]] == 1
    if not 0 < alone.sum() < len(alone):
        raise parameter(
            "scores",
            "scores are compared by how they separate population uniques from other uniques, and one kind is absent",
            f"{int(alone.sum()):,} population uniques among {len(alone):,} sample uniques",
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
                "logit": [finite(value) for value in plot.logit.tolist()],
            }
        )
    ranked.sort(key=lambda each: -each["auc"])
    return {"uniques": len(own), "population_uniques": int(alone.sum()), "scores": ranked}


Attempt = Callable[[dict[str, Any], str, Callable[[], Any]], Any]
"""Runs one part of an assessment under a name, and notes why where it has no meaning for the file."""


FractionFrom = Literal["given", "population", "weights"]


@dataclass(frozen=True, eq=False)
class BesideKeys:
    """Columns of the records that are no keys.

    `unit`: the unit of each record: a household, an enterprise; `unit_keys`: keys of units: for each the level number
    of each record; `numeric`, `original`: numeric variables of the records, which were perturbed, and of their
    originals, each of shape (n_records,); `rows`, `n_columns`: a number of each record's whole content, shape
    (n_records,), and the columns that it is of.
    """

    sensitive: Mapping[str, Any] = field(default_factory=dict)
    ordinal: frozenset[str] = frozenset()
    unit: Any = None
    unit_keys: Mapping[str, Codes] = field(default_factory=dict)
    fraction_from: FractionFrom = "given"
    labelled: Labelled | None = None
    numeric: Mapping[str, Floats] = field(default_factory=dict)
    original: Mapping[str, Floats] = field(default_factory=dict)
    rows: NDArray[np.uint64] | None = None
    n_columns: int = 0

    @cached_property
    def numeric_risk(self) -> dict[str, Any]:
        return numeric_risk_document(self.original, self.numeric)

    def with_units(self, file: KeyFile) -> KeyFile:
        """The file with its units, taken to be sampled whole, where they are known."""
        return file if self.unit is None else replace(file, units=Units.of(self.unit).of_record)

    def assess(
        self,
        file: KeyFile,
        weights: Weights | None,
        scores: Mapping[str, Floats],
        found: dict[str, Any],
        attempt: Attempt,
    ) -> None:
        """Put what these columns add into an assessment, and how all scores of the records rank by the truth.

        `scores`: by name, each of shape (n_records,): greater is riskier.
        """
        found["file"]["fraction_from"] = self.fraction_from
        found["file"]["labelled"] = None if self.labelled is None else asdict(self.labelled)
        if self.rows is not None:
            found["warnings"] += copies_warnings(file, self.rows, self.n_columns)

        def add(section: str, make: Callable[[], Any]) -> None:
            attempt(found, section.replace("_", " "), lambda: found.update({section: make()}))

        scores = {name: each for name, each in scores.items() if name != "true"}
        add("privacy_models", lambda: privacy_models_document(file, self.sensitive, self.ordinal))
        if weights is not None:
            add("individual_risk", lambda: _individual(file, weights, scores, found))
        if self.unit is not None:
            add("unit_risk", lambda: unit_risk_document(file, self.unit, weights, self.unit_keys))
        if self.numeric:
            add("numeric_risk", lambda: self.numeric_risk)
        if file.population_sizes is not None:
            add("score_ranking", lambda: score_ranking(file, scores))


def _individual(file: KeyFile, weights: Weights, scores: dict[str, Floats], found: dict[str, Any]) -> dict[str, Any]:
    check_weights(weights, n_records=file.n_records)
    share = file.n_records / float(weights.sum())
    if abs(share - file.fraction) > 0.1 * file.fraction:
        found["warnings"].append(result_warning("weights_contradict_fraction", share=share, fraction=file.fraction))
    document, scores["individual"] = individual_risk_document(file, weights)
    calibrated = next((m for m in found["measures"] if m["name"] == CALIBRATED_TAU2), None)
    claimed = float(scores["individual"][file.uniques].sum())
    if calibrated is not None and not calibrated["low"] <= claimed <= calibrated["high"]:
        found["warnings"].append(
            result_warning(
                "individual_risk_contradicted", claimed=claimed, low=calibrated["low"], high=calibrated["high"]
            )
        )
    for record in found["highest_risk_records"]:
        record["individual"] = float(scores["individual"][record["record"] - 1])
    return document
