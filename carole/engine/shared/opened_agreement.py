"""Agreement of random pairs of records in mode shared: from the levels of the samples' pairs, opened without order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.run.packing import Packing
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.plan_parts import FieldPlan
from gemel.carole.engine.shared.opened_levels import OpenedRun, packed_vectors
from gemel.carole.fellegi_sunter.dependence import OutsideBlocks
from gemel.common.progress import StageProgress


class OpenedAgreement:
    """The `ChanceAgreement` of mode shared.

    Parameters
    ----------
    opened : OpenedRun
    n_records : pair of int
        Records of the two files.
    plan : LinkagePlan
    packing : Packing
    """

    def __init__(self, opened: OpenedRun, n_records: tuple[int, int], plan: LinkagePlan, packing: Packing) -> None:
        self._opened, self._n_records, self._plan, self._packing = opened, n_records, plan, packing

    def levels(self, progress: StageProgress) -> NDArray[np.float64]:
        """Numbers of pairs by comparison and level: what `sample_groups.grouped_levels` counts of the same samples."""
        plan, random = self._plan, self._opened.random
        counts = np.zeros((len(plan.compared), max(len(field.bounds) for field in plan.compared)))
        position = {field.name: q for q, field in enumerate(plan.fields)}
        for q, field in enumerate(plan.compared):
            if q in plan.presence:
                both = int(np.count_nonzero(random.present[:, position[plan.present[q - plan.presence.start]]]))
                counts[q, :2] = len(random.level) - both, both
                continue
            level = random.exchange[:, q - plan.swapped.start] if q in plan.swapped else random.level[:, q]
            counts[q, : len(field.bounds)] = np.bincount(level[level >= 0], minlength=len(field.bounds))
        progress(1.0)
        return counts

    def outside_blocks(self) -> OutsideBlocks:
        """The vectors of the samples' pairs, in the place of all pairs that blocking leaves out.

        Notes
        -----
        Mode block_keyed draws millions of pairs from these same ones. Each field of the samples is drawn by itself, so
        that fields are independent in them.
        """
        n_a, n_b = self._n_records
        code, count = np.unique(packed_vectors(self._opened.random, self._plan, self._packing), return_counts=True)
        scale = n_a * n_b / max(1, int(count.sum()))
        return OutsideBlocks(self._packing.unpack(code), count.astype(np.float64) * scale, scale)

    def missing(self) -> dict[str, tuple[float, float]]:
        """Per comparison the share of the samples' rows of A and of B without a value."""
        plan = self._plan
        position = {field.name: q for q, field in enumerate(plan.fields)}

        def shares(*names: str) -> tuple[float, float]:
            places = [position[name] for name in names]
            a, b = (float((~values[:, places]).any(axis=1).mean()) for values in self._opened.sample_values)
            return a, b

        found = {field.name: shares(field.name) for field in plan.fields}
        found |= {plan.compared[q].name: shares(*names) for names, q in zip(plan.swaps, plan.swapped, strict=True)}
        return found | {plan.compared[q].name: (0.0, 0.0) for q in plan.presence}

    def strangers(self, field: FieldPlan) -> float:
        """The share of the samples' pairs with the check field that agree in it."""
        checked = self._opened.random.checked
        assert checked is not None  # noqa: S101 - compared where the plan has a check field
        there = int(np.count_nonzero(checked >= 0))
        return float(np.count_nonzero(checked == 1)) / there if there else 0.0
