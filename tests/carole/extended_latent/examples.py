"""Value models and files that several tests of the extended latent step use."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from gemel.carole.extended_latent import AloneKey, ValueModel, Values, Variable
from gemel.risk.models.fitted import FittedModel, fit
from tests.risk.models.examples import counts_of_table, random_decomposable

HOLDERS = ("alice", "bob", "both")


def random_variables(rng: np.random.Generator, maximum: int = 5, alone: bool = True) -> tuple[Variable, ...]:
    """One to `maximum` variables of two or three levels, held by anyone; a key may stand alone."""
    found = []
    for v in range(int(rng.integers(1, maximum + 1))):
        holder = HOLDERS[int(rng.integers(3))]
        apart = bool(alone and holder == "both" and rng.random() < 0.3)
        found.append(Variable(f"v{v}", holder, int(rng.integers(2, 4)), apart))
    return tuple(found)


def random_model(names: tuple[str, ...], levels: tuple[int, ...], rng: np.random.Generator) -> FittedModel:
    """A decomposable model with random probabilities."""
    counts = counts_of_table(rng.gamma(0.7, size=levels) + 1e-3, names)
    drawn = random_decomposable(len(names), rng, 8) if len(names) > 1 else random_decomposable(1, rng, 0)
    return fit(counts, type(drawn)(drawn.adjacency, names))


def random_value_model(variables: tuple[Variable, ...], rng: np.random.Generator, separate: bool) -> ValueModel:
    """A value model over them; with separate models of each file where requested and possible."""
    joint = [v for v in variables if not v.stands_alone]
    alone = []
    for column, variable in enumerate(variables):
        if variable.stands_alone:
            alone.append(AloneKey(column, rng.dirichlet(np.ones(variable.levels))))

    def model_of(*holders: str) -> FittedModel | None:
        kept = [v for v in joint if v.holder in holders]
        return random_model(tuple(v.name for v in kept), tuple(v.levels for v in kept), rng) if kept else None

    match = model_of(*HOLDERS)
    sides = [model_of(side, "both") for side in ("alice", "bob")] if separate else [None, None]
    if match is None or None in sides:
        return ValueModel(match, match, match, tuple(alone))
    return ValueModel(match, sides[0], sides[1], tuple(alone))


def every_row(variables: tuple[Variable, ...], side: str, missing: bool = False) -> NDArray[np.int32]:
    """All combinations of codes that a file may hold."""
    ranges = [
        range(-1 if missing else 0, variable.levels) if variable.holder in (side, "both") else (-1,)
        for variable in variables
    ]
    return np.array(list(product(*ranges)), dtype=np.int32).reshape(-1, len(variables))


def all_pairs(values: Values) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Every pair of rows."""
    a, b = (rows.ravel().astype(np.int32) for rows in np.indices((values.n_a, values.n_b)))
    return a, b
