"""`gemel.link` in mode shared: three parties on shares find what mode block_keyed finds."""

from __future__ import annotations

import numpy as np

import gemel
from gemel.coordinator.demonstration.people import IDENTIFIER, TRUTH, two_files

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
    """Under other signatures, since the mode decides the keys: of the same ones are `tests/shared/run`."""
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
