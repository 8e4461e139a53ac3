"""Extended latent linkage: match probabilities and the joint distribution of both files' values, together.

Fellegi-Sunter uses whether values agree. Here the values themselves are used too: whether Alice's and Bob's other
variables occur together, and how common the agreed values are (Smith and Elliot 2017).

`variables`: what each file holds, as codes. `pairs`: the pairs, in parts. `settings`: options.
`bayes_factor`: the model of values; `compiled` and `kernels`: its Bayes factors.
`estimation` (on `completion`): the joint distribution from weighted pairs; `key_frequencies`: of keys that stand alone.
`classes`: passes over the pairs.
`precision`: its prior precision, chosen.
`em`: m beside the values; `refit`: the same with dependent fields and under an assignment.
`overfitting`: how much better a model fits its own pairs. `fit`: the whole step.
`explanation`: a pair's odds, bar by bar.

Usual order of calls: `Values`, `fit_extended`, `ExtendedFit.keep`, `ExtendedFit.match_weights`.
"""

from gemel.carole.extended_latent.bayes_factor import AloneKey, ValueModel
from gemel.carole.extended_latent.compiled import BayesFactors
from gemel.carole.extended_latent.em import Classes, ExtendedEM, KeptPairs
from gemel.carole.extended_latent.estimation import ValueFit
from gemel.carole.extended_latent.explanation import Contribution, explain_pairs
from gemel.carole.extended_latent.fit import ExtendedFit, Refit, Refitted, fit_extended
from gemel.carole.extended_latent.overfitting import Round
from gemel.carole.extended_latent.precision import PrecisionChoice
from gemel.carole.extended_latent.settings import ExtendedSettings, Priors
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
    "Priors",
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
