"""A file of invented people to protect, and the command that does it."""

from __future__ import annotations

import shlex

import numpy as np
import polars as pl
from typer.testing import CliRunner

from gemel.command import app


def typed(line: str) -> str:
    """What a command prints that must succeed; an error of ours is raised."""
    done = CliRunner(env={"COLUMNS": "300"}).invoke(app, shlex.split(line)[1:], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def people(n: int = 400, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    sex = rng.choice(["f", "m"], n)
    town = rng.choice(["leeds", "york", "kent", "dover"], n, p=[0.5, 0.3, 0.15, 0.05])
    wage = np.round(800 + 12 * age + 150 * (sex == "m") + rng.normal(0, 200, n))
    return pl.DataFrame(
        {
            "id": [f"p{i:04d}" for i in range(n)],
            "age": age,
            "sex": sex,
            "town": pl.Series(town).set(pl.Series(rng.random(n) < 0.02), None),
            "wage": wage,
            "bonus": np.round(wage * 0.1 + rng.normal(0, 30, n)),
            "weight": rng.uniform(5, 40, n).round(1),
        }
    )


TOWNS = [["leeds", "north"], ["york", "north"], ["kent", "south"], ["dover", "south"]]
KEYS = ("age", "sex", "town")
