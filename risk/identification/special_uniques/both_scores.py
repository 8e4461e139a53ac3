"""Special uniques in an assessment: how many of which size, what keys and categories add, by both scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.special_uniques.suda import minimal_uniques
from gemel.risk.identification.special_uniques.suda_ranking import SudaScores, suda_scores

_CATEGORIES = 20  # listed


@dataclass(frozen=True)
class BothScores:
    """The IS metric and the SUDA score of 2002 of the same minimal sample uniques."""

    is_scores: SudaScores
    suda: SudaScores

    @classmethod
    def of(cls, file: KeyFile, max_size: int) -> BothScores:
        """Find the minimal uniques once, and score them both ways."""
        found = minimal_uniques(file, max_size)
        return cls(suda_scores(file, "is", found=found), suda_scores(file, "suda", found=found))

    @property
    def scores(self) -> dict[str, NDArray[np.float64]]:
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
        """Sizes of the minimal uniques, and contributions of the keys and of the categories that add most."""
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
