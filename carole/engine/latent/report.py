"""What is reported of the extended latent step: its joint distribution, and what the values changed, in averages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gemel.carole.engine.run.contribution import pair_numbers
from gemel.carole.engine.run.plan import LatentPlan, LinkagePlan
from gemel.carole.engine.run.result import (
    FEWEST,
    Explained,
    LatentEffect,
    LatentResult,
    Linkage,
    MovedDependence,
    ScoredPairs,
)
from gemel.carole.extended_latent import ExtendedFit, ValueFit, Values, WeightedPairs
from gemel.carole.extended_latent.estimation import MAX_ITERATIONS, TOLERANCE, match_records
from gemel.carole.extended_latent.explanation import Contribution, Kind, explain_pairs
from gemel.carole.extended_latent.fit import log_likelihood
from gemel.carole.fellegi_sunter.model import PatternCounts
from gemel.common.arrays import F64, I32, I64, Ints
from gemel.risk.models.counts import distinct_rows
from gemel.risk.models.expectation_step import ExpectationStep
from gemel.risk.models.fitted import FittedModel
from gemel.risk.models.graphs import members
from gemel.risk.models.incomplete import fit_incomplete
from gemel.risk.models.joint_distribution import JointDistribution, JointVariable
from gemel.risk.models.queries import divergence_terms, jensen_shannon, sample

# What the values of the extended latent step added: links made and undone, and the joint distribution's distance.
#
# The step's joint distribution weighs every pair by a probability. Who only has the links that agreement alone makes
# would count each of them once. The two are compared by their Jensen-Shannon divergence, and edge by edge of the
# graph by mutual information. The second distribution has the graph and the prior's precision of the first, so that
# they differ in the weights of pairs only.
#
# The interval is a bootstrap over Alice's records, in groups of them: groups are drawn with replacement, for both
# distributions the same, since most of the pairs behind them are the same. A replicate's cliques come from one step
# of EM: missing keys are completed once, by the two distributions themselves, which is exact where none is missing.
# Two distributions estimated from one sample are farther apart than those of its population, by as much as the
# replicates are on average farther apart than they are; the estimate and its interval are corrected for that (the
# basic bootstrap).


FEWEST_LINKS = FEWEST
"""Links of agreement alone below which the distributions are not compared: each would move their distance."""

GROUPS = 100
"""Groups of Alice's records that are drawn."""

REPLICATES = 200

DRAWN = 5_000
"""Records drawn of each distribution, at which the replicates' distance is evaluated."""

MAX_CELLS = 1 << 16
"""Cells of all cliques up to which there is an interval: their counts are held for each group."""

EXACT = 1 << 18
"""Cells of all variables up to which the divergence is a sum over all of them."""


def effect_of_values(
    values: Values,
    fitted: ValueFit,
    weighted: WeightedPairs,
    before: tuple[ScoredPairs, I64],
    after: tuple[ScoredPairs, I64],
    precision: float,
    seed: int,
) -> LatentEffect:
    """Compare the step's links and joint distribution with those of agreement alone.

    One estimation from the links, one step of EM for each of both distributions, and O(`GROUPS` * cells) for each
    replicate.
    """
    made, undone = _moved(before, after)
    joint = fitted.model.match
    pairs, links = before
    # Nothing was estimated where the distribution was known before.
    if joint is None or not fitted.records or len(links) < FEWEST_LINKS:
        return LatentEffect(made, undone)
    linked = WeightedPairs(pairs.row_a[links], pairs.row_b[links], np.ones(len(links)))
    data = match_records(values, linked)
    alone = fit_incomplete(
        data, joint.graph, precision=precision, tolerance=TOLERANCE, max_iterations=MAX_ITERATIONS
    ).model
    rng = np.random.default_rng(seed)
    found = jensen_shannon(joint, alone, limit=EXACT, rng=rng).bits
    information = tuple(
        MovedDependence(
            (str(joint.names[v]), str(joint.names[w])),
            *(mutual_information(model.marginal([joint.names[v], joint.names[w]])) for model in (joint, alone)),
        )
        for v, w in joint.graph.edges
    )
    if sum(int(np.prod(clique.levels)) for clique in joint.cliques) > MAX_CELLS:
        return LatentEffect(made, undone, found, None, information)
    group = rng.integers(0, GROUPS, values.n_a)
    both = (
        GroupedCliques.of(joint, values, weighted, group, fitted.records + precision),
        GroupedCliques.of(alone, values, linked, group, data.total + precision),
    )
    replicates = replicated_divergences(both, rng)
    bias = float(replicates.mean())
    lower, upper = np.clip(found - np.quantile(replicates, [0.975, 0.025]), 0.0, 1.0).tolist()
    return LatentEffect(made, undone, float(np.clip(found - bias, 0.0, 1.0)), (lower, upper), information)


