"""Data and models that several tests of decomposable models use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemel.risk.models.bayesian_networks import BayesianNetwork
from gemel.risk.models.counts import SparseCounts
from tests.risk.models.bif import INSURANCE, pruned, read_bif
from tests.risk.models.examples import counts_of_table


@pytest.fixture(scope="session")
def oracle(shared: Path) -> dict[str, Any]:
    """All decomposable models of a table of four variables and 200 records, scored by another program."""
    found: dict[str, Any] = json.loads((shared / "oracles" / "decomp_testdata4_n200.json").read_text())
    return found


@pytest.fixture(scope="session")
def oracle_counts(oracle: dict[str, Any]) -> SparseCounts:
    return counts_of_table(np.array(oracle["table"]).reshape(oracle["table_shape"]), oracle["vars"])


@pytest.fixture(scope="session")
def whole_insurance(shared: Path) -> BayesianNetwork:
    return read_bif((shared / "data" / "insurance.bif").read_text())


@pytest.fixture(scope="session")
def insurance(whole_insurance: BayesianNetwork) -> BayesianNetwork:
    """The insurance network without its barren nodes."""
    return pruned(whole_insurance, INSURANCE)


@pytest.fixture(scope="session")
def asia(shared: Path) -> BayesianNetwork:
    return read_bif((shared / "data" / "asia.bif").read_text())
