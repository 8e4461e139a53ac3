"""Bayes factors of pairs at some tens of nanoseconds each, from tables that are prepared once.

Three things decide how a pair's Bayes factor is computed: which of Alice's variables its record of A has, which of
Bob's its record of B has, and which keys agree. For each such case the unknown variables are summed out of the
joint model, which leaves tables: those of only one side's values are looked up for each distinct configuration
beforehand, together with the side's own marginal from the denominator; those that join both sides are
looked up for the pair. No table over all variables is made, and no pair of configurations is tabulated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from gemel.carole.extended_latent.bayes_factor import AloneKey, ValueModel, columns_of, log_agreement, renamed
from gemel.carole.extended_latent.kernels import FileLayout, JointLayout, pair_factors
from gemel.carole.extended_latent.variables import Configurations, Values
from gemel.common.arrays import F64, I32, I64, Ints
from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.models.factors import Factor
from gemel.risk.models.fitted import FittedModel
from gemel.risk.models.graphs import members

# The marginal of a decomposable model over some variables, as a product of small tables that is never multiplied out.
#
# A junction tree is a product of conditional tables. Unknown variables are summed out one by one, each from the
# tables that hold it; the product of the remaining tables is the marginal, and a cell costs one entry of each table.
# Keys that disagree and missing values are summed out in this way.

TABLE_LIMIT = 2**24
"""Maximum number of cells of one table."""


def conditionals(model: FittedModel) -> list[Factor]:
    """The model as a product: the root clique's marginal, and every other clique's given its parent."""
    found = []
    for c, parent in model.tree.walk():
        factor = model.cliques[c]
        separator = model.tree.cliques[c] & model.tree.cliques[parent] if parent >= 0 else 0
        if separator:
            factor = factor.divided(factor.marginal(list(members(separator))))
        found.append(factor)
    return found


def eliminated(factors: Sequence[Factor], unknown: Sequence[int], levels: Sequence[int]) -> list[Factor]:
    """Sum variables out of a product of tables, the cheapest first."""
    left = list(factors)
    waiting = set(unknown)
    while waiting:
        cost = {v: _cells(left, v, levels) for v in waiting}
        v = min(sorted(waiting), key=lambda v: cost[v])
        if cost[v] > TABLE_LIMIT * levels[v]:
            what = (
                "the value model has too many dependent variables for a key or value that is not known to be summed out"
            )
            got, remedy = f"a table of {cost[v]} cells", "use fewer variables or levels, or let a key stand alone"
            raise GemelError(ErrorCode.MEMORY, what, where="latent", got=got, remedy=remedy)
        waiting.remove(v)
        joined = Factor.constant()
        for factor in sorted((f for f in left if v in f.variables), key=lambda f: -len(f.variables)):
            joined = factor * joined
        left = [f for f in left if v not in f.variables]
        left.append(joined.marginal([w for w in joined.variables if w != v]))
    return [factor for factor in left if not _is_one(factor)]


def _cells(factors: Sequence[Factor], v: int, levels: Sequence[int]) -> int:
    union = {w for factor in factors if v in factor.variables for w in factor.variables}
    return math.prod(int(levels[w]) for w in union)


def _is_one(factor: Factor) -> bool:
    """Whether a table is 1 everywhere, as the conditional of a clique with only unknown variables."""
    size = math.prod(int(n) for n in factor.levels)
    return len(factor.values) == size and bool(np.abs(factor.values - 1.0).max() <= 1e-12)


MAX_PLANS = 1 << 12
"""Maximum number of prepared cases."""


class BayesFactors:
    """Log Bayes factors of the pairs of two files under a value model.

    Raises MEMORY if there are too many combinations of missing variables and agreeing keys, or a table is too large.

    Making it costs one elimination for each case, and one pass of the distinct configurations through the junction tree
    for each set of keys. Then a pair costs its keys and the tables that join both sides.
    """

    def __init__(self, model: ValueModel, values: Values) -> None:
        names = values.model_names
        keys = [q for q, v in enumerate(values.model_columns) if values.variables[v].is_key]
        sets = [[k for i, k in enumerate(keys) if s >> i & 1] for s in range(1 << len(keys))]
        potentials: list[Factor] = []
        if model.match is not None:
            # Tables refer to the model's variables; from here on a variable is its column among the configurations.
            place = {v: names.index(str(name)) for v, name in enumerate(model.match.names)}
            potentials = [renamed(factor, place) for factor in conditionals(model.match)]
        of_a, of_b = values.configurations
        a = _Side(model.alice, of_a, _own(values, "alice"), sets, names)
        b = _Side(model.bob, of_b, _own(values, "bob"), sets, names)
        eliminations: dict[tuple[int, ...], list[Factor]] = {}
        plans = []
        for (in_a, known_a), (in_b, known_b) in product(enumerate(a.known), enumerate(b.known)):
            for s, agree in enumerate(sets):
                unknown = tuple(q for q in range(len(names)) if q not in (*known_a, *known_b, *agree))
                if unknown not in eliminations:
                    eliminations[unknown] = eliminated(potentials, unknown, values.model_levels)
                by_a, by_b, by_both = _sorted_out(eliminations[unknown], [{*known_a, *agree}, {*known_b, *agree}])
                plans.append(by_both)
                a.add_terms(by_a, in_a, in_b, s)
                b.add_terms(by_b, in_b, in_a, s, log_agreement(model, [names[k] for k in agree]))
        columns = [key.column for key in model.alone]
        self._alice, self._bob = a.layout(values.codes_a[:, columns]), b.layout(values.codes_b[:, columns])
        self._joint = _joint_layout(keys, len(b.known), plans, set(b.own), model.alone)

    def log(self, row_a: Ints, row_b: Ints) -> F64:
        """Natural log Bayes factor of each pair, between -700 and 700; shape (n_pairs,). Any number of threads."""
        result = np.empty(len(row_a))
        rows = np.ascontiguousarray(row_a, dtype=np.int32), np.ascontiguousarray(row_b, dtype=np.int32)
        pair_factors(*rows, self._alice, self._bob, self._joint, result)
        return result


class _Side:
    """One file's configurations, their shapes, and what its own values contribute to each case."""

    def __init__(
        self, model: FittedModel | None, file: Configurations, own: Sequence[int], sets: Sequence[Sequence[int]],
        names: Sequence[str],
    ) -> None:  # fmt: skip
        self.file, self.own = file, own
        self.known, self._shape = _shapes(file, own)
        # By the other file's shape and the keys that agree, of each configuration.
        self._terms: dict[tuple[int, int], F64] = {}
        # log P(own values, x_S) of each configuration, for each set S of keys; 0 without a joint model.
        self._marginals = [np.zeros(len(file.codes)) for _ in sets]
        if model is not None:
            columns = np.arange(file.codes.shape[1])
            for s, agree in enumerate(sets):
                known = np.where(np.isin(columns, [*own, *agree]), file.codes, -1).astype(np.int32)
                self._marginals[s] = model.log_marginal(columns_of(model, known, names))

    def add_terms(self, factors: Sequence[Factor], shape: int, other: int, s: int, constant: float = 0.0) -> None:
        """Of the configurations of a shape beside one of the other file's, where the keys of the set number s agree."""
        rows = np.flatnonzero(self._shape == shape)
        above, below = _looked_up(factors, self.file.codes[rows]), self._marginals[s][rows]
        terms = self._terms.setdefault((other, s), np.empty(len(self._shape)))
        with np.errstate(invalid="ignore"):
            terms[rows] = np.where(np.isneginf(below), -np.inf, above - below) + constant

    def layout(self, alone: I32) -> FileLayout:
        terms = np.stack([self._terms[case] for case in sorted(self._terms)])
        return FileLayout(self.file.of_row, self.file.codes, self._shape, terms, np.ascontiguousarray(alone))


