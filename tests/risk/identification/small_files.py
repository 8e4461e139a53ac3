"""Files for tests: a population with dependent variables, and samples of it; and the command that assesses a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from typer.testing import CliRunner

from gemel.common.errors import GemelError
from gemel.risk.commands.disclosure import app
from gemel.risk.identification.key_file import KeyFile


def dependent_columns(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Four variables that depend on each other by way of a hidden one: two ordered, two not."""
    hidden = rng.integers(0, 4, n)
    return {
        "rooms": np.minimum(hidden + rng.poisson(0.8, n), 7),
        "cars": np.minimum(rng.poisson(0.4 + 0.3 * hidden, n), 4),
        "tenure": np.array(["owner", "tenant", "other"])[np.minimum(rng.poisson(0.2 + 0.2 * hidden, n), 2)],
        "sex": np.array(["f", "m"])[rng.integers(0, 2, n)],
    }


def sampled_file(n: int, population: int, seed: int, *, with_population: bool = True) -> KeyFile:
    """A simple random sample of the population above."""
    rng = np.random.default_rng(seed)
    whole = dependent_columns(population, rng)
    chosen = rng.permutation(population)[:n]
    sample = {name: values[chosen] for name, values in whole.items()}
    if with_population:
        return KeyFile.from_columns(sample, population=whole)
    return KeyFile.from_columns(sample, n / population)


class Identified(NamedTuple):
    """What the command prints and writes."""

    output: str
    document: dict[str, Any]
    page: str


def identified(records: Path, arguments: str) -> Identified:
    """What `gemel risk identify` makes of a file."""
    data, page = records.with_suffix(".out.json"), records.with_suffix(".html")
    typed = ["identify", str(records), *arguments.split(), "--json", str(data), "--out", str(page)]
    done = CliRunner().invoke(app, typed)
    assert done.exit_code == 0, done.output
    return Identified(done.output, json.loads(data.read_text()), page.read_text())


def refusal(records: Path, arguments: str) -> str:
    """The error that `gemel risk identify` ends with."""
    done = CliRunner().invoke(app, ["identify", str(records), *arguments.split()])
    assert isinstance(done.exception, GemelError), done.output
    return str(done.exception)
