"""The assignment clusters in a specification: what it refuses with which remedy, and what its notes disclose."""

from __future__ import annotations

import pytest

from gemel.common.errors import GemelError
from gemel.common.specification import dump_specification, load_specification, specification_notes
from tests.specifications import heading

FIELDS = """
fields:
  - {name: surname, kind: name}
  - {name: given, kind: name}
  - {name: born, kind: date, date: {order: ymd}}
  - {name: sex, kind: category}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
CLUSTERS = "links: {assignment: clusters}\n"
VARIABLES = """
variables:
  - {name: region, holder: alice, categories: [n, s], role: key}
  - {name: illness, holder: bob, categories: [none, some], role: sensitive}
"""
RULE = "blocking: [{name: born, keys: [{field: born}]}]\n"


def text(extra: str = "", mode: str = "open") -> str:
    return heading("twice", mode) + FIELDS + CLUSTERS + extra


@pytest.mark.parametrize("mode", ["open", "trusted"])
def test_it_is_accepted_and_kept(mode: str) -> None:
    spec = load_specification(text(mode=mode))
    assert spec.links.assignment == "clusters"
    assert load_specification(dump_specification(spec)) == spec


@pytest.mark.parametrize(
    ("extra", "mode", "reason", "remedy"),
    [
        (RULE, "block_keyed", "compares no rows of one file with each other", "gemel duplicates"),
        (VARIABLES + "latent: {}\n", "open", "latent step judges pairs", "drop `latent`"),
        ("release: {alice: draws}\n", "open", "linkages are drawn for given persons", "grant alice links or pairs"),
        ("quality: {check_field: sex}\n", "open", "share its records", "drop `quality`"),
        ("quality: {bootstrap: 39}\n", "open", "share its records", "drop `quality`"),
    ],
)
def test_what_supposes_one_link_of_a_record_is_refused(extra: str, mode: str, reason: str, remedy: str) -> None:
    with pytest.raises(GemelError) as caught:
        load_specification(text(extra, mode))
    message = str(caught.value)
    assert "links.assignment" in message
    assert reason in message
    assert remedy in message


def test_the_notes_state_what_each_learns() -> None:
    notes = " ".join(specification_notes(load_specification(text())))
    assert "each custodian with the grant links learns this of its own rows" in notes
    assert "with the grant pairs" not in notes
    notes = " ".join(specification_notes(load_specification(text("release: {alice: pairs}\n"))))
    assert "Alice also learns which of the linked people are in Bob's file more than once" in notes
    assert "Bob also learns" not in notes
