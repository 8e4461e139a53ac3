"""Fellegi-Sunter linkage from counts of comparison patterns.

`patterns` holds the counts, `em` estimates m, u and p from them (with `settings`; `u` and `estimation_mask` select the
pairs for each parameter, `identifiability` and `model_warnings` report limitations), `schemes` defines how similarity
enters the model, `model` scores comparison vectors, and `recall` estimates what blocking lost. `link_posterior` turns
match weights into link probabilities under an assignment (`one_to_one`; `prior`, `propagation`,
`fixed_point`), `link_rule` takes the decision (`assignment`), and `dependence` estimates under it, with
dependent fields and classes of kin. `standard_errors` has those of m, u and p.
"""

from gemel.carole.fellegi_sunter.em import fit
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.carole.fellegi_sunter.link_rule import assigned, optimal_assignment, within_rate
from gemel.carole.fellegi_sunter.model import MISSING, Model, PatternCounts, match_probabilities, match_weights
from gemel.carole.fellegi_sunter.one_to_one import link_probabilities
from gemel.carole.fellegi_sunter.prior import LinkProbabilities
from gemel.carole.fellegi_sunter.recall import BlockingRecall, blocking_recall
from gemel.carole.fellegi_sunter.schemes import SCHEMES, FittedScheme, Scheme, fit_scheme, scheme_named
from gemel.carole.fellegi_sunter.settings import Estimation, FieldLevels, MPrior, RuleFields
from gemel.carole.fellegi_sunter.standard_errors import StandardErrors, linked_errors, pairwise_errors

__all__ = [
    "MISSING",
    "SCHEMES",
    "BlockingRecall",
    "Estimation",
    "FieldLevels",
    "FittedScheme",
    "LinkPosterior",
    "LinkProbabilities",
    "MPrior",
    "Model",
    "PatternCounts",
    "RuleFields",
    "Scheme",
    "StandardErrors",
    "assigned",
    "blocking_recall",
    "fit",
    "fit_scheme",
    "link_probabilities",
    "linked_errors",
    "match_probabilities",
    "match_weights",
    "optimal_assignment",
    "pairwise_errors",
    "scheme_named",
    "within_rate",
]
