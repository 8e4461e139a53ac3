"""A run's second estimate beside the values: as `refine` makes it, with the values' Bayes factors as evidence.

Where records compete, the pairs worth keeping by agreement and values together are kept first. Their link probabilities
in the E step obey the assignment, so that the rivals of a match are not taken for matches; m, the dependence of fields,
kin and the number of links are all estimated again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from gemel.carole.engine.decision.estimated import refine
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.pairs.selection import KEPT_PROBABILITY, Selection, choose_classes
from gemel.carole.engine.pairs.stream import NONE_KEPT, KeptPairs
from gemel.carole.engine.run.contribution import Arrays, array_of
from gemel.carole.engine.run.plan import LatentPlan, LinkagePlan
from gemel.carole.engine.run.resources import MemoryBudget
from gemel.carole.engine.run.result import match_probabilities
from gemel.carole.extended_latent import BayesFactors, Classes, ExtendedEM, ExtendedSettings, Pairs, Refitted, Values
from gemel.carole.extended_latent import KeptPairs as PairsWithFactors
from gemel.carole.extended_latent.em import kept as keep
from gemel.carole.extended_latent.estimation import SATURATED_CELLS, found_graph
from gemel.carole.extended_latent.fit import log_likelihood
from gemel.carole.fellegi_sunter.kinds.joint_model import Evidence
from gemel.carole.fellegi_sunter.model import level_counts
from gemel.carole.fellegi_sunter.schemes import FittedScheme
from gemel.carole.fellegi_sunter.settings import FieldLevels, MPrior
from gemel.common.arrays import F64, I32
from gemel.common.progress import StageProgress
from gemel.common.signatures.layout import JOINT, TRAINING
from gemel.common.signatures.signature_sets import MISSING, SignatureSet, check_counts, check_range
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.fitted import FittedModel, fit
from gemel.risk.models.graphs import complete_graph

# Beliefs about m, u and p as the pseudo-observations of the extended latent step.


def with_beliefs(scheme: FittedScheme, found: Candidates, latent: LatentPlan) -> tuple[FittedScheme, F64 | None]:
    """A scheme and the levels of all pairs, as they are estimated from with a plan's beliefs.

    Returns float64, shape (n_fields, maximum of levels), or None: pairs by field and level with those that beliefs
    about u are worth; None as in `found`, without such beliefs.
    """
    model = scheme.model
    believed = dict(latent.m_prior)
    fields = tuple(_with_belief(field, believed.get(field.name)) for field in model.fields)
    scheme = replace(scheme, model=replace(model, fields=fields))
    if not latent.u_prior:
        return scheme, found.levels
    levels, patterns = found.levels, found.patterns
    if levels is None:
        levels = level_counts(np.ascontiguousarray(patterns.gamma), patterns.count, model.m.shape[1])
    return scheme, levels + _counts(latent.u_prior, model.fields, levels.shape)


def _with_belief(field: FieldLevels, belief: MPrior | None) -> FieldLevels:
    if belief is None:
        return field
    own = field.m_prior
    weight = own.weight + belief.weight
    agreement = (own.weight * own.agreement + belief.weight * belief.agreement) / weight
    return replace(field, m_prior=MPrior(agreement, weight))


def _counts(beliefs: Iterable[tuple[str, MPrior]], fields: Iterable[FieldLevels], shape: tuple[int, ...]) -> F64:
    """`agreement` of the weight at a field's highest level and the rest spread evenly over the others."""
    counts, believed = np.zeros(shape), dict(beliefs)
    for row, levels in enumerate(fields):
        belief = believed.get(levels.name)
        if belief is not None:
            top = levels.n_levels - 1
            counts[row, :top] = belief.weight * (1 - belief.agreement) / max(1, top)
            counts[row, top] = belief.weight * belief.agreement
    return counts


KEPT_PAIR_BYTES = 200
"""Memory of a pair kept by agreement and values, its scores and its part in the decision."""


@dataclass(frozen=True, repr=False)
class KeptByValues:
    """The pairs kept by agreement and values together, and which classes of pairs they are."""

    pairs: PairsWithFactors
    selection: Selection

    @property
    def bits(self) -> F64:
        return self.pairs.log_factor / math.log(2.0)

    @property
    def rows(self) -> KeptPairs:
        return KeptPairs(self.pairs.row_a, self.pairs.row_b, self.pairs.pattern)