def check_cases(values: Values) -> None:
    """Raise `GemelError` (MEMORY) if there are too many combinations of missing variables and agreeing keys."""
    sides = zip(("alice", "bob"), values.configurations, strict=True)
    n_shapes = [len(_shapes(file, _own(values, side))[0]) for side, file in sides]
    n_sets = 1 << len(values.model_keys)
    if n_shapes[0] * n_shapes[1] * n_sets > MAX_PLANS:
        what = f"more than {MAX_PLANS} combinations of missing variables and agreeing keys"
        got = f"{n_shapes[0]} and {n_shapes[1]} sets of variables that records have, {n_sets} sets of keys"
        remedy = "make missing a separate category, or let keys stand alone"
        raise GemelError(ErrorCode.MEMORY, what, where="latent", got=got, remedy=remedy)


def _own(values: Values, side: str) -> list[int]:
    """The configurations' columns of the variables that only one side holds."""
    return [q for q, v in enumerate(values.model_columns) if values.variables[v].holder == side]


def _shapes(file: Configurations, own: Sequence[int]) -> tuple[list[list[int]], I64]:
    """Which of its own variables configurations of a file have, and which of these shapes each has."""
    there = file.codes[:, list(own)] >= 0
    patterns, number = np.unique(there, axis=0, return_inverse=True) if own else (np.ones((1, 0), bool), None)
    shape = np.zeros(len(file.codes), dtype=np.int64) if number is None else number.ravel().astype(np.int64)
    return [[q for q, has in zip(own, pattern, strict=True) if has] for pattern in patterns], shape


