"""The default search: exact where that is possible, MC3 elsewhere."""

from __future__ import annotations

import numpy as np

from gemel.risk.models.enumeration import enumerate_models
from gemel.risk.models.mc3_search import mc3
from gemel.risk.models.result import SearchResult
from gemel.risk.models.scores import HyperDirichlet

EXACT_TO = 6


def search(scores: HyperDirichlet, rng: np.random.Generator, *, moves: int = 250_000, chains: int = 4) -> SearchResult:
    """The posterior over decomposable models: by enumeration to six variables, by MC3 above (`moves`, `chains`).

    Look at `r_hat` and `edge_spread` of a sampled result before relying on it.
    """
    if len(scores) <= EXACT_TO:
        return enumerate_models(scores)
    return mc3(scores, rng, moves=moves, chains=chains)
