"""Message passing on junction trees: marginals, conditionals, and many partly known records at once.

Messages run from the leaves to a root, and for all cliques' marginals back again. A batch of records that lack the
same variables passes through together: the record's number is one more variable of every message. Where a tree's
probabilities change and the records do not, `expectation_step` prepares the messages once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gemel.risk.arrays import Codes, Floats, Integers
from gemel.risk.models.counts import distinct_rows
from gemel.risk.models.factors import Factor
from gemel.risk.models.graphs import mask_of, members
from gemel.risk.models.junction_trees import JunctionTree

if TYPE_CHECKING:
    from gemel.risk.models.fitted import FittedModel

BATCH_ROWS = 2**22


def query(model: FittedModel, variables: Sequence[int], evidence: Mapping[int, int]) -> Factor:
    """Joint probability of the variables and the evidence, as a function of the variables.

    The root is the clique that holds most of what is requested. A part of the tree behind which nothing is requested or
    known sends the message 1, so it costs nothing. A requested variable that lies in another clique travels with the
    messages.
    """
    concerned = mask_of(variables) | mask_of(evidence)
    tree = model.tree
    root = max(
        range(len(tree.cliques)),
        key=lambda c: ((tree.cliques[c] & concerned).bit_count(), -len(model.cliques[c].values)),
    )
    return _collected(model, root, concerned, variables, lambda c: model.cliques[c].given(evidence))


def _collected(
    model: FittedModel, root: int, concerned: int, variables: Sequence[int], restricted: Callable[[int], Factor]
) -> Factor:
    """The message that the root has for `variables` when each clique sends its own to its parent.

    `restricted`: a clique's rows that agree with what is known; its conditional given the parent is taken here.
    """
    tree = model.tree
    order = list(tree.walk(root))
    below = _below(tree, order, concerned)
    held = [Factor.constant()] * len(tree.cliques)
    for c, parent in reversed(order):
        if parent >= 0 and not below[c]:
            continue
        separator = list(members(tree.cliques[c] & tree.cliques[parent])) if parent >= 0 else []
        factor = restricted(c)
        if separator:
            factor = factor.divided(model.cliques[c].marginal(separator))
        message = (factor * held[c]).marginal([*separator, *variables])
        if parent < 0:
            return message
        held[parent] = held[parent] * message
    raise AssertionError("a tree has a root")


def _below(tree: JunctionTree, order: Sequence[tuple[int, int]], concerned: int) -> list[bool]:
    """For each clique whether it, or one below it, holds a variable concerned that its parent does not hold."""
    found = [False] * len(tree.cliques)
    for c, parent in reversed(order):
        above = tree.cliques[parent] if parent >= 0 else 0
        found[c] = found[c] or bool(tree.cliques[c] & ~above & concerned)
        if parent >= 0 and found[c]:
            found[parent] = True
    return found


def clique_marginals(tree: JunctionTree, potentials: Sequence[Factor]) -> list[Factor]:
    """Every clique's marginal of the product of all potentials, not normalised."""
    order = list(tree.walk(0))
    upward: dict[int, Factor] = {}
    collected = list(potentials)
    for c, parent in reversed(order):
        if parent >= 0:
            upward[c] = collected[c].marginal(list(members(tree.cliques[c] & tree.cliques[parent])))
            collected[parent] = collected[parent] * upward[c]
    for c, parent in order:
        if parent >= 0:
            downward = collected[parent].marginal(list(members(tree.cliques[c] & tree.cliques[parent])))
            collected[c] = collected[c] * downward.divided(upward[c])
    return collected


def _restricted(model: FittedModel, c: int, records: Codes, observed: int) -> Factor:
    """A clique's rows beside the number of each record they agree with."""
    factor = model.cliques[c]
    columns = list(members(model.tree.cliques[c] & observed))
    if not columns:
        return factor  # the same for all records: their number comes with the messages, where it is needed
    number = len(model.levels)
    rows = np.concatenate([records[:, columns], np.arange(len(records), dtype=np.int32)[:, None]], axis=1)
    evidence = Factor(
        (*columns, number), (*(model.levels[v] for v in columns), len(records)), rows, np.ones(len(records))
    )
    return factor * evidence


def log_marginal(model: FittedModel, records: Codes) -> Floats:
    """Log probability of what is known of each record (-1: missing), records with one pattern together."""
    result = np.zeros(len(records))
    for rows, observed in patterns(records):
        if observed == (1 << len(model.levels)) - 1:
            result[rows] = model.log_probability(records[rows])
            continue
        columns = list(members(observed))
        if not columns:
            continue
        first, inverse = distinct_rows(records[rows][:, columns], [model.levels[v] for v in columns])
        distinct = records[rows][first]
        found = np.concatenate(
            [_collect(model, distinct[part], observed) for part in batches(model, len(distinct), observed)]
        )
        with np.errstate(divide="ignore"):
            result[rows] = np.log(found)[inverse]
    return result


def _collect(model: FittedModel, records: Codes, observed: int) -> Floats:
    """Probability of the observed part of each record, by messages to the root only."""
    tree, number = model.tree, len(model.levels)
    root = max(range(len(tree.cliques)), key=lambda c: (tree.cliques[c] & observed).bit_count())
    message = _collected(model, root, observed, [number], lambda c: _restricted(model, c, records, observed))
    return message.look_up(np.arange(len(records), dtype=np.int32)[:, None])


def patterns(records: Codes) -> Iterator[tuple[Integers, int]]:
    """The rows that share each pattern of missing values, and the set of the variables they have."""
    known = records >= 0
    if known.all():
        yield np.arange(len(records)), (1 << records.shape[1]) - 1
        return
    first, which = distinct_rows(known, [2] * records.shape[1])
    for i, row in enumerate(first.tolist()):
        yield np.flatnonzero(which == i), mask_of(np.flatnonzero(known[row]).tolist())


def batches(model: FittedModel, n: int, observed: int) -> list[slice]:
    """Parts of n records that lack the same variables, so small that no clique's rows outgrow `BATCH_ROWS`."""
    rows = max(
        min(len(factor.values), int(np.prod([model.levels[v] for v in members(clique & ~observed)], dtype=np.float64)))
        for clique, factor in zip(model.tree.cliques, model.cliques, strict=True)
    )
    size = max(1, BATCH_ROWS // max(1, rows))
    return [slice(i, i + size) for i in range(0, n, size)]
