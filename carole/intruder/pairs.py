"""Every pair of a known person and a released record, in parts, by the pattern of agreement of their keys.

People with the same keys have the same patterns, so distinct combinations are compared once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gemel.carole.extended_latent.pairs import Result, Visit
from gemel.carole.fellegi_sunter.patterns import MISSING, PatternCounts
from gemel.carole.intruder.files import AttackedFiles
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.progress import StageProgress
from gemel.risk.models.counts import distinct_rows

MAX_PAIRS = 400_000_000
_PART = 1 << 20
_MAX_KEYS = 18
BOUNDS = (0.5, 1.0)
"""Levels of a key: differs, agrees."""


class AllPairs:
    """The product of both files.

    Parameters
    ----------
    files
        The files to compare.

    Raises
    ------
    GemelError
        More than `MAX_PAIRS` pairs, or more than 18 keys.

    Notes
    -----
    O(distinct combinations of the one times those of the other) to count patterns, and O(pairs) to visit them.
    """

    def __init__(self, files: AttackedFiles) -> None:
        keys = list(files.keys)
        self._n_b = len(files.released)
        self.n_pairs = len(files.known) * self._n_b
        if self.n_pairs > MAX_PAIRS:
            raise GemelError(
                ErrorCode.MEMORY,
                f"more than {MAX_PAIRS:,} pairs",
                where="files",
                got=f"{self.n_pairs:,}",
                remedy="attack a sample of the known people: the risk per person does not depend on their number",
            )
        if len(keys) > _MAX_KEYS:
            raise parameter("keys", f"at most {_MAX_KEYS} keys", str(len(keys)))
        levels = [files.levels[q] + 1 for q in keys]
        a, b = files.known[:, keys], files.released[:, keys]
        first_a, self._of_a = distinct_rows(a + 1, levels)
        first_b, self._of_b = distinct_rows(b + 1, levels)
        self._distinct_a, self._distinct_b = a[first_a], b[first_b]
        weight_a, weight_b = np.bincount(self._of_a), np.bincount(self._of_b)
        totals = np.zeros(3 ** len(keys), dtype=np.int64) if len(keys) <= 12 else None
        found: dict[int, int] = {}
        step = max(1, _PART // len(first_b))
        for start in range(0, len(first_a), step):
            code = self._pattern_codes(slice(start, start + step))
            weight = weight_a[start : start + step, None] * weight_b
            if totals is not None:
                totals += np.bincount(code.ravel(), weight.ravel(), len(totals)).astype(np.int64)
                continue
            own, inverse = np.unique(code, return_inverse=True)
            sums = np.bincount(inverse.ravel(), weight.ravel()).astype(np.int64)
            for pattern, count in zip(own.tolist(), sums.tolist(), strict=True):
                found[pattern] = found.get(pattern, 0) + count
        if totals is not None:
            self._codes = np.flatnonzero(totals)
            counts = totals[self._codes]
        else:
            self._codes = np.array(sorted(found), dtype=np.int64)
            counts = np.array([found[x] for x in self._codes.tolist()], dtype=np.int64)
        gamma = np.stack([self._codes // 3**q % 3 - 1 for q in range(len(keys))], axis=1).astype(np.int8)
        self.patterns = PatternCounts(gamma, np.zeros(len(gamma), dtype=np.uint32), counts)

    def _pattern_codes(self, rows: slice) -> NDArray[np.int64]:
        """The pattern of each distinct combination of A in `rows` with each of B: a digit for each key, missing 0."""
        code = np.zeros((len(self._distinct_a[rows]), len(self._distinct_b)), dtype=np.int64)
        for q in range(self._distinct_a.shape[1]):
            a, b = self._distinct_a[rows, q][:, None], self._distinct_b[:, q]
            level = np.where((a < 0) | (b < 0), MISSING, a == b)
            code += 3**q * (level + 1)
        return code

    def map(self, visit: Visit[Result], progress: StageProgress) -> Iterator[Result]:
        """Visit every part once, in the order of the known people."""
        n_a = len(self._of_a)
        step = max(1, _PART // max(self._n_b, len(self._distinct_b)))
        columns = np.arange(self._n_b, dtype=np.int32)
        for start in range(0, n_a, step):
            rows = np.arange(start, min(start + step, n_a), dtype=np.int32)
            own, place = np.unique(self._of_a[rows], return_inverse=True)
            code = np.concatenate([self._pattern_codes(slice(x, x + 1)) for x in own.tolist()])
            pattern = np.searchsorted(self._codes, code).astype(np.int32)[place][:, self._of_b]
            yield visit(np.repeat(rows, self._n_b), np.tile(columns, len(rows)), pattern.ravel())
            progress((start + len(rows)) / n_a)
