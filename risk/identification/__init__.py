"""Identification risk: how likely an intruder is to find the right person behind a released record.

`KeyFile` is what everything starts from: the records' key variables, the sampling fraction, the population where it is
known. `file_measures` gives one number for the file, `attacks` what an intruder's strategies would achieve,
`suda_scores` a score for each record, `calibrated_risk` its chance of being one of few as the file itself bears it out,
`choose_model` and `log_linear_risk` that chance by a model,
`misclassification_risk` the same where key values are wrong; `logit_rank_plot` and `auc` compare scores. Numbers only,
but for `reader` and the commands.

`privacy_models`, `individual_risk`, `household_risk` and `numeric_risk` are what officers also expect: k-anonymity and
its kin, risk by survey weights, of households, of perturbed numbers; `scenarios` compares key sets.

`bayesian_matching` is the intruder who models, `model_attacks` what comes of it, `recoding` (with `merges`,
`relative_risk`, `recoding_search`) what would lower it.
"""

from tryst.risk.identification.calibration.records import CalibratedRisk, calibrated_risk
from tryst.risk.identification.file_level import Dis, FileMeasures, dis, file_dis, file_measures
from tryst.risk.identification.key_file import KeyFile
from tryst.risk.identification.loglinear.model_choice import ModelChoice, choose_model
from tryst.risk.identification.loglinear.risk import LogLinearRisk, log_linear_risk
from tryst.risk.identification.misclassification.perturbation import swapping_matrix
from tryst.risk.identification.misclassification.risk import MisclassificationRisk, misclassification_risk
from tryst.risk.identification.special_uniques.suda import MinimalUniques, minimal_uniques
from tryst.risk.identification.special_uniques.suda_ranking import SudaScores, suda_scores
from tryst.risk.identification.strategies import Attack, Frequencies, Strategy, attack, attacks, thesis_strategies

__all__ = [
    "Attack",
    "CalibratedRisk",
    "Dis",
    "FileMeasures",
    "Frequencies",
    "KeyFile",
    "LogLinearRisk",
    "MinimalUniques",
    "MisclassificationRisk",
    "ModelChoice",
    "Strategy",
    "SudaScores",
    "attack",
    "attacks",
    "calibrated_risk",
    "choose_model",
    "dis",
    "file_dis",
    "file_measures",
    "log_linear_risk",
    "minimal_uniques",
    "misclassification_risk",
    "suda_scores",
    "swapping_matrix",
    "thesis_strategies",
]
