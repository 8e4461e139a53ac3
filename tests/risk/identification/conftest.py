"""The oracle of a public population: a sample of five per cent, and what others computed of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from gemel.risk.identification.key_file import KeyFile


@pytest.fixture(scope="module")
def eusilc(shared: Path) -> tuple[KeyFile, dict[str, Any]]:
    folder = shared / "oracles"
    oracle = json.loads((folder / "tau_eusilcP_pi0.05.json").read_text())
    sample, population = (
        pl.read_csv(folder / f"tau_eusilcP_{name}.csv", columns=oracle["keys"]).to_dict()
        for name in ("sample_pi0.05", "population_keys")
    )
    return KeyFile.from_columns(sample, oracle["pi"], population=population), oracle
