"""Two small files drawn from a known model, compared and fitted: what the extended step starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemel.carole.evaluation.link_quality import expected_precision_recall
from gemel.carole.extended_latent import ArrayPairs, ExtendedFit, Values, Variable, fit_extended
from gemel.carole.fellegi_sunter.model import PatternCounts
from gemel.carole.fellegi_sunter.schemes import FittedScheme, fit_scheme
from gemel.carole.fellegi_sunter.settings import Estimation
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.fitted import FittedModel, fit
from gemel.risk.models.graphs import Graph
from gemel.risk.models.queries import sample
from tests.carole.fellegi_sunter.populations import counted_vectors

VARIABLES = (
    Variable("income", "alice", 3),
    Variable("school", "alice", 2),
    Variable("job", "bob", 3),
    Variable("car", "bob", 3),
    Variable("town", "both", 4),
    Variable("name", "both", 80),
)
BOUNDS = ((0.5, 1.0), (0.5, 1.0))


def population(strength: float = 0.8) -> FittedModel:
    """The known model of all variables but the name: a chain of strong dependences."""
    names = tuple(v.name for v in VARIABLES[:-1])
    levels = tuple(v.levels for v in VARIABLES[:-1])
    rng = np.random.default_rng(17)
    records = np.zeros((40_000, len(names)), dtype=np.int32)
    records[:, 0] = rng.integers(0, 3, len(records))
    for q, source in ((1, 0), (2, 0), (3, 2), (4, 2)):
        other = rng.integers(0, levels[q], len(records))
        records[:, q] = np.where(rng.random(len(records)) < strength, records[:, source] % levels[q], other)
    counts = SparseCounts.from_records(records, levels, names)
    graph = Graph.from_edges(
        names, [(names[1], names[0]), (names[2], names[0]), (names[3], names[2]), (names[4], names[2])]
    )
    return fit(counts, graph, "posterior mean")


@dataclass(frozen=True)
class Linked:
    """Files, pairs, patterns and Fellegi-Sunter's fit."""

    values: Values
    pairs: ArrayPairs
    patterns: PatternCounts
    fitted: FittedScheme
    truth: NDArray[np.bool_]
    people: NDArray[np.int32]

    @property
    def gamma(self) -> NDArray[np.int8]:
        """The comparison vector of each pair."""
        return self.patterns.gamma[self.pairs.pattern]

    @property
    def rows(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        return self.pairs.row_a, self.pairs.row_b

    def fit(self, values: Values | None = None, **options: Any) -> ExtendedFit:
        """The extended step on these files, or on other values of them."""
        bounds = BOUNDS[:1] * self.patterns.n_fields
        return fit_extended(values or self.values, self.pairs, self.patterns, self.fitted, bounds, **options)

    def area(self, score: NDArray[np.float64]) -> float:
        """Area under the curve of precision and recall."""
        return expected_precision_recall(score, self.truth, int(self.truth.sum())).auc


def of_columns(values: Values, kept: Sequence[int]) -> Values:
    """The same files with some of the variables."""
    columns = list(kept)
    codes = (np.ascontiguousarray(codes[:, columns]) for codes in (values.codes_a, values.codes_b))
    return Values(tuple(values.variables[v] for v in columns), *codes)


def linked_files(
    n: int,
    rng: np.random.Generator,
    *,
    error: float = 0.15,
    missing: float = 0.0,
    u: str = "corrected",
    names: int = 80,
    dates: int = 0,
) -> Linked:
    """`n` people, 60 % of them in A and 60 % in B; keys of B are wrong with probability `error`; `names` names.

    With `dates`, a date without errors that is no variable is compared too.
    """
    people = np.zeros((n, len(VARIABLES)), dtype=np.int32)
    people[:, :-1] = sample(population(), n, rng)
    people[:, -1] = np.minimum(rng.geometric(4 / names, n) - 1, names - 1)
    variables = (*VARIABLES[:-1], Variable("name", "both", names))
    in_a, in_b = rng.permutation(n)[: int(0.6 * n)], rng.permutation(n)[: int(0.6 * n)]
    a, b = people[in_a].copy(), people[in_b].copy()
    for q in (4, 5):
        wrong = rng.random(len(b)) < error
        b[wrong, q] = rng.integers(0, variables[q].levels, int(wrong.sum()))
    for q, variable in enumerate(VARIABLES):
        if variable.holder == "bob":
            a[:, q] = -1
        elif variable.holder == "alice":
            b[:, q] = -1
    for codes in (a, b):
        codes[rng.random(codes.shape) < missing] = -1
    values = Values(variables, a, b)
    row_a, row_b = (rows.ravel().astype(np.int32) for rows in np.indices((len(a), len(b))))
    keys_a, keys_b = a[row_a][:, 4:], b[row_b][:, 4:]
    gamma = np.where((keys_a < 0) | (keys_b < 0), -1, keys_a == keys_b).astype(np.int8)
    compared = ["town", "name"]
    if dates:
        date = rng.integers(0, dates, n)
        gamma = np.column_stack([gamma, (date[in_a][row_a] == date[in_b][row_b]).astype(np.int8)])
        compared.append("date")
    patterns, pattern = counted_vectors(gamma)
    fitted = fit_scheme(
        "multinomial", patterns, compared, BOUNDS[:1] * len(compared), len(a), len(b),
        Estimation(u=u, refuse_unidentified=False),  # type: ignore[arg-type]
    )  # fmt: skip
    pairs = ArrayPairs(row_a, row_b, pattern.astype(np.int32))
    return Linked(values, pairs, patterns, fitted, in_a[row_a] == in_b[row_b], people)