def _sorted_out(
    factors: Sequence[Factor], sides: Sequence[set[int]]
) -> tuple[list[Factor], list[Factor], list[Factor]]:
    """Tables that need only Alice's values, only Bob's, and both."""
    found: tuple[list[Factor], list[Factor], list[Factor]] = ([], [], [])
    for factor in factors:
        own = [set(factor.variables) <= side for side in sides]
        found[0 if own[0] else 1 if own[1] else 2].append(factor)
    return found


def _looked_up(factors: Sequence[Factor], codes: I32) -> F64:
    """Sum of the logarithms of some tables at each configuration; 0 where a key that they need is missing."""
    total = np.zeros(len(codes))
    for factor in factors:
        cells = codes[:, list(factor.variables)]
        there = (cells >= 0).all(axis=1)
        with np.errstate(divide="ignore"):
            total[there] += np.log(factor.look_up(cells[there]))
    return total


def _joint_layout(
    keys: Sequence[int], n_shapes_b: int, plans: Sequence[Sequence[Factor]], of_bob: set[int], alone: Sequence[AloneKey]
) -> JointLayout:
    """The joint tables of all plans, dense and in a row, equal ones once, and how to find their cells."""
    laid: dict[int, int] = {}
    flat: list[F64] = [np.zeros(1)]
    size = 1
    factor_start, table_start, variable_start = [0], [], [0]
    variables: list[tuple[bool, int, int]] = []
    for factors in plans:
        for factor in factors:
            if id(factor) not in laid:
                with np.errstate(divide="ignore"):
                    dense = np.log(factor.table(TABLE_LIMIT)).ravel()
                laid[id(factor)] = size
                flat.append(dense)
                size += len(dense)
            table_start.append(laid[id(factor)])
            for i, v in enumerate(factor.variables):
                variables.append((v not in of_bob, v, math.prod(factor.levels[i + 1 :])))
            variable_start.append(len(variables))
        factor_start.append(len(table_start))
    factors_alone = [key.log_factors for key in alone]
    alone_start = np.cumsum([0, *(len(factors) for factors in factors_alone)])[:-1]
    return JointLayout(
        np.array(keys, dtype=np.int64), n_shapes_b, np.array(factor_start, dtype=np.int64),
        np.array(table_start, dtype=np.int64), np.array(variable_start, dtype=np.int64),
        np.array(variables, dtype=np.int64).reshape(-1, 3), tables=np.concatenate(flat),
        alone_start=alone_start.astype(np.int64), alone_factors=np.concatenate([*factors_alone, np.zeros(1)]),
    )  # fmt: skip
