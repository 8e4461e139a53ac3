"""Empty statistics of a run, for tests that need some and do not check them."""

from __future__ import annotations

from gemel.common.documents.model_document import StatisticsDocument

NO_STATISTICS = StatisticsDocument.of(
    {
        "model": {
            "fields": [],
            "p": 0.5,
            "expected_matches": 0.0,
            "u_method": "free",
            "iterations": 0,
            "converged": True,
            "warnings": [],
        },
        "linkage": {
            "pairs": 0,
            "candidates": 0,
            "kept": 0,
            "links": 0,
            "records": {"alice": 0, "bob": 0},
            "unlinked": {"alice": 0, "bob": 0},
            "threshold": 0.5,
            "histogram": {"edges": [0.0, 1.0], "counts": [0]},
            "blocking": None,
        },
        "timings": {"stages": []},
        "warnings": [],
    },
    "statistics",
)
