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
from dataclasses import dataclass
from itertools import product

import numpy as np

from gemel.carole.arrays import F64, I32, I64, Ints
from gemel.carole.extended_latent.bayes_factor import ValueModel, columns_of, log_agreement, renamed
from gemel.carole.extended_latent.kernels import FileLayout, JointLayout, pair_factors
from gemel.carole.extended_latent.variables import Configurations, Values
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
            raise GemelError(
                ErrorCode.MEMORY,
                "the value model has too many dependent variables for a key or value that is not known to be summed "
                "out",
                where="latent",
                got=f"a table of {cost[v]} cells",
                remedy="use fewer variables or levels, or let a key stand alone",
            )
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
        self.model, self.values = model, values
        alone = [key.log_factors for key in model.alone]
        columns = [key.column for key in model.alone]
        file, joint = _no_joint_model()
        self._alice, self._bob = (
            file._replace(alone=np.ascontiguousarray(codes[:, columns])) for codes in (values.codes_a, values.codes_b)
        )
        starts = np.cumsum([0, *(len(factors) for factors in alone)])[:-1].astype(np.int64)
        self._joint = joint._replace(alone_start=starts, alone_factors=np.concatenate([*alone, np.zeros(1)]))
        if model.match is not None and model.alice is not None and model.bob is not None:
            self._prepare(model.match, model.alice, model.bob)

    def log(self, row_a: Ints, row_b: Ints, result: F64 | None = None) -> F64:
        """Natural log Bayes factor of each pair, between -700 and 700; shape (n_pairs,). Any number of threads."""
        result = np.empty(len(row_a)) if result is None else result[: len(row_a)]
        rows = np.ascontiguousarray(row_a, dtype=np.int32), np.ascontiguousarray(row_b, dtype=np.int32)
        pair_factors(*rows, self._alice, self._bob, self._joint, result)
        return result

    def _prepare(self, match: FittedModel, alice: FittedModel, bob: FittedModel) -> None:
        """Lay out the tables of every case: the shapes of two configurations, and the keys that agree."""
        values, names = self.values, self.values.model_names
        keys = [q for q, v in enumerate(values.model_columns) if values.variables[v].is_key]
        sets = [[k for i, k in enumerate(keys) if s >> i & 1] for s in range(1 << len(keys))]
        # Tables refer to the model's variables; from here on a variable is its column among the configurations.
        place = {v: names.index(str(name)) for v, name in enumerate(match.names)}
        potentials = [renamed(factor, place) for factor in conditionals(match)]
        a, b = (
            _Side(model, file, _own(values, side), sets, names)
            for model, file, side in zip((alice, bob), values.configurations, SIDES, strict=True)
        )
        eliminations: dict[tuple[int, ...], list[Factor]] = {}
        plans = []
        for (in_a, known_a), (in_b, known_b) in product(enumerate(a.shapes.known), enumerate(b.shapes.known)):
            for s, agree in enumerate(sets):
                unknown = tuple(q for q in range(len(names)) if q not in (*known_a, *known_b, *agree))
                if unknown not in eliminations:
                    eliminations[unknown] = eliminated(potentials, unknown, values.model_levels)
                of_a, of_b, of_both = _sorted_out(eliminations[unknown], [{*known_a, *agree}, {*known_b, *agree}])
                plans.append(of_both)
                a.add_terms(of_a, in_a, s)
                b.add_terms(of_b, in_b, s, log_agreement(self.model, [names[k] for k in agree]))
        self._alice, self._bob = a.layout(self._alice.alone), b.layout(self._bob.alone)
        self._joint = _with_tables(self._joint, plans, set(b.own))._replace(
            keys=np.array(keys, dtype=np.int64), n_shapes_b=len(b.shapes.known)
        )


class _Side:
    """One file's configurations, their shapes, and what its own values contribute to each case."""

    def __init__(
        self, model: FittedModel, file: Configurations, own: Sequence[int], sets: Sequence[Sequence[int]],
        names: Sequence[str],
    ) -> None:  # fmt: skip
        self.file, self.own, self.shapes = file, own, _shapes(file, own)
        self._terms: list[F64] = []
        # log P(own values, x_S) of each configuration, for each set S of keys.
        self._marginals = []
        for agree in sets:
            kept = {*own, *agree}
            known = np.where([q in kept for q in range(file.codes.shape[1])], file.codes, -1).astype(np.int32)
            self._marginals.append(model.log_marginal(columns_of(model, known, names)))

    def add_terms(self, factors: Sequence[Factor], shape: int, s: int, constant: float = 0.0) -> None:
        """Of the configurations of a shape, where the keys of the set of number s agree."""
        rows = self.shapes.members[shape]
        above, below = _looked_up(factors, self.file.codes[rows]), self._marginals[s][rows]
        with np.errstate(invalid="ignore"):
            self._terms.append(np.where(np.isneginf(below), -np.inf, above - below) + constant)

    def layout(self, alone: I32) -> FileLayout:
        starts = np.cumsum([0, *(len(terms) for terms in self._terms)])[:-1].astype(np.int64)
        shapes = self.shapes
        return FileLayout(
            self.file.of_row, self.file.codes, shapes.of_row, shapes.rank, np.concatenate(self._terms), starts, alone
        )


