"""What minimal sample uniques are worth: the SUDA score, the IS metric, and both calibrated to the file's DIS.

IS ranks by how many paths lead from a minimal unique to all keys, (ATT - s)! for a size of s of ATT keys; POL, the
proportion of lattice, is IS over ATT!, its greatest value, and ranks alike. The SUDA score of 2002 counts the sets of
keys that the minimal unique makes unique, over the minimal uniques of its size that there could be; it ranks otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, factorial
from typing import Any, Literal

import numpy as np

from gemel.common.errors import parameter
from gemel.risk.arrays import Floats
from gemel.risk.identification.file_level import file_dis
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.suda import MinimalUniques, minimal_uniques

Kind = Literal["is", "suda"]


@dataclass(frozen=True, eq=False)
class SudaScores:
    """Scores of the records and of what makes them risky.

    `scores` (float64, shape (n_records,)): 0 for records that are no sample unique. `dis`: DIS of the file, to which
    `dis_scores` are calibrated. `dis_scores` (float64, shape (n_records,)): DIS-IS (or DIS-SUDA): an approximate chance
    of a correct match; 0 for records that are no sample unique. `by_variable` (float64, shape (n_keys,)): share of the
    file's total score that comes from minimal uniques with the variable. They sum to more than 1. `by_category`: for
    each variable, the share that comes from minimal uniques with the variable, at each of its levels.
    """

    minimal_uniques: MinimalUniques
    kind: Kind
    scores: Floats
    dis: float
    dis_scores: Floats
    by_variable: Floats
    by_category: tuple[Floats, ...]

    @property
    def pol(self) -> Floats:
        """Proportion of lattice of each record, IS / ATT!, shape (n_records,): from 0 to 1; of IS scores only."""
        if self.kind != "is":
            raise parameter("kind", "POL is a form of IS", repr(self.kind))
        return np.asarray(self.scores / factorial(self.minimal_uniques.n_keys))

    def contributions(self, record: int) -> Floats:
        """Share of a record's score from minimal uniques with each key, shape (n_keys,); they sum to more than 1."""
        own = self.minimal_uniques
        part = own.place(record)
        worth = _worth(own.n_keys, self.kind)[own.sizes[part]]
        with_key = own.subsets[part, None] >> np.arange(own.n_keys) & 1 > 0
        return np.asarray(worth @ with_key / (worth.sum() or 1.0))


def _worth(n_keys: int, kind: Kind) -> Floats:
    """What a minimal unique of each size is worth, shape (n_keys + 1,)."""
    if kind == "is":
        return np.array([float(factorial(n_keys - s)) for s in range(n_keys + 1)])
    return np.array([(2.0 ** (n_keys - s) - 1.0) / comb(n_keys, s) for s in range(n_keys + 1)])


def calibrated(scores: Floats, dis: float, n_keys: int) -> Floats:
    r"""Scores of sample uniques as approximate match probabilities whose harmonic mean is the file's DIS.

    `scores` (float64, shape (n_uniques,)): positive scores of the sample uniques.

    Returns float64, shape (n_uniques,).

    :math:`D_i = 1 / (1 + w_i (U/D - U))` with U the number of uniques and :math:`w_i` proportional to
    :math:`S_i^{-Q}`, Q = 1 + (8 - K)/20. The sum of 1/D_i - 1 is therefore U (1/D - 1) whatever the scores. A score of
    0 (a SUDA score of a record unique on all keys only) takes all the weight: others get 1.

    References
    ----------
    .. [1] Smith, Aspects of statistical disclosure control, thesis, 2011, chapter 8.
    """
    if not len(scores):
        return np.zeros(0)
    if not 0.0 < dis <= 1.0:
        raise parameter("dis", "DIS must lie above 0 and be at most 1", f"{dis:g}")
    if (scores < 0).any():
        raise parameter("scores", "scores cannot be negative")
    lowest = scores.min()
    Q = 1.0 + (8.0 - n_keys) / 20.0
    if lowest == 0.0:
        shares = (scores == 0.0) / (scores == 0.0).sum()
    else:
        weights = (scores / lowest) ** -Q
        shares = weights / weights.sum()
    return np.asarray(1.0 / (1.0 + shares * (len(scores) / dis - len(scores))))


