r"""Schemes: how similarity enters the model, behind one interface.

*Multinomial*: every comparison level of a field has its own m and u. *Exact*: a field agrees or it does not; no
similarity. The two *weighted* schemes estimate as the exact one does, and interpolate the weight of agreement by
similarity: with the ratios :math:`a = m/u` of agreement and :math:`d = (1-m)/(1-u)` of disagreement, and similarity s,

.. math:: \text{LR: } s a + (1 - s) d \qquad \text{log-LR: } s \log a + (1 - s) \log d .

All four score a comparison vector by a table of one weight per field and level, so that a run counts, fits, scores and
keeps pairs in the same way under each of them, and its cost depends on distinct values and vectors, never on pairs.
Similarity therefore enters the weighted schemes by level: s is 1 at the highest, which is agreement, and the middle of
the level elsewhere, at the lowest at most `LOWEST` (a field with only equal and unequal has 0 there). The loss of using
levels instead of each pair's own similarity is measured in the reproduction of Smith and Shlomo's experiment: .011 of
the area under the curve for log-LR at the highest level of error; LR gains .017, since with s = 0 one garbled value
rules out a match that all other fields support.

The weighted schemes give scores that rank pairs. They are not a ratio of two distributions, so probabilities derived
from them are not calibrated; a run reports this.

The options that a scheme can be combined with are its facts, in `gemel.common.specification.model.schemes`. A new
scheme is an entry there and one here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from gemel.carole.comparison.counting import summed
from gemel.carole.fellegi_sunter.em import fit
from gemel.carole.fellegi_sunter.kinds.joint_model import JointModel
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.carole.fellegi_sunter.model import MISSING, Model, PatternCounts, log2_ratios, probability_of, table_sums
from gemel.carole.fellegi_sunter.settings import Estimation, FieldLevels, MPrior, RuleFields
from gemel.carole.fellegi_sunter.standard_errors import StandardErrors
from gemel.common.arrays import F64, I8
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.errors import parameter
from gemel.common.specification.model import schemes as known
from gemel.common.specification.model.defaults import Describes
from gemel.common.specification.model.schemes import SchemeFacts

Shade = Callable[[float, float, F64], F64]
"""Weights in bits of similarities, from the log2 ratios of agreement and of disagreement."""

LOWEST = 0.1
"""Maximum similarity of the least similar level; the lowest of EM(8) has its middle there."""


@dataclass(frozen=True)
class Scheme:
    """How a scheme treats comparison vectors and a model.

    `shade`: None: the model has the fields' own levels; else it has agreement and disagreement only, and this gives
    every level of similarity its weight.
    """

    facts: SchemeFacts
    shade: Shade | None = None

    def vectors(self, gamma: I8, n_levels: Sequence[int]) -> I8:
        """Comparison vectors in the model's levels, from those in the fields' levels."""
        return gamma if self.shade is None else agreements(gamma, n_levels)

    def levels(self, n_levels: int) -> int:
        """Number of the model's levels of a field with `n_levels` levels."""
        return n_levels if self.shade is None else min(n_levels, 2)

    def patterns(self, patterns: PatternCounts, n_levels: Sequence[int]) -> PatternCounts:
        """The same rows, with vectors in the model's levels; some may then be equal."""
        return replace(patterns, gamma=self.vectors(patterns.gamma, n_levels))

    def merged(self, patterns: PatternCounts, n_levels: Sequence[int]) -> PatternCounts:
        """The same pairs, counted by vectors in the model's levels."""
        return patterns if self.shade is None else agreement_counts(patterns, n_levels)

    def level_counts(self, counts: F64 | None, n_levels: Sequence[int]) -> F64 | None:
        """Pairs by field and the model's levels."""
        return counts if counts is None or self.shade is None else folded_counts(counts, n_levels)

    def weights(self, model: Model, bounds: Sequence[Sequence[float]]) -> F64:
        """Match weight of each field's levels in bits, shape (n_fields, max n_levels); 0 after a field's levels."""
        ratios = log2_ratios(model.m, model.u)
        if self.shade is None:
            return ratios
        weights = np.zeros((len(bounds), max(len(field) for field in bounds)))
        for q, field in enumerate(bounds):
            d, a = ratios[q, 0], ratios[q, model.fields[q].n_levels - 1]
            weights[q, : len(field)] = self.shade(a, d, similarities(field, graded=self.facts.graded))
        return weights

    def of(self, model: Model, bounds: Sequence[Sequence[float]]) -> FittedScheme:
        """The scheme with a model: one weight per field and level."""
        return FittedScheme(self, model, self.weights(model, bounds))


