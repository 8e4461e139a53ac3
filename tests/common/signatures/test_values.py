"""Values as rows of fixed width: there and back, in canonical order, and refused where they do not fit."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.derivation import Seed
from gemel.common.signatures.payload import from_bytes, to_bytes
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet, layout_of, pack_values, unpack_values
from gemel.common.specification import Specification, load_specification
from gemel.custodian.encoding.records import encode_records
from gemel.custodian.encoding.signing import canonical
from tests.carole.refusals import refusal
from tests.specifications import heading

TEXTS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1, max_size=16)

SPECIFICATION = (
    heading("values", "trusted")
    + """
fields:
  - {name: surname, kind: name, comparator: jaro_winkler}
  - {name: town, kind: category}
blocking:
  - {name: town, keys: [{field: town}]}
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
"""
)


@pytest.fixture(scope="module")
def spec() -> Specification:
    return load_specification(SPECIFICATION)


@given(values=st.lists(TEXTS, unique=True, max_size=20))
def test_there_and_back(values):
    rows, ranks = canonical(pack_values(values, 512, "field"))
    assert rows.shape == (len(values), 8)
    back = unpack_values(rows, "field")
    assert [back[rank] for rank in ranks] == values
    assert back == sorted(values, key=lambda value: value.encode())


def part_of(rows, codes):
    return SignatureSet("", len(codes), {"name": FieldSignatures(128, rows, codes, "values")}, {})


@given(values=st.lists(TEXTS.filter(lambda v: len(v.encode()) <= 16), unique=True, min_size=1, max_size=9))
def test_a_set_of_values_survives_the_body(values):
    rows, ranks = canonical(pack_values(values, 128, "field"))
    part = part_of(rows, ranks)
    part.validate()
    (read,) = from_bytes(layout_of([part]), b"".join(to_bytes([part])))
    assert read.fields["name"].content == "values"
    assert unpack_values(read.fields["name"].signatures, "field") == unpack_values(rows, "field")


@pytest.mark.parametrize("text", [b"\xff\xfeabc", b"ab\0cd", b"", b"\xed\xa0\x80"])
def test_what_is_no_text_is_refused(text):
    rows = np.frombuffer(text.ljust(16, b"\0"), dtype=np.uint64).reshape(1, 2)
    with refusal(ErrorCode.UPLOAD_CORRUPT):
        part_of(rows, np.zeros(1, dtype=np.int32)).validate()
    # The same bytes as a signature are as good as any.
    SignatureSet("", 1, {"name": FieldSignatures(128, rows, np.zeros(1, dtype=np.int32))}, {}).validate()


def test_a_value_that_does_not_fit_is_refused_without_showing_it():
    with refusal(ErrorCode.PARAMETER, r"1 longer ones, of up to 9 bytes.*bits to 128") as caught:
        pack_values(["abcdefghi", "abc"], 64, "field surname")
    assert "abcdefghi" not in str(caught.value)
    with pytest.raises(GemelError, match="not be empty or contain"):
        pack_values(["a\0b"], 64, "field surname")


def test_trusted_mode_encodes_the_values_themselves_shuffled(spec):
    columns = {
        "surname": pl.Series(["smith", None, "jones", "smith", ""]),
        "town": pl.Series(["leeds", "york", "york", None, "hull"]),
    }
    made = encode_records(columns, spec, Seed(bytes(range(32))), 1, shuffle=lambda n: np.array([4, 2, 0, 1, 3]))
    part, order = made.sets[0], made.order
    part.validate()
    assert order.tolist() == [4, 2, 0, 1, 3]
    field = part.fields["surname"]
    values = unpack_values(field.signatures, "surname")
    assert values == ["jones", "smith"]
    assert [values[code] if code >= 0 else None for code in field.codes] == [None, "jones", "smith", None, "smith"]
    assert part.blocks["town"].dtype == np.uint64
    assert "smith" not in repr(part)
    assert "smith" not in repr(field)


def test_a_layout_has_the_content_of_a_field():
    rows, ranks = canonical(pack_values(["a", "b"], 128, "field"))
    layout = layout_of([part_of(rows, ranks)])
    assert layout.sets[0].fields[0].content == "values"
    signed = layout_of([SignatureSet("", 2, {"name": FieldSignatures(128, rows, ranks)}, {})])
    assert signed.sets[0].fields[0].content == "signatures"
    assert layout != signed
    assert layout.total_bytes == signed.total_bytes
