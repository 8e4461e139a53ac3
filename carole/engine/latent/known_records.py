"""What is known of the joint distribution beforehand, for the extended latent step: training records, or its cells.

A custodian brings them as codes, in sets of their own (`custodian.encoding.categories`). Here they get the columns
of a run's value model, which may lack a variable of theirs, and has keys that they do not have.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.run.archive import Arrays, array_of
from gemel.carole.engine.run.plan_parts import LatentPlan
from gemel.carole.extended_latent import ExtendedSettings, Values
from gemel.carole.extended_latent.estimation import SATURATED_CELLS, found_graph
from gemel.common.signatures.layout import JOINT, TRAINING
from gemel.common.signatures.signature_sets import MISSING, SignatureSet, check_counts, check_range
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.fitted import FittedModel, fit
from gemel.risk.models.graphs import complete_graph

SHARES_WORTH = 1e6
"""People that a distribution of shares is worth; counts are as many as they say."""

_NAMES = ("training", "joint_cells", "joint_counts")
"""Of the arrays in an archive."""

_ONE = 1e-5
"""How far from 1 shares may sum."""

PRECISION = 1.0
"""Prior precision of a known distribution: a person, spread evenly over all cells, so that none is impossible."""


@dataclass(frozen=True)
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

    training: NDArray[np.int32] | None = field(default=None, repr=False)
    cells: NDArray[np.int32] | None = field(default=None, repr=False)
    counts: NDArray[np.float64] | None = field(default=None, repr=False)

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
        """Memory held."""
        return sum(array.nbytes for array in (self.training, self.cells, self.counts) if array is not None)

    def arrays(self) -> Arrays:
        """Them by name, for an archive of a resolution."""
        held = zip(_NAMES, (self.training, self.cells, self.counts), strict=True)
        return {name: array for name, array in held if array is not None}

    @classmethod
    def of_arrays(cls, arrays: Arrays, latent: LatentPlan) -> KnownRecords:
        """Those of an archive from another party, checked."""
        found: dict[str, NDArray[np.int32]] = {}
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

    def training_for(self, values: Values, latent: LatentPlan) -> NDArray[np.int32] | None:
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
        above that, those of the graph that a search finds in them.

        Notes
        -----
        O(n_cells log n_cells), and the table of all cells.
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


def _columns(part: SignatureSet, latent: LatentPlan) -> NDArray[np.int32]:
    found = np.full((part.n_rows, len(latent.variables)), MISSING, dtype=np.int32)
    for column, variable in enumerate(latent.variables):
        if variable.name in part.variables:
            found[:, column] = part.variables[variable.name].codes
    return found
