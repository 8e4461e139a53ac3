"""The network of drivers that the package ships is the pruned insurance network."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from gemel.coordinator.demonstration.people.insured import driver_network
from tests.risk.models.bif import pruned, read_bif


def test_it_has_the_published_size():
    network = driver_network()
    assert len(network.names) == 11
    assert len(network.edges) == 18
    assert network.parameters == 239
    assert math.prod(network.levels) == 138_240


def test_it_is_the_insurance_network_without_barren_nodes(shared: Path):
    network = driver_network()
    whole = pruned(read_bif((shared / "data" / "insurance.bif").read_text()), network.names)
    assert set(whole.names) == set(network.names)
    order = [network.names.index(name) for name in whole.names]
    assert [network.categories[v] for v in order] == list(whole.categories)
    records = whole.sample(20_000, np.random.default_rng(1))
    there = np.empty_like(records)
    there[:, order] = records
    assert np.allclose(network.log_probability(there), whole.log_probability(records), atol=1e-6)