SIDES = ("alice", "bob")


def check_cases(values: Values) -> None:
    """Raise `GemelError` (MEMORY) if there are too many combinations of missing variables and agreeing keys."""
    sides = zip(SIDES, values.configurations, strict=True)
    n_shapes = [len(_shapes(file, _own(values, side)).known) for side, file in sides]
    n_sets = 1 << len(values.model_keys)
    if n_shapes[0] * n_shapes[1] * n_sets > MAX_PLANS:
        raise GemelError(
            ErrorCode.MEMORY,
            f"more than {MAX_PLANS} combinations of missing variables and agreeing keys",
            where="latent",
            got=f"{n_shapes[0]} and {n_shapes[1]} sets of variables that records have, {n_sets} sets of keys",
            remedy="make missing a separate category, or let keys stand alone",
        )


def _own(values: Values, side: str) -> list[int]:
    """The configurations' columns of the variables that only one side holds."""
    return [q for q, v in enumerate(values.model_columns) if values.variables[v].holder == side]


@dataclass(frozen=True)
class _Shapes:
    """Which of its own variables each configuration of a file has."""

    known: list[list[int]]
    of_row: I64
    rank: I64
    members: list[I64]


def _shapes(file: Configurations, own: Sequence[int]) -> _Shapes:
    there = file.codes[:, list(own)] >= 0
    if not len(file.codes):
        there = np.ones((0, len(own)), dtype=np.bool_)
    patterns, number = np.unique(there, axis=0, return_inverse=True) if own else (np.ones((1, 0), bool), None)
    of_row = np.zeros(len(file.codes), dtype=np.int64) if number is None else number.ravel().astype(np.int64)
    members = [np.flatnonzero(of_row == i) for i in range(len(patterns))]
    rank = np.zeros(len(file.codes), dtype=np.int64)
    for rows in members:
        rank[rows] = np.arange(len(rows))
    known = [[q for q, has in zip(own, pattern, strict=True) if has] for pattern in patterns]
    return _Shapes(known, of_row, rank, members)


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


def _with_tables(layout: JointLayout, plans: Sequence[Sequence[Factor]], of_bob: set[int]) -> JointLayout:
    """A layout with the joint tables of all plans, dense and in a row, equal ones once, and how to find their cells."""
    laid: dict[int, int] = {}
    kept: list[Factor] = []  # so that a table's identity is not reused
    flat: list[F64] = [np.zeros(1)]
    size = 1
    factor_start, table_start, variable_start = [0], [], [0]
    of_a: list[bool] = []
    column: list[int] = []
    stride: list[int] = []
    for factors in plans:
        for factor in factors:
            if id(factor) not in laid:
                with np.errstate(divide="ignore"):
                    dense = np.log(factor.table(TABLE_LIMIT)).ravel()
                laid[id(factor)] = size
                kept.append(factor)
                flat.append(dense)
                size += len(dense)
            table_start.append(laid[id(factor)])
            column += factor.variables
            of_a += [v not in of_bob for v in factor.variables]
            stride += [math.prod(factor.levels[i + 1 :]) for i in range(len(factor.levels))]
            variable_start.append(len(column))
        factor_start.append(len(table_start))
    return layout._replace(
        factor_start=np.array(factor_start, dtype=np.int64),
        table_start=np.array(table_start, dtype=np.int64),
        variable_start=np.array(variable_start, dtype=np.int64),
        of_a=np.array(of_a, dtype=np.bool_),
        column=np.array(column, dtype=np.int64),
        stride=np.array(stride, dtype=np.int64),
        tables=np.concatenate(flat),
    )


def _no_joint_model() -> tuple[FileLayout, JointLayout]:
    rows, codes, numbers, reals = np.zeros(0, np.int32), np.zeros((0, 0), np.int32), np.zeros(0, np.int64), np.zeros(0)
    return (
        FileLayout(rows, codes, numbers, numbers, reals, numbers, codes),
        JointLayout(
            numbers, 1, numbers, numbers, numbers, np.zeros(0, np.bool_), numbers, numbers, reals, numbers, reals
        ),
    )