@dataclass(frozen=True)
class FittedScheme:
    """A model and its weight of every comparison level.

    `model`: with the levels of EM: the fields' own (multinomial), or two, disagreement and agreement; `weights`
    (float64, shape (n_fields, max n_levels)): match weight of each comparison level, in bits; 0 after a field's levels;
    `joint`: where fields may depend on each other: the weight of a vector is then this model's, and `weights` are those
    of each field separately; `n_levels`: levels of the fields, where they differ from the model's; `standard_errors`:
    of the model's m, u and p.
    """

    scheme: Scheme
    model: Model
    weights: F64
    joint: JointModel | None = None
    n_levels: tuple[int, ...] = ()
    standard_errors: StandardErrors | None = None

    @property
    def no_match(self) -> float:
        """Probability that there is no match, where pairs are of kinds; 0 otherwise."""
        return 0.0 if self.joint is None else self.joint.no_match

    def informed(self, links: LinkPosterior) -> LinkPosterior:
        """Links with what the model says of their number, and of what blocking lost."""
        return links if self.joint is None else self.joint.informed(links)

    @property
    def warnings(self) -> tuple[ResultWarning, ...]:
        facts = self.scheme.facts
        return () if facts.calibrated else (result_warning("scheme_not_calibrated", scheme=facts.name),)

    def match_weights(self, gamma: I8) -> F64:
        """Match weights of comparison vectors, in bits: shape (n_patterns,)."""
        if self.joint is not None:
            return self.joint.match_weights(self.scheme.vectors(gamma, self.n_levels))
        return table_sums(gamma, self.weights)

    def match_probabilities(self, gamma: I8) -> F64:
        """Match probabilities that the weights imply, each pair without its rivals."""
        return probability_of(self.match_weights(gamma), self.model.p)


def scheme_named(name: str) -> Scheme:
    """The scheme of a name; PARAMETER if there is none."""
    if name not in SCHEMES:
        raise parameter("model.scheme", f"expected one of {', '.join(SCHEMES)}", repr(name), "name one of them")
    return SCHEMES[name]


def fit_scheme(
    name: str,
    patterns: PatternCounts,
    names: Sequence[str],
    bounds: Sequence[Sequence[float]],
    n_a: int,
    n_b: int,
    settings: Estimation | None = None,
    rules: Sequence[RuleFields] = (),
    level_counts: F64 | None = None,
    exceptions: Sequence[int] = (),
    m_prior: Mapping[str, MPrior] = MappingProxyType({}),
    describes: Mapping[str, Describes] = MappingProxyType({}),
    further: Mapping[int, tuple[int, ...]] = MappingProxyType({}),
    constant: Collection[int] = (),
    parts: Mapping[str, str] = MappingProxyType({}),
) -> FittedScheme:
    """Fit a scheme to counts of comparison patterns.

    `patterns`: by the fields' comparison levels, whatever the scheme; `bounds`: inclusive upper bounds of each field's
    levels; `exceptions`: positions of the comparisons in which most matches have the lowest level; `describes`: of
    fields, what they describe; `further`: positions of comparisons beside the fields', and those of the fields that
    each is of; `constant`: positions of fields in which one file has one value; `parts`: of fields, the dates
    that they are parts of. Raises as `fit`, and PARAMETER for an
    unknown scheme. O(n_patterns * n_fields) per iteration.

    References
    ----------
    .. [1] Smith and Shlomo, Privacy preserving probabilistic record linkage, 2014.
    """
    scheme = scheme_named(name)
    n_levels = [len(field) for field in bounds]
    fields = [
        FieldLevels(
            field,
            scheme.levels(n_levels[q]),
            q in exceptions,
            m_prior.get(field, MPrior()),
            describes=describes.get(field, "trait"),
            of=further.get(q, ()),
            constant=q in constant,
            part_of=parts.get(field, ""),
        )
        for q, field in enumerate(names)
    ]
    counted = scheme.merged(patterns, n_levels)
    model = fit(counted, fields, n_a, n_b, settings, rules, scheme.level_counts(level_counts, n_levels))
    return scheme.of(model, bounds)


