"""Two small files with people in common, as signatures made at random: no cleaning, no keys."""

from __future__ import annotations

import numpy as np
import pytest

from gemel.carole.engine import FieldPlan, Linkage, LinkagePlan, RulePlan
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet
from tests.carole.engine.runs import run

BOUNDS = (0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.999, 1.0)
FIELDS = {"given": 128, "family": 192, "born": 64, "town": 256}
DESCRIBES = {"given": "name", "family": "family", "born": "birth", "town": "household"}
N_VALUES = {"given": 30, "family": 60, "born": 90, "town": 12}


class TwoFiles:
    """Files of `n_a` and `n_b` rows whose first `n_common` rows are the same people."""

    def __init__(self, seed: int, n_a: int, n_b: int, n_common: int) -> None:
        rng = np.random.default_rng(seed)
        sides: list[dict[str, FieldSignatures]] = [{}, {}]
        blocks: list[dict[str, np.ndarray]] = [{}, {}]
        for name, bits in FIELDS.items():
            n = N_VALUES[name]
            pool = rng.integers(0, 2**64, (3 * n, bits // 64), dtype=np.uint64)
            # Some values resemble others: three quarters of their bits are the same, or most of them.
            flips = rng.integers(0, 2**64, (2 * n, bits // 64), dtype=np.uint64)
            flips &= rng.integers(0, 2**64, (2 * n, bits // 64), dtype=np.uint64)
            flips[n:] &= rng.integers(0, 2**64, (n, bits // 64), dtype=np.uint64)
            pool[n:] = np.tile(pool[:n], (2, 1)) ^ flips
            a = rng.integers(0, n, n_a)
            b = rng.integers(0, n, n_b)
            b[:n_common] = np.where(rng.random(n_common) < 0.1, a[:n_common] + n, a[:n_common])
            for side, values in enumerate((a, b)):
                values[rng.random(len(values)) < 0.05] = -1
                used, codes = np.unique(values[values >= 0], return_inverse=True)
                column = np.full(len(values), -1, dtype=np.int32)
                column[values >= 0] = codes
                sides[side][name] = FieldSignatures(bits, pool[used], column)
                blocks[side][name] = (values + 1).astype(np.uint64)
        self.a = SignatureSet("", n_a, sides[0], {"by-family": blocks[0]["family"], "by-born": blocks[0]["born"]})
        self.b = SignatureSet("", n_b, sides[1], {"by-family": blocks[1]["family"], "by-born": blocks[1]["born"]})
        self.n_common = n_common
        self._runs: dict[LinkagePlan, Linkage] = {}

    def linked(self, **settings) -> Linkage:
        """A run under such a plan; made once, and read by several tests."""
        plan = self.plan(**settings)
        if plan not in self._runs:
            self._runs[plan] = run(self.a, self.b, plan)
        return self._runs[plan]

    @staticmethod
    def plan(*, blocked: bool = False, **settings) -> LinkagePlan:
        """All fields, and both rules or none."""
        rules = (RulePlan("by-family", ("family",)), RulePlan("by-born", ("born",))) if blocked else ()
        fields = tuple(FieldPlan(n, bits, BOUNDS, describes=DESCRIBES[n]) for n, bits in FIELDS.items())
        return LinkagePlan(fields, rules, **settings)


@pytest.fixture(scope="session")
def files() -> TwoFiles:
    return TwoFiles(1, 400, 350, 200)
