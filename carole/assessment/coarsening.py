"""A combined output, its specification and its joint distribution, coarsened: what is assessed and released instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.ladders import Ladder, Levels
from gemel.common.specification import Specification
from gemel.common.specification.model.assessment import PublishedTable
from gemel.risk.arrays import Codes
from gemel.risk.models.counts import total_by_row
from gemel.risk.models.factors import Factor
from gemel.risk.models.fitted import FittedModel
from gemel.risk.models.graphs import Graph, members
from gemel.risk.models.joint_distribution import JointDistribution
from gemel.risk.models.junction_trees import JunctionTree


def coarsened_output(combined: Combined, ladders: Sequence[Ladder], levels: Levels) -> Combined:
    """The combined output with the codes of groups in place of those of categories, without what is dropped."""
    alice, bob = combined.alice.copy(), combined.bob.copy()
    variables = list(combined.variables)
    gone = set()
    for ladder, level in zip(ladders, levels, strict=True):
        (column,) = combined.columns([ladder.variable])
        if ladder.dropped(level):
            gone.add(column)
            continue
        groups = np.append(ladder.groups[level], np.int32(-1))  # the last entry is that of a missing value, -1
        for codes in (alice, bob):
            codes[:, column] = groups[codes[:, column]]
        if level:
            labels = tuple(str(k + 1) for k in range(ladder.categories(level)))
            variables[column] = variables[column].model_copy(update={"categories": labels})
    kept = [q for q in range(len(variables)) if q not in gone]
    return replace(combined, variables=tuple(variables[q] for q in kept), alice=alice[:, kept], bob=bob[:, kept])


def coarsened_specification(spec: Specification, combined: Combined) -> Specification:
    """The specification with the variables that a coarsened output has, and its tables without those that it lacks."""
    policy = spec.assessment
    assert policy is not None  # noqa: S101 - nothing is coarsened without a policy
    names = {variable.name for variable in combined.variables}
    tables: list[PublishedTable] = []
    for table in policy.tables:
        left = table.model_copy(update={"variables": tuple(name for name in table.variables if name in names)})
        if left.variables and left not in tables:
            tables.append(left)
    update = {"variables": combined.variables, "assessment": policy.model_copy(update={"tables": tuple(tables)})}
    return spec.model_copy(update=update)


@dataclass(frozen=True)
class CoarsenedJoint(JointDistribution):
    """A coarsened joint distribution, with that from which it was made.

    A group of several categories has the prior of all of them, so that no one precision is behind its cells; what is
    left without the prior follows from the finer distribution.
    """

    bare: JointDistribution | None = field(default=None, repr=False)

    def without_prior(self) -> Self | None:
        """The relative frequencies behind the finer distribution, coarsened."""
        if self.bare is None:
            return None
        return replace(self, model=self.bare.model, bare=None)


def coarsened_joint(
    joint: JointDistribution | None, ladders: Sequence[Ladder], levels: Levels
) -> JointDistribution | None:
    """The joint distribution of the coarsened variables; None where none is left.

    Its cliques are the exact marginal distributions of the finer one's. Between variables of different cliques it
    states independence given the coarsened separator, which is coarser than what the finer one states.
    """
    if joint is None or not any(levels):
        return joint
    found = _coarsened(joint, ladders, levels)
    if found is None:
        return None
    plain = joint.without_prior()
    bare = None if plain is None else _coarsened(plain, ladders, levels)
    return CoarsenedJoint(found.variables, found.model, found.records, None, bare)


def _coarsened(joint: JointDistribution, ladders: Sequence[Ladder], levels: Levels) -> JointDistribution | None:
    kept, groups = dict(enumerate(joint.variables)), dict[int, Codes]()
    place_of = {variable.name: place for place, variable in kept.items() if variable.coded}
    for ladder, level in zip(ladders, levels, strict=True):
        place = place_of.get(ladder.variable)
        if place is not None and ladder.dropped(level):
            del kept[place]
        elif place is not None:
            groups[place] = ladder.groups[level]
            kept[place] = replace(kept[place], levels=ladder.categories(level))
    if not kept:
        return None
    variables, places = tuple(kept.values()), list(kept)
    model, names = joint.model, [variable.name for variable in variables]
    number_of = {place: number for number, place in enumerate(places)}
    edges = [(joint.names[v], joint.names[w]) for v, w in model.graph.edges if v in number_of and w in number_of]
    graph = Graph.from_edges(names, edges)
    tree = JunctionTree.of(graph)
    all_levels = tuple(variable.levels for variable in variables)
    cliques = []
    for clique in tree.cliques:
        remaining = [places[v] for v in members(clique)]
        factor = next(f for f in model.cliques if set(remaining) <= set(f.variables)).marginal(remaining)
        columns = zip(remaining, factor.cells.T, strict=True)
        coded = [groups[place][column] if place in groups else column for place, column in columns]
        cells = np.stack(coded, axis=1).astype(np.int32)
        own = tuple(all_levels[v] for v in members(clique))
        cliques.append(Factor(tuple(members(clique)), own, *total_by_row(cells, factor.values, own)))
    fitted = FittedModel(graph, all_levels, tree, tuple(cliques), model.estimate)
    return replace(joint, variables=variables, model=fitted)