def similarities(bounds: Sequence[float], *, graded: bool = True) -> F64:
    """Similarity of each level of a field, from 0 (disagreement) to 1 (agreement).

    Examples
    --------
    >>> similarities((0.2, 0.6, 0.999, 1.0)).tolist()
    [0.1, 0.4, 0.7995, 1.0]
    """
    upper = np.asarray(bounds, dtype=np.float64)
    middle = (np.concatenate(([0.0], upper[:-1])) + upper) / 2
    middle[0] = min(middle[0], LOWEST) if len(upper) > 2 else 0.0
    middle[-1] = 1.0
    if not graded:
        middle[:-1] = 0.0
    return middle


def unshaded(a: float, d: float, s: F64) -> F64:
    """Everything below 1 is disagreement."""
    return np.where(s == 1, a, d)


def ratio_shaded(a: float, d: float, s: F64) -> F64:
    """The likelihood ratio, interpolated by similarity."""
    # In logarithms, so that a ratio outside the range of floats does no harm.
    with np.errstate(divide="ignore"):
        return np.asarray(np.logaddexp2(np.log2(s) + a, np.log2(1 - s) + d), dtype=np.float64)


def log_ratio_shaded(a: float, d: float, s: F64) -> F64:
    """The logarithm of the likelihood ratio, interpolated by similarity."""
    # A similarity of 0 times an infinite ratio is 0.
    return np.where(s > 0, np.maximum(s, 1e-300) * a, 0.0) + np.where(s < 1, np.maximum(1 - s, 1e-300) * d, 0.0)


def agreements(gamma: I8, n_levels: Sequence[int]) -> I8:
    """Comparison vectors with levels below the top as 0 and the top level as 1; a field of one level has 0."""
    top = np.asarray(n_levels, dtype=np.int8) - 1
    agree = ((gamma == top) & (top > 0)).astype(np.int8)
    return np.where(gamma == MISSING, np.int8(MISSING), agree)


def agreement_counts(patterns: PatternCounts, n_levels: Sequence[int]) -> PatternCounts:
    """The same pairs counted by agreement and disagreement only: at most 3 ** n_fields patterns per mask. A sort."""
    gamma = agreements(patterns.gamma, n_levels)
    if gamma.shape[1] > 40:
        # More trits than a 64-bit number holds: EM takes repeated rows as well.
        return replace(patterns, gamma=gamma)
    places = 3 ** np.arange(gamma.shape[1], dtype=np.int64)[::-1]
    code, mask, count = summed([((gamma.astype(np.int64) + 1) @ places, patterns.mask, patterns.count)])
    return PatternCounts((code[:, None] // places % 3 - 1).astype(np.int8), mask, count)


def folded_counts(counts: F64, n_levels: Sequence[int]) -> F64:
    """Pairs by agreement and disagreement, from pairs by level: shape (n_fields, 2), or 1 if no field has more."""
    folded = np.zeros((len(counts), min(2, max(n_levels))))
    for q, n in enumerate(n_levels):
        if n == 1:
            folded[q, 0] = counts[q, 0]
        else:
            folded[q] = counts[q, : n - 1].sum(), counts[q, n - 1]
    return folded


SCHEMES: dict[str, Scheme] = {
    scheme.facts.name: scheme
    for scheme in (
        Scheme(known.SCHEMES["multinomial"]),
        Scheme(known.SCHEMES["exact"], unshaded),
        Scheme(known.SCHEMES["lr_weighted"], ratio_shaded),
        Scheme(known.SCHEMES["log_lr_weighted"], log_ratio_shaded),
    )
}
"""All schemes by name."""
