"""Extended latent linkage: match probabilities and the joint distribution of both files' values, together.

Fellegi-Sunter uses whether values agree. Here the values themselves are used too: whether Alice's and Bob's other
variables occur together, and how common the agreed values are (Smith and Elliot 2017).

`variables`: what each file holds, as codes, and the pairs, in parts. `settings`: options. `bayes_factor`: the model of
values; `compiled` and `kernels`: its Bayes factors. `estimation`: the joint distribution from weighted pairs, with its
prior precision chosen by `precision`. `em`: m beside the values. `fit`: the whole step, where requested with dependent
fields and under an assignment. `overfitting`: how much better a model fits its own pairs. `explanation`: what makes up
a pair's weight. No input or output.
"""

from gemel.carole.extended_latent.bayes_factor import AloneKey, ValueModel
from gemel.carole.extended_latent.compiled import BayesFactors
from gemel.carole.extended_latent.em import Classes, ExtendedEM, KeptPairs
from gemel.carole.extended_latent.estimation import ValueFit
from gemel.carole.extended_latent.explanation import Contribution, explain_pairs
from gemel.carole.extended_latent.fit import ExtendedFit, Refit, Refitted, fit_extended
from gemel.carole.extended_latent.overfitting import Round
from gemel.carole.extended_latent.precision import PrecisionChoice
from gemel.carole.extended_latent.settings import ExtendedSettings
from gemel.carole.extended_latent.variables import ArrayPairs, Pairs, Values, Variable, WeightedPairs

__all__ = [
    "AloneKey",
    "ArrayPairs",
    "BayesFactors",
    "Classes",
    "Contribution",
    "ExtendedEM",
    "ExtendedFit",
    "ExtendedSettings",
    "KeptPairs",
    "Pairs",
    "PrecisionChoice",
    "Refit",
    "Refitted",
    "Round",
    "ValueFit",
    "ValueModel",
    "Values",
    "Variable",
    "WeightedPairs",
    "explain_pairs",
    "fit_extended",
]
