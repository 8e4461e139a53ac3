"""Padding in a specification: another encoding, what it is refused with, and its notes."""

from __future__ import annotations

import pytest

from gemel.common.errors import GemelErrors
from gemel.common.specification import dump_specification, encoding_digest, load_specification, specification_notes
from tests.common.specification.test_block_keyed import TEXT


def test_it_is_another_encoding_and_reads_back() -> None:
    plain, padded = load_specification(TEXT), load_specification(f"{TEXT}padding: powers_of_two\n")
    assert load_specification(dump_specification(padded)) == padded
    assert encoding_digest(padded) != encoding_digest(plain)
    assert "padding" not in dump_specification(plain)
    assert encoding_digest(load_specification(f"{TEXT}padding: null\n")) == encoding_digest(plain)
    reported = " ".join(specification_notes(padded))
    assert "dummy rows" in reported
    assert "less than twice the rows" in reported


@pytest.mark.parametrize("padding", ["2", "8", "20", "true", "2.5", "[2]"])
def test_other_paddings_are_refused(padding: str) -> None:
    with pytest.raises(
        GemelErrors, match=r"padding: must be .*write `powers_of_two`, or drop it; a number of rows is refused"
    ):
        load_specification(f"{TEXT}padding: {padding}\n")


def test_a_misspelt_padding_is_corrected() -> None:
    with pytest.raises(GemelErrors, match="padding: must be powers_of_two, got 'powers'; did you mean powers_of_two"):
        load_specification(f"{TEXT}padding: powers\n")


def test_it_is_refused_where_it_would_only_cost() -> None:
    text = f"{TEXT}padding: powers_of_two\n"
    with pytest.raises(GemelErrors, match=r"padding: dummy records do not protect mode open.*mode block_keyed"):
        load_specification(text.replace("block_keyed", "open"))
    with pytest.raises(GemelErrors, match="padding: padding hides nothing"):
        load_specification(text.replace("block_keyed", "trusted"))
    with pytest.raises(GemelErrors, match="padding: the party that joins rows learns which are dummies"):
        load_specification(f"{text}resolution: {{by: carole, max_records: 100}}\n")
