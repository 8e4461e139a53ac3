"""Drivers' traits follow the network that they are drawn from, and two insurers know a part of them each."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.demonstration.people.insured import (
    ALICES,
    BOBS,
    KEY,
    driver_network,
    trait_variables,
    with_traits,
)
from tests.risk.models.bif import edges, log_probability, parameters, pruned, read_bif


def test_it_has_the_published_size():
    network = driver_network()
    assert len(network.names) == 11
    assert len(edges(network)) == 18
    assert parameters(network) == 239
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
    assert np.allclose(log_probability(network, there), log_probability(whole, records), atol=1e-6)


def test_each_file_has_its_own_traits_and_the_key():
    rng = np.random.default_rng(1)
    files = two_files(3000, 3000, 3000, 0.0, rng)
    alice, bob = with_traits(*files, rng, changed=0.2, missing=0.05)
    assert alice.columns == [*files[0].columns, *ALICES, KEY]
    assert bob.columns == [*files[1].columns, *BOBS, KEY]
    assert {*ALICES, *BOBS, KEY} == set(driver_network().names)
    both = alice.join(bob, on=TRUTH, suffix="_bob")
    known = both.drop_nulls([KEY, f"{KEY}_bob"])
    # 3,000 people: .8 agree, standard error .008.
    assert abs((known[KEY] == known[f"{KEY}_bob"]).mean() - 0.8) < 0.03
    assert abs(both["SocioEcon"].null_count() / 3000 - 0.05) < 0.02
    # Traits of one person go together across the files: only seniors have had senior training.
    trained = both.filter(both["SeniorTrain"] == "True")["Age"].drop_nulls()
    assert set(trained.to_list()) == {"Senior"}


def test_the_section_of_a_specification_lists_them():
    sections = trait_variables()
    assert [section["name"] for section in sections] == [*ALICES, *BOBS, KEY]
    assert [section["holder"] for section in sections] == ["alice"] * 6 + ["bob"] * 4 + ["both"]
    assert next(s for s in sections if s["name"] == "OtherCar")["categories"] == ["True", "False"]
