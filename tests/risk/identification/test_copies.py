"""People who are in a file more than once are noticed by the columns that are no keys."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from benchmarks._public_populations import ADULT
from gemel.risk.commands.disclosure import app
from gemel.risk.identification.assessment.beside_keys import copied_share
from gemel.risk.identification.key_file import KeyFile

KEYS = ADULT.keys["6 keys"]


def sample(twice: int) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    own = ADULT.records()[rng.choice(48_842, 2_400, replace=False)].with_columns(number=pl.int_range(2_400))
    again = own[rng.choice(2_400, twice, replace=False)].with_columns(number=pl.int_range(2_400, 2_400 + twice))
    return pl.concat([own, again]).sample(fraction=1.0, shuffle=True, seed=1)


def test_the_share_is_that_of_pairs_alike_in_everything():
    file = KeyFile.from_columns({"a": ["x", "x", "y", "y", "z", "z", "z", "w"]}, 0.1)
    assert copied_share(file, np.array([1, 1, 2, 3, 4, 4, 4, 5], dtype=np.uint64)) == 0.5
    assert copied_share(KeyFile.from_columns({"a": ["x", "y"]}, 0.1), np.array([1, 1], dtype=np.uint64)) == 0.0


@pytest.mark.parametrize(("twice", "noticed"), [(0, False), (48, True)])
def test_copies_are_noticed_although_records_are_numbered(tmp_path: Path, twice: int, noticed: bool):
    sample(twice).write_csv(tmp_path / "adult.csv")
    command = ["identify", str(tmp_path / "adult.csv"), "--keys", ",".join(KEYS), "--fraction", "0.05"]
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert result.exit_code == 0
    assert ("agree in all" in result.output) == noticed
