"""What is known of the records beside their keys, and the parts of an assessment that need it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gemel.common.documents.result_warning import result_warning
from gemel.common.errors import parameter
from gemel.common.records.typed_table import Labelled
from gemel.risk.identification.assessment import wording
from gemel.risk.identification.assessment.rank_plots import auc, logit_rank_plot
from gemel.risk.identification.copies import copies_warnings
from gemel.risk.identification.individual_risk import individual_risk_document
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.numeric_risk import numeric_risk_document
from gemel.risk.identification.privacy_models import privacy_models_document
from gemel.risk.identification.survey_weights import Weights, check_weights
from gemel.risk.identification.unit_risk import Units, unit_risk_document

# How well each score finds the population uniques among the sample uniques, where the population is known.
#
# For each score the area under the ROC curve and Copas's logit rank plot. Both look at the order of the records only:
# whether a claimed chance means what it says is another question.

_POINTS = 49


def score_ranking(file: KeyFile, scores: Mapping[str, NDArray[np.float64]]) -> dict[str, Any]:
    """Compare scores, best first.

    Parameters
    ----------
    file
        With its population.
    scores
        By name, each of shape (n_records,): greater is riskier.
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
                "logit": [value if math.isfinite(value) else None for value in plot.logit.tolist()],
            }
        )
    ranked.sort(key=lambda each: -each["auc"])
    return {"uniques": len(own), "population_uniques": int(alone.sum()), "scores": ranked}


Attempt = Callable[[dict[str, Any], str, Callable[[], Any]], Any]
"""Runs one part of an assessment under a name, and notes why where it has no meaning for the file."""


@dataclass(frozen=True, eq=False)
class BesideKeys:
    """Columns of the records that are no keys.

    Parameters
    ----------
    sensitive
        Sensitive variables: for each the values, one for each record.
    ordinal
        Names of those whose levels have an order.
    unit
        The unit of each record: a household, an enterprise.
    unit_keys
        Keys of units: for each the level number of each record.
    fraction_from
        Where the sampling fraction comes from.
    labelled
        The columns whose values have labels in the file, and whether codes or labels were read.
    numeric, original
        Numeric variables of the records, which were perturbed, and of their originals, each of shape (n_records,).
    rows, n_columns
        A number of each record's whole content, shape (n_records,), and the columns that it is of.
    """

    sensitive: Mapping[str, Any] = field(default_factory=dict)
    ordinal: frozenset[str] = frozenset()
    unit: Any = None
    unit_keys: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)
    fraction_from: Literal["given", "population", "weights"] = "given"
    labelled: Labelled | None = None
    numeric: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    original: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    rows: NDArray[np.uint64] | None = None
    n_columns: int = 0

    @cached_property
    def numeric_risk(self) -> dict[str, Any]:
        """What the numeric variables disclose, the same for every key set."""
        return numeric_risk_document(self.original, self.numeric)

    def with_units(self, file: KeyFile) -> KeyFile:
        """The file with its units, taken to be sampled whole, where they are known."""
        return file if self.unit is None else replace(file, units=Units.of(self.unit).of_record)

    def assess(
        self,
        file: KeyFile,
        weights: Weights | None,
        scores: Mapping[str, NDArray[np.float64]],
        found: dict[str, Any],
        attempt: Attempt,
    ) -> None:
        """Put what these columns add into an assessment, and how all scores of the records rank by the truth.

        Parameters
        ----------
        file, weights
            The records and their survey weights.
        scores
            By name, each of shape (n_records,): greater is riskier.
        found
            The assessment: gets sections, figures of listed records, warnings.
        attempt
            Runs each part.
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


def _individual(
    file: KeyFile, weights: Weights, scores: dict[str, NDArray[np.float64]], found: dict[str, Any]
) -> dict[str, Any]:
    check_weights(weights, n_records=file.n_records)
    share = file.n_records / float(weights.sum())
    if abs(share - file.fraction) > 0.1 * file.fraction:
        found["warnings"].append(result_warning("weights_contradict_fraction", share=share, fraction=file.fraction))
    document, scores["individual"] = individual_risk_document(file, weights)
    calibrated = next((m for m in found["measures"] if m["name"] == wording.CALIBRATED_TAU2.name), None)
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
