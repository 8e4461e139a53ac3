"""The extended latent step as a whole: from a Fellegi-Sunter fit to match probabilities and a joint distribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gemel.carole.extended_latent.bayes_factor import ValueModel, frequencies
from gemel.carole.extended_latent.compiled import BayesFactors, check_cases
from gemel.carole.extended_latent.em import (
    Classes,
    ExtendedEM,
    KeptPairs,
    counted,
    extended_em,
    kept,
    posteriors,
    sampled_pairs,
)
from gemel.carole.extended_latent.estimation import ValueFit, estimate
from gemel.carole.extended_latent.overfitting import Round, held_out
from gemel.carole.extended_latent.settings import ExtendedSettings
from gemel.carole.extended_latent.variables import Pairs, Values, WeightedPairs, wrong
from gemel.carole.fellegi_sunter.model import PatternCounts, probability
from gemel.carole.fellegi_sunter.prior import LinkProbabilities
from gemel.carole.fellegi_sunter.schemes import FittedScheme
from gemel.common.arrays import F64, I8, I32, Ints
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.progress import Progress, StageProgress, silent
from gemel.risk.models.fitted import FittedModel

# Fellegi-Sunter's second estimate, made again beside the values.
#
# `em` estimates m with independent fields and each pair by itself. A linkage has more: fields that depend on each
# other, kin, and records that have one match at most. Whoever knows of these gives `fit_extended` a `Refit`, which
# estimates the whole model again with the values' Bayes factors as further evidence; u stays that of all pairs.


@dataclass(frozen=True)
class Refitted:
    """A second estimate beside the values.

    `scheme`: the fitted scheme, m and p estimated again; `em`: the same estimate as the outcome of an EM, with the
    likelihood of the classes; `kept`: the pairs that compete for records, with their Bayes factors; None where pairs do
    not compete.
    """

    scheme: FittedScheme
    em: ExtendedEM
    kept: KeptPairs | None = field(repr=False)
    posterior: LinkProbabilities | None = field(repr=False)

    @property
    def learn_from(self) -> WeightedPairs | None:
        """The pairs from which a value model can be estimated again; None where pairs do not compete."""
        if self.kept is None or self.posterior is None:
            return None
        return WeightedPairs(self.kept.row_a, self.kept.row_b, self.posterior.probability)


Refit = Callable[[BayesFactors, Classes], Refitted]
"""Estimates a model again, with the Bayes factors of the values as further evidence, and all pairs counted by them."""


def log_likelihood(scheme: FittedScheme, patterns: PatternCounts, classes: Classes | None = None) -> float:
    """Of agreement and values of all pairs, each by itself, relative to a model without matches.

    `classes`: the same pairs by pattern and Bayes factor; None: of agreement alone.

    ``sum n log(p L B + 1 - p)``, L the likelihood ratio of a pattern and B the values' Bayes factor: u and the values'
    distribution among non-matches are the same in both, and cancel.
    """
    p = scheme.model.p
    log_ratio = scheme.match_weights(patterns.gamma) * math.log(2.0)
    count = patterns.count.astype(np.float64)
    if classes is not None:
        log_ratio, count = log_ratio[classes.pattern] + classes.log_factor, classes.count
    return float(count @ np.logaddexp(log_ratio + math.log(p), math.log1p(-p)))


MAX_TAKEN = 1 << 22
"""Approximate number of pairs to estimate from: with more expected matches, each pair stands for more."""

MAX_OVERFIT = 1.0
"""Over-fitting in bits a match above which a warning is given: odds wrong by a factor of two."""


@dataclass(frozen=True)
class ExtendedFit:
    """The result of the extended latent step.

    `value_fit`: the value model and its estimation; `value_fit.model.match` is the joint distribution; `scheme`: the
    Fellegi-Sunter part, with m estimated beside the Bayes factors; `refitted`: the second estimate beside the values,
    where one was requested; `rounds`: each estimation of the value model, and how far it over-fits; empty where it is
    estimated once.
    """

    values: Values = field(repr=False)
    value_fit: ValueFit
    scheme: FittedScheme
    em: ExtendedEM
    classes: Classes = field(repr=False)
    factors: BayesFactors = field(repr=False)
    rounds: tuple[Round, ...]
    warnings: tuple[ResultWarning, ...]
    refitted: Refitted | None = field(default=None, repr=False)

    @property
    def joint(self) -> FittedModel | None:
        """The joint distribution of the joint model's variables; None where all are keys that stand alone."""
        return self.value_fit.model.match

    def match_weights(self, row_a: Ints, row_b: Ints, gamma: I8) -> F64:
        """Match weights of pairs in bits, agreement and values together.

        `row_a`, `row_b` (int, shape (n_pairs,)); `gamma` (int8, shape (n_pairs, n_fields)): their comparison vectors.
        """
        return self.scheme.match_weights(gamma) + self.factors.log(row_a, row_b) / math.log(2.0)

    def match_probabilities(self, row_a: Ints, row_b: Ints, gamma: I8) -> F64:
        return probability(self.match_weights(row_a, row_b, gamma) * math.log(2.0) + self.log_prior_odds)

    @property
    def log_prior_odds(self) -> float:
        p = self.scheme.model.p
        return math.log(p) - math.log1p(-p)

    def keep(
        self, pairs: Pairs, patterns: PatternCounts, minimum: float, progress: StageProgress = silent
    ) -> KeptPairs:
        """Pairs whose match weight is at least `minimum` bits, in a pass over all pairs."""
        score = self.scheme.match_weights(patterns.gamma) * math.log(2.0)
        return kept(pairs, self.factors, score, minimum * math.log(2.0), progress)


