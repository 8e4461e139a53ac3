"""A linkage to report on, small enough to be checked by hand."""

from typing import Any

import numpy as np
import pytest

EM8 = [0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.999, 1.0]
M8 = [0.02, 0.01, 0.02, 0.03, 0.02, 0.03, 0.02, 0.85]
U8 = [0.9, 0.05, 0.03, 0.01, 0.005, 0.002, 0.001, 0.002]


def field(name: str, bounds: list[float], m: list[float], u: list[float]) -> dict[str, Any]:
    return {
        "name": name,
        "bounds": bounds,
        "m": m,
        "u": u,
        "weights": np.log2(np.array(m) / np.array(u)).tolist(),
        "missing": {"alice": 0.013, "bob": 0.25},
        "standard_errors": {"m": [None, *[0.0071] * (len(m) - 1)], "u": [None] * len(m)},
    }


CLAIMS = {
    "precision": {"value": 0.9981, "lower": 0.9902, "upper": 0.9996},
    "recall": {"value": 0.9931, "lower": 0.9704, "upper": 0.9962},
    "compared": {"value": 2000.0, "lower": 1980.0, "upper": 2041.0},
    "matches": {"value": 2000.0, "lower": 1980.0, "upper": 2041.0},
    "people": {"value": 2000.0, "lower": 1980.0, "upper": 2041.0},
    "candidates": {"value": 0.984, "lower": 0.951, "upper": 0.997},
}


@pytest.fixture
def documents() -> dict[str, Any]:
    """Documents of a run of 5,000 by 4,000 records, as JSON would give them."""
    return {
        "run": {
            "project": "demo",
            "mode": "open",
            "created": "2025-03-04T10:15:00+00:00",
            "version": "0.1.0",
            "specification_digest": "9f" * 32,
            "files": {"alice": {"title": "Alice", "records": 5000}, "bob": {"title": "Bob", "records": 4000}},
            "one_to_one": True,
        },
        "model": {
            "fields": [
                field("surname", EM8, M8, U8),
                field("sex", [0.9999, 1.0], [0.01, 0.99], [0.5, 0.5]),
                field("date_of_birth", [0.5, 0.9, 1.0], [0.02, 0.08, 0.9], [0.97, 0.0299, 0.0001]),
            ],
            "p": 1e-4,
            "standard_errors": {"p": 2.3e-6, "of": "standard errors: each match a draw"},
            "expected_matches": 2000.0,
            "u_method": "corrected",
            "history": {
                "step": [0, 10, 22],
                "p": [2e-4, 1.2e-4, 1e-4],
                "log_likelihood": [-9e7, -8.1e7, -8e7],
                "top_m": {"surname": [0.6, 0.8, 0.85], "sex": [0.9, 0.98, 0.99], "date_of_birth": [0.5, 0.88, 0.9]},
            },
            "iterations": 23,
            "converged": True,
            "warnings": [],
        },
        "linkage": {
            "pairs": 20_000_000,
            "candidates": 20_000_000,
            "kept": 2610,
            "links": 1990,
            "records": {"alice": 5000, "bob": 4000},
            "unlinked": {"alice": 3010, "bob": 2010},
            "threshold": 0.5,
            "floor": 1e-6,
            "claims": CLAIMS,
            "histogram": {
                "edges": [0, 5, 10, 15, 20, 25],
                "counts": [400, 200, 3, 0, 2007],
                "links": [0, 0, 2, 0, 1988],
            },
            "thresholds": [
                {"threshold": 0.1, "links": 2100, "precision": 0.951, "recall": 0.9971},
                {"threshold": 0.5, "links": 1990, "precision": 0.9981, "recall": 0.9931},
                {"threshold": 0.99, "links": 1803, "precision": 0.9999, "recall": 0.9012},
            ],
            "unlinkable": {
                "alice": {"at_decision": 12, "below": [[0.1, 0], [0.5, 12], [0.99, 40]]},
                "bob": {"at_decision": 0, "below": [[0.1, 0], [0.5, 0], [0.99, 7]]},
            },
            "examples": [
                {
                    "what": "the strongest",
                    "pairs": 1700,
                    "gamma": [7, 1, 2],
                    "prior": -13.3,
                    "weights": [8.7, 1.0, 9.8],
                    "together": 0.0,
                    "probability": 0.987,
                },
                {
                    "what": "the commonest",
                    "pairs": 9_000_000,
                    "gamma": [-1, 0, 0],
                    "prior": -13.3,
                    "weights": [0.0, -5.6, -5.6],
                    "together": 1.5,
                    "probability": 1e-7,
                },
            ],
            "duplicates": {"alice": {"equal": 4, "same_partner": 31}, "bob": {"equal": 0, "same_partner": 0}},
            "assignment": "one_to_one",
            "blocking": None,
            "patterns": [
                {"gamma": [0, 0, 0], "observed": 9_000_000, "expected": 9_000_100.0},
                {"gamma": [7, 1, 2], "observed": 1700, "expected": 1400.0},
                {"gamma": [-1, 1, 1], "observed": 7, "expected": 90.5},
            ],
        },
        "evaluation": {
            "matches": 2000,
            "at_decision": {
                "links": 1990,
                "true_links": 1985,
                "precision": 1985 / 1990,
                "recall": 0.9925,
                "f1": 0.99499,
            },
            "at_best": {"threshold": 0.99987, "precision": 0.998, "recall": 0.9935, "f1": 0.99574},
            "auc": 0.9971,
            "auc_trapezium": 0.9983,
            "curve": {"recall": [0.8, 0.9925, 0.998, 1.0], "precision": [1.0, 0.997, 0.9, 0.77]},
            "calibration": {"expected": [1600.0, 1990.0, 2000.0], "observed": [1600, 1985, 2000]},
            "calibration_largest_gap": 0.0025,
        },
        "timings": {
            "stages": [{"name": "Compare", "seconds": 12.34}, {"name": "Fit", "seconds": 0.25}],
            "peak_memory_bytes": 412 * 2**20,
            "threads": 2,
        },
    }
