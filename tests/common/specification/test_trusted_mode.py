"""Mode trusted in a specification: explicit, loud, another encoding; comparators belong to it alone."""

from __future__ import annotations

import pytest

from gemel.common.errors import GemelErrors
from gemel.common.specification import (
    dump_specification,
    encoding_digest,
    load_specification,
    specification_digest,
    specification_notes,
)
from tests.common.specification.example import EXAMPLE

TRUSTED = EXAMPLE.replace("mode: open", "mode: trusted")


def test_it_is_another_specification_and_another_encoding():
    one, other = load_specification(EXAMPLE), load_specification(TRUSTED)
    assert specification_digest(one) != specification_digest(other)
    assert encoding_digest(one) != encoding_digest(other)


def test_its_first_note_states_that_values_are_sent():
    first = specification_notes(load_specification(TRUSTED))[0]
    assert "VALUES THEMSELVES ARE SENT" in first
    assert "surname" in first
    assert "postcode" in first
    assert not any("VALUES" in note for note in specification_notes(load_specification(EXAMPLE)))


def test_comparators_are_chosen_by_field_and_written_out_again():
    text = TRUSTED.replace("    key_domain: given\n", "    key_domain: given\n    comparator: jaro_winkler\n")
    spec = load_specification(text)
    assert spec.comparator_of(spec.field("given_name")) == "jaro_winkler"
    assert spec.comparator_of(spec.field("surname")) == "jaro"
    assert load_specification(dump_specification(spec)) == spec
    # Like levels, a comparator decides nothing about what is sent.
    assert encoding_digest(spec) == encoding_digest(load_specification(TRUSTED))
    assert specification_digest(spec) != specification_digest(load_specification(TRUSTED))


def test_open_mode_has_no_comparator():
    text = EXAMPLE.replace("    key_domain: given\n", "    key_domain: given\n    comparator: jaro\n")
    with pytest.raises(GemelErrors, match=r"fields\[1\]\.comparator.*mode trusted only"):
        load_specification(text)
    spec = load_specification(EXAMPLE)
    assert spec.comparator_of(spec.field("surname")) == "jaccard"


def test_an_unknown_mode_or_comparator_is_refused():
    with pytest.raises(GemelErrors, match="open, trusted, block_keyed or shared"):
        load_specification(EXAMPLE.replace("mode: open", "mode: blind"))
    text = TRUSTED.replace("    key_domain: given\n", "    key_domain: given\n    comparator: soundex\n")
    with pytest.raises(GemelErrors, match="jaro or jaro_winkler"):
        load_specification(text)