def fit_extended(
    values: Values,
    pairs: Pairs,
    patterns: PatternCounts,
    fitted: FittedScheme,
    bounds: Sequence[Sequence[float]],
    settings: ExtendedSettings | None = None,
    *,
    training: I32 | None = None,
    known: FittedModel | ValueModel | None = None,
    learn_from: WeightedPairs | None = None,
    refit: Refit | None = None,
    progress: Progress = lambda stage, done: None,
) -> ExtendedFit:
    """Estimate match probabilities and the joint distribution together.

    `pairs`: those compared, each with its row of `patterns`. Where some are not among them, as they are far from a
    match, their values are taken to be no evidence; `patterns`: of all pairs compared, by the fields' own comparison
    levels; `fitted`: Fellegi-Sunter's fit to them, in any scheme; `bounds`: inclusive upper bounds of each field's
    levels, as given to `fit_scheme`; `training` (int32, shape (n_records, n_variables)): complete records of other
    people (Ext. EM+); -1 is missing; `known`: the distribution that generated the values, where it is known (GP): it is
    then not estimated. A `FittedModel` is the joint model's, and keys that stand alone have their frequencies;
    `learn_from`: pairs and their match probabilities for estimating the value model, for instance one-to-one link
    probabilities; by default all pairs, by Fellegi-Sunter's probabilities; `refit`: estimates the model again beside
    the values, with dependent fields and under an assignment; by default m alone, each pair by itself, and not where
    fields depend on each other; `progress`: called with stage and fraction on the calling thread; an exception from it
    ends the work.

    Raises PARAMETER for inconsistent inputs; MEMORY where tables or classes do not fit.

    Two passes over the pairs (one to estimate, one to count), at some tens of nanoseconds a pair on a core; all else
    grows with distinct values and patterns.

    References
    ----------
    .. [1] Smith and Elliot, A unified approach to the assessment of both identification and attribution risks, 2017.
    """
    settings = settings or ExtendedSettings()
    _check(values, fitted, patterns, bounds)
    check_cases(values)
    n_levels = [len(field) for field in bounds]
    estimated = fitted.scheme.patterns(patterns, n_levels)
    free = fitted.joint is None and fitted.scheme.facts.calibrated
    weights = None if free else fitted.match_weights(patterns.gamma)

    def reported(stage: str) -> StageProgress:
        return lambda done: progress(stage, done)

    heaviest = settings.heaviest
    if heaviest:
        heaviest = min(max(heaviest, fitted.model.expected_matches / MAX_TAKEN), 1.0)
    if known is not None:
        value_fit = ValueFit(known_model(values, known))
    else:
        if learn_from is None:
            g = fitted.match_probabilities(patterns.gamma)
            learn_from = sampled_pairs(pairs, lambda *at: g[at[2]], heaviest, settings.seed, reported("learn"))
        value_fit = estimate(values, learn_from, settings, training)
    rounds: list[Round] = []
    refitted: Refitted | None = None
    for done in range(settings.rounds + 1):
        factors = BayesFactors(value_fit.model, values)
        classes = counted(pairs, patterns.count, factors, settings.resolution, reported("count"))
        if refit is not None:
            refitted = refit(factors, classes)
            em, scheme = refitted.em, refitted.scheme
        else:
            em = extended_em(fitted.model, estimated, classes, settings, weights)
            scheme = fitted.scheme.of(em.model, bounds) if free else fitted
        if known is None and learn_from is not None and settings.rounds:
            rounds.append(Round(*held_out(values, value_fit, learn_from, settings, training), em.unconstrained_matches))
        if done == settings.rounds or known is not None:
            break
        learn_from = None if refitted is None else refitted.learn_from
        if learn_from is None:
            p = em.model.p
            log_odds = scheme.match_weights(patterns.gamma) * math.log(2.0) + math.log(p) - math.log1p(-p)
            posterior = posteriors(factors, log_odds)
            learn_from = sampled_pairs(pairs, posterior, heaviest, settings.seed, reported("learn"))
        value_fit = estimate(values, learn_from, replace(settings, precision=value_fit.precision), training)
    progress("model", 1.0)
    warnings = (*_warnings(value_fit, em, settings, refitted), *_overfitting(rounds))
    return ExtendedFit(values, value_fit, scheme, em, classes, factors, tuple(rounds), warnings, refitted)