@dataclass(frozen=True)
class RunRefit:
    """The `Refit` of a run."""

    found: Candidates
    pairs: Pairs
    scheme: FittedScheme
    plan: LinkagePlan
    budget: MemoryBudget
    resolution: float
    progress: StageProgress

    def __call__(self, factors: BayesFactors, classes: Classes) -> Refitted:
        found, plan, scheme = self.found, self.plan, self.scheme
        latent = plan.latent or LatentPlan()
        held = scheme.model.p if latent.p == "held" else None
        kept = None
        if plan.competing:
            chosen = self.keep(scheme, factors, classes, lambda done: self.progress(0.4 * done))
            kept, rows, evidence = chosen.pairs, chosen.rows, Evidence(chosen.pairs.pattern, chosen.bits)
        else:
            rows = NONE_KEPT
            evidence = Evidence(classes.pattern, classes.log_factor / math.log(2.0), classes.count)
        links = found.posterior(rows.row_a, rows.row_b, plan)
        scheme, levels = with_beliefs(scheme, found, latent)
        believed, progress = replace(found, levels=levels), lambda done: self.progress(0.4 + 0.6 * done)
        fitted, posterior = refine(scheme, believed, rows, links, plan, progress, evidence, held, latent.p_prior)
        chance = classes.count * by_itself(fitted, found, classes) if posterior is None else posterior.probability
        matches = np.bincount(evidence.pattern, chance, minlength=found.patterns.n_patterns)
        joint = fitted.joint
        model = replace(
            fitted.model,
            log_likelihood=log_likelihood(fitted, found.patterns, classes),
            converged=joint is None or joint.converged,
            iterations=0 if joint is None else joint.rounds,
        )
        return Refitted(fitted, ExtendedEM(model, float(matches.sum())), kept, posterior)

    def keep(
        self, scheme: FittedScheme, factors: BayesFactors, classes: Classes, progress: StageProgress
    ) -> KeptByValues:
        """The pairs above the floor, by weights of a scheme and the factors."""
        by_pattern = scheme.match_weights(self.found.patterns.gamma)
        weight = classes.weights(by_pattern)
        chance = match_probabilities(weight, scheme.model.p)
        maximum = self.budget.free // KEPT_PAIR_BYTES
        threshold, minimum = self.plan.probable, KEPT_PROBABILITY
        n_records = self.found.n_a + self.found.n_b
        choice = choose_classes(weight, chance, classes.count, threshold, maximum, KEPT_PAIR_BYTES, minimum, n_records)
        self.budget.take(KEPT_PAIR_BYTES * choice.n_pairs, "the pairs above the floor", "raise links.threshold")
        # Classes hold rounded factors: a pair may lie half a step below its class.
        floor = choice.floor * math.log(2.0) - self.resolution
        pairs = keep(self.pairs, factors, by_pattern * math.log(2.0), floor, progress)
        self.budget.give_back(KEPT_PAIR_BYTES * choice.n_pairs)
        return KeptByValues(pairs, choice)


def by_itself(scheme: FittedScheme, found: Candidates, classes: Classes) -> F64:
    """Match probability of a pair of each class, without its rivals."""
    return match_probabilities(classes.weights(scheme.match_weights(found.patterns.gamma)), scheme.model.p)


# What is known of the joint distribution beforehand, for the extended latent step: training records, or its cells.
#
# A custodian brings them as codes, in sets of their own (`custodian.encoding.categories`). Here they get the columns
# of a run's value model, which may lack a variable of theirs, and has keys that they do not have.


SHARES_WORTH = 1e6
"""People that a distribution of shares is worth; counts are as many as they say."""

_NAMES = ("training", "joint_cells", "joint_counts")
"""Of the arrays in an archive."""

_ONE = 1e-5
"""How far from 1 shares may sum."""

PRECISION = 1.0
"""Prior precision of a known distribution: a person, spread evenly over all cells, so that none is impossible."""