@dataclass(frozen=True)
class GroupedCliques:
    """A model's clique probabilities, and what each group of records counts in them.

    `by_group` (sequence of float64, each of shape (n_cells, GROUPS)): expected records of each group in each cell of a
    clique, in C order of its variables.
    """

    model: FittedModel
    total: float
    by_group: Sequence[F64]

    @classmethod
    def of(
        cls, model: FittedModel, values: Values, weighted: WeightedPairs, group: Ints, total: float
    ) -> GroupedCliques:
        """Complete the records of pairs by the model, and count them by the groups of their rows of A."""
        records = pair_records(values, weighted)
        some = (records >= 0).any(axis=1) & (weighted.weight > 0)
        first, member = distinct_rows(records[some] + 1, [n + 1 for n in model.levels])
        distinct = records[some][first]
        of_group = group[weighted.row_a[some]]
        weight = sparse.csr_matrix(
            (weighted.weight[some], (member, of_group)), shape=(len(distinct), GROUPS), dtype=np.float64
        )
        sizes = [int(np.prod(clique.levels)) for clique in model.cliques]
        by_group = [np.zeros((size, GROUPS)) for size in sizes]
        cell_of = [np.ravel_multi_index(tuple(clique.cells.T), clique.levels) for clique in model.cliques]
        step = ExpectationStep(model.tree, model.cliques, distinct)
        for part, cells, given, probability in step.given([clique.values for clique in model.cliques]):
            for c, rows in enumerate(cells):
                at = (cell_of[c][rows.cell], rows.record)
                share = sparse.csr_matrix((given[c], at), shape=(sizes[c], len(probability)))
                by_group[c] += (share @ weight[part]).toarray()
        return cls(model, total, by_group)

    def tables(self, change: F64) -> list[F64]:
        """Clique probabilities where each group counts `change` times more; nowhere negative."""
        found = []
        for clique, counts in zip(self.model.cliques, self.by_group, strict=True):
            table = np.maximum(clique.table().ravel() * self.total + counts @ change, 0.0)
            found.append((table / table.sum()).reshape(clique.levels))
        return found


def pair_records(values: Values, weighted: WeightedPairs) -> I32:
    """The values of each pair as one person's, over the joint model's variables; keys that disagree are missing."""
    columns = list(values.model_columns)
    of_a, of_b = values.codes_a[weighted.row_a][:, columns], values.codes_b[weighted.row_b][:, columns]
    keys = np.array([values.variables[v].is_key for v in columns])
    return np.where(keys, np.where(of_a == of_b, of_a, -1), np.maximum(of_a, of_b)).astype(np.int32)


def replicated_divergences(both: tuple[GroupedCliques, GroupedCliques], rng: np.random.Generator) -> F64:
    """By how much two models are farther apart in each replicate than they are, in bits.

    The distance is a mean over records drawn once, half of them of either model, so that differences between
    replicates have next to no error of sampling.
    """
    cells = np.concatenate([sample(part.model, DRAWN, rng) for part in both])
    columns = [
        [np.ravel_multi_index(tuple(cells[:, list(of)].T), levels) for of, levels in _places(part.model)]
        for part in both
    ]

    def probabilities(change: F64) -> list[F64]:
        return [
            _probability(part.model, part.tables(change), places) for part, places in zip(both, columns, strict=True)
        ]

    p, q = probabilities(np.zeros(GROUPS))
    drawn_with = (p + q) / 2
    here = float(np.mean(divergence_terms(p, q) / drawn_with))
    found = np.empty(REPLICATES)
    for r in range(REPLICATES):
        change = rng.multinomial(GROUPS, np.full(GROUPS, 1 / GROUPS)).astype(np.float64) - 1.0
        found[r] = np.mean(divergence_terms(*probabilities(change)) / drawn_with) - here
    return found


def mutual_information(table: F64) -> float:
    """Mutual information of two variables, in bits, of their table of probabilities."""
    independent = np.outer(table.sum(axis=1), table.sum(axis=0))
    some = table > 0
    return max(0.0, float((table[some] * np.log2(table[some] / independent[some])).sum()))