def known_model(values: Values, known: FittedModel | ValueModel) -> ValueModel:
    """A known distribution as a value model, its variables checked against the values'."""
    model = known if isinstance(known, ValueModel) else ValueModel.of(known, frequencies(values))
    if model.match is not None:
        levels = dict(zip(values.model_names, values.model_levels, strict=True))
        given = {str(name): n for name, n in zip(model.match.names, model.match.levels, strict=True)}
        if given != levels:
            odd = sorted(set(given.items()) ^ set(levels.items()))[0][0]
            what = "a known model must have the joint model's variables with their levels"
            raise wrong(what, "known", f"{odd} on one side only, or with other levels")
    if [key.column for key in model.alone] != list(values.alone_columns):
        raise wrong("a known model must have a distribution for each key that stands alone", "known", "others")
    return model


def _check(values: Values, fitted: FittedScheme, patterns: PatternCounts, bounds: Sequence[Sequence[float]]) -> None:
    model = fitted.model
    if (values.n_a, values.n_b) != (model.n_a, model.n_b):
        got = f"{values.n_a} and {values.n_b} records for {model.n_a} and {model.n_b}"
        raise wrong("the values must be those of the files that were compared", "values", got)
    if len(bounds) != patterns.n_fields or patterns.n_fields != len(model.fields):
        raise wrong("each compared field needs its bounds", "bounds", f"{len(bounds)} for {patterns.n_fields}")


def _warnings(
    value_fit: ValueFit, em: ExtendedEM, settings: ExtendedSettings, refitted: Refitted | None
) -> tuple[ResultWarning, ...]:
    found = []
    if not value_fit.converged:
        found.append(result_warning("joint_distribution_not_converged"))
    if refitted is not None and refitted.posterior is not None:
        # It has warnings of its own, and p follows from the number of links.
        return (*found, *refitted.scheme.model.warnings, *refitted.posterior.warnings)
    if not em.model.converged:
        found.append(result_warning("m_not_converged_beside_values", iterations=em.model.iterations))
    n_pairs = float(em.model.n_a) * em.model.n_b
    expected = em.model.p * n_pairs
    if settings.p == "held" and not 0.5 * expected <= em.unconstrained_matches <= 2 * expected:
        found.append(result_warning("values_disagree_with_p", found=em.unconstrained_matches, held=expected))
    if settings.p == "free" and settings.one_to_one and em.model.p >= (1 - 1e-9) / max(em.model.n_a, em.model.n_b):
        found.append(result_warning("p_at_limit_beside_values"))
    return tuple(found)


def _overfitting(rounds: Sequence[Round]) -> list[ResultWarning]:
    found = []
    for number, done in enumerate(rounds):
        if done.overfit > MAX_OVERFIT:
            found.append(result_warning("value_model_overfits", number=number + 1, bits=done.overfit))
    if len(rounds) > 1 and rounds[-1].matches > 1.5 * rounds[0].matches:
        first, last = rounds[0].matches, rounds[-1].matches
        found.append(result_warning("value_model_inflates_matches", first=first, last=last))
    return found
