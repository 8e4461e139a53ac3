"""What a specification may set, linked in process on few people: the small twin of rehearsals of the long tier."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import gemel
from benchmarks.duplicates import copied
from gemel.common.specification import ReleaseSpec, Specification
from gemel.coordinator.demonstration.people import IDENTIFIER, TRUTH, two_files
from gemel.coordinator.demonstration.people.insured import driver_network, insured_specification, with_traits
from gemel.coordinator.draft.specification_draft import draft

N, COMMON = 80, 40
KEYS = gemel.Keys.of_number(1)

Tables = tuple[pl.DataFrame, pl.DataFrame]


def files(seed: int = 11) -> Tables:
    return two_files(N, N, COMMON, 0.2, np.random.default_rng(seed))


def drafted(tables: Tables, **settings: Any) -> dict[str, Any]:
    spec, *_ = draft(*(table.drop(TRUTH) for table in tables), "set", block=False)
    return spec.model_dump(mode="json") | settings


def linked(tables: Tables, document: dict[str, Any]) -> gemel.LinkedFiles:
    return gemel.link(*tables, Specification.model_validate(document), keys=KEYS, threads=1)


def test_salted_names_and_a_list_of_similar_ones() -> None:
    tables = files()
    document = drafted(tables, mode="open")
    counts = tables[0]["surname"].drop_nulls().value_counts()
    for field in document["fields"]:
        if field["name"] in ("surname", "given_name"):
            field["salt"] = {"field": "date_of_birth", "part": "year"}
        if field["name"] == "surname":
            field["only_similar"] = [name for name, count in counts.iter_rows() if count < 3]
    assert linked(tables, document).evaluate(*tables, TRUTH).at_decision.f1 >= 0.9


def test_values_in_trusted_mode() -> None:
    tables = files()
    found = linked(tables, drafted(tables, mode="trusted"))
    judged = found.evaluate(*tables, TRUTH)
    assert judged.at_decision.f1 >= 0.95
    assert "The values themselves were sent to Carole" in found.report(judged).html


def test_entities_of_files_with_copies() -> None:
    rng = np.random.default_rng(12)
    alice, bob = (copied(table, 0.3, 0.3, rng) for table in files(12))
    document = drafted((alice, bob))
    assert document["links"]["assignment"] == "clusters"
    found = linked((alice, bob), document)
    entities = found.statistics.linkage.entities
    assert found.links.height == entities.pairs
    assert entities.several.alice > 0
    assert found.evaluate(alice, bob, TRUTH).at_decision.f1 >= 0.9


def test_values_of_a_latent_step_leave_no_label_in_the_statistics() -> None:
    rng = np.random.default_rng(2)
    tables = with_traits(*files(2), rng)
    plain = insured_specification("set").model_copy(update={"release": ReleaseSpec(joint="bob")})
    found = linked(tables, plain.model_dump())
    latent = found.statistics.linkage.latent
    assert set(latent.variables) == {str(name) for name in driver_network().names}
    document = json.dumps([found.statistics.linkage.plain(), found.statistics.model.plain()])
    labels = {label for categories in driver_network().categories for label in categories if len(label) > 8}
    assert "Psychopath" in labels
    assert not [label for label in labels if label in document]
    assert "The evidence of the values" in found.report(found.evaluate(*tables, TRUTH)).html


def test_records_of_a_file_that_a_specification_names_are_needed() -> None:
    training = {"by": "alice", "sha256": "00" * 32, "records": 600}
    document = insured_specification("set").model_dump(mode="json")
    document["latent"]["training"] = training
    tables = with_traits(*files(2), np.random.default_rng(2))
    with pytest.raises(gemel.GemelError, match="training"):
        linked(tables, document)


SPECIFICATION = """\
version: 1
project: in-process
mode: MODE
custodians: {alice: {identifier: record_id}, bob: {identifier: record_id}}
fields:
  - {name: given_name, kind: name, bits: 64, key_domain: names}
  - {name: surname, kind: name, bits: 64, key_domain: names}
  - {name: sex, kind: category, bits: 64}
  - {name: date_of_birth, kind: date, date: {order: ymd}, bits: 64}
swaps: [[given_name, surname]]
blocking:
  - {name: born, keys: [{field: date_of_birth, part: year}]}
  - {name: names, keys: [{field: surname}]}
model: {dependence: none}
padding: powers_of_two
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""


def test_the_links_are_those_of_block_keyed() -> None:
    """Under other signatures, since the mode decides the keys: of the same ones are `tests/carole/engine/shared`."""
    tables = two_files(24, 24, 18, 0.2, np.random.default_rng(2))
    alice, bob = (table.drop(TRUTH) for table in tables)
    links = {}
    for mode in ("block_keyed", "shared"):
        spec = gemel.check(SPECIFICATION.replace("MODE", mode)).specification
        found = gemel.link(alice, bob, spec, keys=gemel.Keys.of_number(1), memory="1GiB", threads=1)
        links[mode] = set(found.links.select("alice", "bob").rows())
        assert found.statistics.linkage.links == len(links[mode])
    true = tables[0].join(tables[1], on=TRUTH, suffix="_bob").select(IDENTIFIER, f"{IDENTIFIER}_bob").rows()
    assert len(links["shared"] ^ links["block_keyed"]) <= 2
    assert 2 * len(links["shared"] & set(true)) / (len(links["shared"]) + len(true)) > 0.75
