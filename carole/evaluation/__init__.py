"""Evaluation of a linkage, against the truth and without it.

`truth` gives the pairs that are matches; `link_quality` precision, recall and F1 of a decision and of the best
threshold; `curve` the expected precision-recall curve and its area; `reliability` the calibration of match
probabilities. Without the truth: `check_field` estimates the share of false links from a field that links are made
without, `decoys` from links to records of no person's; `quality_estimate` corrects a claim by simulations. No input or
output.
"""

from gemel.carole.evaluation.link_quality import (
    BestThreshold,
    Calibration,
    PrecisionRecall,
    Quality,
    best_threshold,
    calibration,
    expected_precision_recall,
    matching_pairs,
    number_of_matches,
    quality,
)

__all__ = [
    "BestThreshold",
    "Calibration",
    "PrecisionRecall",
    "Quality",
    "best_threshold",
    "calibration",
    "expected_precision_recall",
    "matching_pairs",
    "number_of_matches",
    "quality",
]