@dataclass(frozen=True, repr=False)
class KnownRecords:
    """Rows of codes, a column for each of the plan's variables in their order.

    Attributes
    ----------
    training : ndarray of int32, shape (n_records, n_variables), optional
        Training records; -1 where missing, and throughout in a variable that is not in the value model.
    cells : ndarray of int32, shape (n_cells, n_variables), optional
        Cells of a known joint distribution, likewise.
    counts : ndarray of float64, shape (n_cells,), optional
        What each counts, or its share.
    """

    training: I32 | None = None
    cells: I32 | None = None
    counts: F64 | None = None

    @classmethod
    def of(cls, sets: Iterable[SignatureSet], latent: LatentPlan) -> KnownRecords:
        """Those that are in the sets of both contributions; other sets are ignored."""
        found = {part.rule: part for part in sets if part.rule in (TRAINING, JOINT)}
        training, joint = found.get(TRAINING), found.get(JOINT)
        return cls(
            None if training is None else _columns(training, latent),
            None if joint is None else _columns(joint, latent),
            None if joint is None else joint.counts,
        )

    @property
    def n_bytes(self) -> int:
        return sum(array.nbytes for array in (self.training, self.cells, self.counts) if array is not None)

    def arrays(self) -> Arrays:
        held = zip(_NAMES, (self.training, self.cells, self.counts), strict=True)
        return {name: array for name, array in held if array is not None}

    @classmethod
    def of_arrays(cls, arrays: Arrays, latent: LatentPlan) -> KnownRecords:
        """Those of an archive from another party, checked."""
        found: dict[str, I32] = {}
        for name in _NAMES[:2]:
            if name in arrays:
                found[name] = array_of(arrays, name, np.int32, (None, len(latent.variables)))
                for column, variable in enumerate(latent.variables):
                    check_range(found[name][:, column], variable.categories, f"{name}, variable {variable.name}")
        cells, counts = found.get(_NAMES[1]), None
        if cells is not None:
            counts = array_of(arrays, _NAMES[2], np.float64, (len(cells),))
            check_counts(counts, _NAMES[2])
        return cls(found.get(_NAMES[0]), cells, counts)

    def values_for(self, values: Values, latent: LatentPlan) -> Values:
        """The values with every key standing alone that a known joint distribution does not have."""
        if self.cells is None:
            return values
        coded = {variable.name for variable in latent.variables}
        variables = (
            replace(variable, alone=True) if variable.is_key and variable.name not in coded else variable
            for variable in values.variables
        )
        return replace(values, variables=tuple(variables))

    def training_for(self, values: Values, latent: LatentPlan) -> I32 | None:
        """The training records as `fit_extended` takes them: shape (n_records, n_variables) of the values' variables.

        A key that is compared by signatures is missing, since no file of codes has it.
        """
        if self.training is None:
            return None
        place = {variable.name: column for column, variable in enumerate(latent.variables)}
        found = np.full((len(self.training), len(values.variables)), MISSING, dtype=np.int32)
        for column, variable in enumerate(values.variables):
            if variable.name in place:
                found[:, column] = self.training[:, place[variable.name]]
        return found

    def joint_for(self, values: Values, latent: LatentPlan, settings: ExtendedSettings) -> FittedModel | None:
        """The known joint distribution of the values' joint model.

        Every dependence that the cells show is kept, as long as the table of all cells has at most `SATURATED_CELLS`;
        above that, those of the graph that a search finds in them. O(n_cells log n_cells), and the table of all cells.
        """
        if self.cells is None or self.counts is None or not values.model_columns:
            return None
        place = {variable.name: column for column, variable in enumerate(latent.variables)}
        columns = [place[name] for name in values.model_names]
        total = float(self.counts.sum())
        worth = SHARES_WORTH if abs(total - 1) < _ONE else 1.0
        counts = SparseCounts.from_records(
            self.cells[:, columns], values.model_levels, values.model_names, self.counts * worth
        )
        if math.prod(values.model_levels) <= SATURATED_CELLS:
            graph = complete_graph(values.model_names)
        else:
            graph = found_graph(counts, settings, PRECISION).best.graph
        return fit(counts, graph, "posterior mean", PRECISION)


NOTHING_KNOWN = KnownRecords()


def _columns(part: SignatureSet, latent: LatentPlan) -> I32:
    found = np.full((part.n_rows, len(latent.variables)), MISSING, dtype=np.int32)
    for column, variable in enumerate(latent.variables):
        if variable.name in part.variables:
            found[:, column] = part.variables[variable.name].codes
    return found