def suda_scores(
    file: KeyFile, kind: Kind = "is", max_size: int | None = None, found: MinimalUniques | None = None
) -> SudaScores:
    r"""Score every record by its minimal sample uniques.

    `kind`: ``is``: the sum of :math:`(ATT - s)!` over minimal uniques of size s; a unique none of whose minimal uniques
    is within the size limit gets 1, as if it were unique on all keys only. ``suda``: the score of 2002, the sum of
    :math:`(2^{ATT-s} - 1) / C(ATT, s)`.

    References
    ----------
    .. [1] Elliot, Manning and Ford, A computational algorithm for handling the special uniques problem, 2002.
    """
    if kind not in ("is", "suda"):
        raise parameter("kind", "a score is `is` or `suda`", repr(kind))
    own = minimal_uniques(file, max_size) if found is None else found
    worth = _worth(own.n_keys, kind)[own.sizes]
    of_unique = np.bincount(own.of_unique, worth, len(own.uniques)).astype(np.float64)
    total = float(worth.sum())
    if kind == "is":
        of_unique[np.diff(own.offsets) == 0] = 1.0
        total = float(of_unique.sum())
    dis = file_dis(file).value
    scores, chances = np.zeros(file.n_records), np.zeros(file.n_records)
    scores[own.uniques] = of_unique
    chances[own.uniques] = calibrated(of_unique, dis, own.n_keys)
    by_variable = np.zeros(own.n_keys)
    by_category = []
    for q in range(own.n_keys):
        with_key = own.subsets >> q & 1 > 0
        level = file.codes[own.uniques, q][own.of_unique[with_key]]
        sums = np.bincount(level, worth[with_key], file.levels[q]).astype(np.float64)
        by_category.append(sums / total if total > 0 else sums)
        by_variable[q] = by_category[-1].sum()
    return SudaScores(own, kind, scores, dis, chances, by_variable, tuple(by_category))


_CATEGORIES = 20  # listed


@dataclass(frozen=True)
class BothScores:
    is_scores: SudaScores
    suda: SudaScores

    @classmethod
    def of(cls, file: KeyFile, max_size: int) -> BothScores:
        found = minimal_uniques(file, max_size)
        return cls(suda_scores(file, "is", found=found), suda_scores(file, "suda", found=found))

    @property
    def scores(self) -> dict[str, Floats]:
        """Both scores by name, each of shape (n_records,); POL and DIS-IS rank as IS does."""
        return {"IS": self.is_scores.scores, "SUDA": self.suda.scores}

    def of_record(self, file: KeyFile, record: int) -> dict[str, Any]:
        """Scores of one record, and what share of its IS comes from minimal uniques with each key."""
        shares = self.is_scores.contributions(record)
        return {
            "minimal_uniques": len(self.is_scores.minimal_uniques.of_record(record)),
            "is_score": float(self.is_scores.scores[record]),
            "pol": float(self.is_scores.pol[record]),
            "dis_is": float(self.is_scores.dis_scores[record]),
            "suda": float(self.suda.scores[record]),
            "dis_suda": float(self.suda.dis_scores[record]),
            "contributions": {name: float(share) for name, share in zip(file.names, shares, strict=True)},
        }

    def document(self, file: KeyFile) -> dict[str, Any]:
        own = self.is_scores.minimal_uniques
        shares = sorted(
            (-float(share), name, label)
            for name, labels, of_level in zip(file.names, file.labels, self.is_scores.by_category, strict=True)
            for label, share in zip(labels, of_level, strict=False)
            if share > 0
        )
        both = zip(file.names, self.is_scores.by_variable, self.suda.by_variable, strict=True)
        return {
            "minimal_uniques": len(own.subsets),
            "max_size": own.max_size,
            "complete": own.complete,
            "by_size": own.by_size.tolist(),
            "by_variable": [{"variable": n, "is_share": float(i), "suda_share": float(s)} for n, i, s in both],
            "by_category": [
                {"variable": name, "category": label, "is_share": -share} for share, name, label in shares[:_CATEGORIES]
            ],
        }