def _places(model: FittedModel) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The variables and levels of the cliques, then of the separators."""
    return [(factor.variables, factor.levels) for factor in (*model.cliques, *model.separators)]


def _probability(model: FittedModel, tables: Sequence[F64], places: Sequence[NDArray[np.intp]]) -> F64:
    """Probability of each record by the tables of the cliques, the separators being sums of them."""
    logs = np.zeros(len(places[0]))
    with np.errstate(divide="ignore", invalid="ignore"):
        for table, place in zip(tables, places, strict=False):
            logs += np.log(table.ravel()[place])
        for (a, _), separator, place in zip(
            model.tree.edges, model.tree.separators, places[len(tables) :], strict=True
        ):
            own = model.cliques[a].variables
            kept = set(members(separator))
            table = tables[a].sum(axis=tuple(i for i, v in enumerate(own) if v not in kept))
            logs -= np.log(np.ravel(table)[place])
    return np.where(np.isnan(logs), 0.0, np.exp(logs))


def _moved(before: tuple[ScoredPairs, I64], after: tuple[ScoredPairs, I64]) -> tuple[int | None, int | None]:
    """Links that only the second decision has, and that only the first has; None where they are few, but not 0."""
    in_before, in_after = (pair_numbers(pairs.row_a[links], pairs.row_b[links]) for pairs, links in (before, after))
    made, undone = int(np.setdiff1d(in_after, in_before).size), int(np.setdiff1d(in_before, in_after).size)
    return _shown(made), _shown(undone)


def _shown(number: int) -> int | None:
    return None if 0 < number < FEWEST else number


MAX_EXPLAINED = 100
"""Maximum number of pairs of a group in its average."""


def joint_distribution(fit: ExtendedFit, latent: LatentPlan) -> JointDistribution | None:
    """The joint distribution in codes; keys that stand alone are independent of it and are left out."""
    if fit.joint is None:
        return None
    coded = {variable.name for variable in latent.variables}
    of = {variable.name: variable for variable in fit.values.variables}
    variables = tuple(
        JointVariable(str(name), of[str(name)].holder, levels, str(name) in coded)
        for name, levels in zip(fit.joint.names, fit.joint.levels, strict=True)
    )
    return JointDistribution(variables, fit.joint, fit.value_fit.records, fit.value_fit.precision)


def explained_groups(
    fit: ExtendedFit, patterns: PatternCounts, after: tuple[ScoredPairs, I64], before: tuple[ScoredPairs, I64]
) -> tuple[Explained, ...]:
    """Average contributions of agreement and values to the links, and the links that the values made or removed."""
    (new_pairs, new), (old_pairs, old) = after, before
    keys_new, keys_old = (pair_numbers(pairs.row_a[links], pairs.row_b[links]) for pairs, links in (after, before))
    groups = [
        ("all links", new_pairs, new),
        ("links that agreement alone would not have made", new_pairs, new[~np.isin(keys_new, keys_old)]),
        ("links of agreement alone that the values undid", old_pairs, old[~np.isin(keys_old, keys_new)]),
    ]
    places = {field.name: q for q, field in enumerate(fit.scheme.model.fields)}
    found = []
    for what, pairs, chosen in groups:
        if len(chosen) < FEWEST:  # its averages identify no person
            continue
        shown = chosen[np.linspace(0, len(chosen) - 1, min(len(chosen), MAX_EXPLAINED)).astype(np.int64)]
        sums: dict[tuple[Kind, str], float] = {}
        for bars in explain_pairs(fit, pairs.row_a[shown], pairs.row_b[shown], patterns.gamma[pairs.pattern[shown]]):
            for part in bars:
                # Which keys agree differs from pair to pair; their average is one contribution.
                name = "agreed values" if part.kind == "rarity" else part.name
                sums[part.kind, name] = sums.get((part.kind, name), 0.0) + part.bits
        order = {"prior": 0, "agreement": 1, "rarity": 2, "association": 3}
        parts = sorted(
            (Contribution(kind, name, bits / len(shown)) for (kind, name), bits in sums.items()),
            key=lambda part: (order[part.kind], places.get(part.name, 0)),
        )
        found.append(Explained(what, len(chosen), tuple(parts)))
    return tuple(found)


def latent_result(
    fit: ExtendedFit,
    patterns: PatternCounts,
    after: tuple[ScoredPairs, I64],
    linkage: Linkage,
    plan: LinkagePlan,
    unconstrained_matches: float,
    weighted: WeightedPairs,
) -> LatentResult:
    """The step's results beside a linkage by agreement alone, and the scored pairs and links after it."""
    before, (pairs, links) = (linkage.pairs, linkage.links), after
    model = fit.scheme.model
    bits = np.zeros(0) if pairs.value_bits is None else pairs.value_bits[links]
    return LatentResult(
        joint=joint_distribution(fit, plan.latent or LatentPlan()),
        alone=tuple(fit.values.variables[column].name for column in fit.values.alone_columns),
        dependences=fit.value_fit.dependences,
        records=fit.value_fit.records,
        unconstrained_matches=unconstrained_matches,
        held=None if fit.refitted is not None and plan.competing else float(model.p) * model.n_a * model.n_b,
        iterations=fit.em.model.iterations,
        converged=fit.em.model.converged and fit.value_fit.converged,
        links_before=len(linkage.links),
        claims_before=linkage.claims,
        bits=_spread(bits),
        explained=explained_groups(fit, patterns, after, before),
        effect=effect_of_values(
            fit.values, fit.value_fit, weighted, before, after, fit.value_fit.precision or 0.0, plan.seed
        ),
        precision=fit.value_fit.precision,
        log_likelihood_gain=fit.em.model.log_likelihood - log_likelihood(linkage.scheme, patterns),
    )


def _spread(bits: F64) -> F64:
    """Lowest, quartiles and highest of what values add to the links, to a tenth, without the few at either end."""
    inner = np.sort(bits)[FEWEST - 1 : len(bits) - FEWEST + 1]
    return np.round(np.quantile(inner, np.linspace(0, 1, 5)), 1) if len(inner) else np.zeros(5)
