"""Signature sets and their layout: one canonical payload, bounded, every other refused; values of mode trusted."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.derivation import Seed
from gemel.common.signatures.layout import CODES, SAMPLES, FieldLayout, Layout, SetLayout, VariableLayout
from gemel.common.signatures.payload import from_bytes, to_bytes
from gemel.common.signatures.signature_sets import (
    FieldSignatures,
    SignatureSet,
    VariableCodes,
    layout_of,
    pack_values,
    unpack_values,
)
from gemel.common.specification import Specification, load_specification
from gemel.custodian.encoding.records import encode_records
from gemel.custodian.encoding.signing import canonical
from tests.carole.refusals import refusal
from tests.specifications import heading

CODED = SetLayout(CODES, 5, (), (), (VariableLayout("region", 3), VariableLayout("age", 9)))
SIGNED = SetLayout("born", 4, (FieldLayout("surname", 64, 2),), ("born",))


@pytest.mark.parametrize(
    "layout",
    [
        Layout(()),
        Layout((SetLayout("", 3, ()),)),
        Layout((SetLayout("", 3, (FieldLayout("f", 100, 1),)),)),
        Layout((SetLayout("", 3, (FieldLayout("f", 0, 1),)),)),
        Layout((SetLayout("", 3, (FieldLayout("f", 8256, 1),)),)),
        Layout((SetLayout("", 3, (FieldLayout("f", 64, 4),)),)),
        Layout((SetLayout("", 3, (FieldLayout("f", 64, -1),)),)),
        Layout((SetLayout("", -1, (FieldLayout("f", 64, 0),)),)),
        Layout((SetLayout("", 2**31, (FieldLayout("f", 64, 1),)),)),
        Layout((SetLayout("", 3, (FieldLayout("", 64, 1),)),)),
        Layout((SetLayout("", 3, (FieldLayout("a b", 64, 1),)),)),
        Layout((SetLayout("", 3, (FieldLayout("f" * 65, 64, 1),)),)),
        Layout((SetLayout("", 3, (FieldLayout("f", 64, 1), FieldLayout("f", 64, 1))),)),
        Layout((SetLayout("", 3, (FieldLayout("f", 64, 1),), ("r", "r")),)),
        Layout((SetLayout("", 3, (FieldLayout("f", 64, 1),), ("../r",)),)),
        Layout((SetLayout("", 3, (FieldLayout("f", 64, 1),)),) * 2),
        Layout((SetLayout("a/b", 3, (FieldLayout("f", 64, 1),)),)),
    ],
)
def test_sizes_and_names_out_of_bounds_are_refused(layout: Layout) -> None:
    with refusal(ErrorCode.UPLOAD_LIMIT):
        from_bytes(layout, b"")


@pytest.mark.parametrize(
    "variables",
    [
        (VariableLayout("a", 1),),
        (VariableLayout("a", 1001),),
        (VariableLayout("a", 2), VariableLayout("a", 2)),
        (VariableLayout("a b", 2),),
        tuple(VariableLayout(f"v{i}", 2) for i in range(65)),
    ],
)
def test_layouts_of_variables_out_of_bounds_are_refused(variables: tuple[VariableLayout, ...]) -> None:
    with refusal(ErrorCode.UPLOAD_LIMIT):
        Layout((SetLayout("", 4, (FieldLayout("surname", 64, 1),), (), variables),)).validate()


@pytest.mark.parametrize(
    ("sets", "records", "what"),
    [
        ((SIGNED, dataclasses.replace(CODED, rows=4)), 5, "rows"),
        ((SIGNED, dataclasses.replace(CODED, rows=6)), 5, "rows"),
        ((SIGNED, CODED), 0, "rule"),
        ((dataclasses.replace(CODED, rows=0),), 0, "rule"),
        ((SIGNED, CODED, CODED), 5, "once"),
        ((SIGNED, dataclasses.replace(CODED, fields=SIGNED.fields)), 5, "fields"),
        ((SIGNED, dataclasses.replace(CODED, blocks=("born",))), 5, "blocking rules"),
        ((dataclasses.replace(SIGNED, variables=CODED.variables), CODED), 5, "variables"),
        ((dataclasses.replace(SIGNED, variables=CODED.variables),), 5, "variables"),
        ((SIGNED, dataclasses.replace(SIGNED, rule=SAMPLES, fields=(), variables=CODED.variables)), 5, "fields"),
    ],
)
def test_a_layout_that_would_put_codes_beside_anything_is_refused(
    sets: tuple[SetLayout, ...], records: int, what: str
) -> None:
    Layout((SIGNED, CODED), 5).validate()
    with refusal(ErrorCode.UPLOAD_LIMIT, what):
        Layout(sets, records).validate()


def canonical_field(generator: np.random.Generator, rows: int, bits: int, missing: float = 0.2) -> FieldSignatures:
    """Random distinct signatures in canonical order, every one of them used."""
    pool = generator.integers(0, 2**64, size=(rows, bits // 64), dtype=np.uint64)
    texts = sorted({row.tobytes() for row in pool[: max(1, rows // 2)]} if rows else set())
    codes = generator.integers(0, len(texts), size=rows) if texts else np.zeros(rows)
    codes[generator.random(rows) < missing] = -1
    kept, codes_of_kept = np.unique(codes[codes >= 0].astype(np.int64), return_inverse=True)
    final = np.full(rows, -1, dtype=np.int32)
    final[codes >= 0] = codes_of_kept
    payload = b"".join(texts[code] for code in kept)
    signatures = np.frombuffer(payload, dtype=np.uint64).reshape(len(kept), bits // 64)
    return FieldSignatures(bits, signatures, final)


def random_set(seed: int, rows: int, widths: list[int], rules: int, rule: str = "", variables: int = 0) -> SignatureSet:
    generator = np.random.default_rng(seed)
    fields = {f"field-{i}": canonical_field(generator, rows, bits) for i, bits in enumerate(widths)}
    blocks = {f"rule-{i}": generator.integers(0, 2**64, size=rows, dtype=np.uint64) for i in range(rules)}
    coded = {
        f"variable-{i}": VariableCodes(i + 2, generator.integers(-1, i + 2, size=rows, dtype=np.int16))
        for i in range(variables)
    }
    return SignatureSet(rule, rows, fields, blocks, coded)


def body_of(part: SignatureSet) -> bytearray:
    return bytearray(b"".join(to_bytes([part])))


SETS = st.builds(
    random_set,
    st.integers(0, 2**32),
    st.integers(0, 30),
    st.lists(st.sampled_from([64, 128, 320]), min_size=1, max_size=3),
    st.integers(0, 2),
    variables=st.integers(0, 3),
)


@given(SETS, SETS)
def test_bytes_come_back_as_the_same_sets(first: SignatureSet, second: SignatureSet) -> None:
    sets = [first, dataclasses.replace(second, rule="born")]
    layout = layout_of(sets)
    payload = b"".join(to_bytes(sets))
    assert len(payload) == layout.total_bytes
    back = from_bytes(layout, payload)
    assert layout_of(back) == layout
    for got, made in zip(back, sets, strict=True):
        assert list(got.fields) == list(made.fields)
        for name, field in made.fields.items():
            np.testing.assert_array_equal(got.fields[name].signatures, field.signatures)
            np.testing.assert_array_equal(got.fields[name].codes, field.codes)
        for rule, keys in made.blocks.items():
            np.testing.assert_array_equal(got.blocks[rule], keys)
        for name, variable in made.variables.items():
            assert got.variables[name].categories == variable.categories
            np.testing.assert_array_equal(got.variables[name].codes, variable.codes)
    assert b"".join(to_bytes(back)) == payload


def test_arrays_are_read_only_views_of_the_body() -> None:
    part = random_set(1, 9, [128], 1)
    payload = bytes(body_of(part))
    (back,) = from_bytes(layout_of([part]), payload)
    whole = np.frombuffer(payload, dtype=np.uint8)
    for array in (back.fields["field-0"].signatures, back.fields["field-0"].codes, back.blocks["rule-0"]):
        assert np.shares_memory(array, whole)
        assert not array.flags.writeable


def test_a_body_at_an_odd_address_is_copied_into_line() -> None:
    part = random_set(2, 9, [64], 0)
    shifted = memoryview(b"\0" + bytes(body_of(part)))[1:]
    (back,) = from_bytes(layout_of([part]), shifted)
    assert back.fields["field-0"].signatures.flags.aligned
    np.testing.assert_array_equal(back.fields["field-0"].codes, part.fields["field-0"].codes)


def test_bytes_are_laid_out_as_documented() -> None:
    field = FieldSignatures(64, np.array([[0x0100], [0x0001]], dtype=np.uint64), np.array([1, -1, 0], dtype=np.int32))
    part = SignatureSet("", 3, {"surname": field}, {"born": np.array([5, 0, 7], dtype=np.uint64)})
    part.validate()  # 00 01 comes before 01 00 as a byte string although 0x100 > 0x001
    assert bytes(body_of(part)).hex() == (
        "0001000000000000" "0100000000000000"  # signatures
        "01000000" "ffffffff" "00000000" "00000000"  # codes and padding
        "0500000000000000" "0000000000000000" "0700000000000000"  # blocking keys
    )  # fmt: skip


def test_codes_of_variables_follow_the_blocking_keys() -> None:
    field = FieldSignatures(64, np.array([[1]], dtype=np.uint64), np.zeros(3, dtype=np.int32))
    codes = VariableCodes(3, np.array([2, -1, 0], dtype=np.int16))
    part = SignatureSet("", 3, {"surname": field}, {}, {"driving": codes})
    part.validate()
    assert bytes(body_of(part)).hex().endswith("0200" "ffff" "0000" "0000")  # fmt: skip


@pytest.mark.parametrize("codes", [[0, 3], [-2, 0]])
def test_codes_of_no_category_are_refused(codes: list[int]) -> None:
    field = FieldSignatures(64, np.array([[1]], dtype=np.uint64), np.zeros(2, dtype=np.int32))
    part = SignatureSet("", 2, {"surname": field}, {}, {"driving": VariableCodes(3, np.array(codes, dtype=np.int16))})
    assert "1 codes outside" in refused(part, body_of(part)).got


def refused(part: SignatureSet, payload: bytes | bytearray, layout: Layout | None = None) -> GemelError:
    with pytest.raises(GemelError) as caught:
        from_bytes(layout or layout_of([part]), payload)
    assert caught.value.remedy
    return caught.value


@pytest.fixture
def part() -> SignatureSet:
    return random_set(3, 11, [128, 64], 1)


@pytest.mark.parametrize("change", [-8, -1, 1, 8])
def test_a_body_of_another_length_is_refused(part: SignatureSet, change: int) -> None:
    payload = body_of(part)
    payload = payload[:change] if change < 0 else payload + bytes(change)
    assert refused(part, payload).code is ErrorCode.UPLOAD_CORRUPT


def test_corrupt_contents_are_refused(part: SignatureSet) -> None:
    field = part.fields["field-0"]
    at = field.signatures.nbytes
    n = field.n_distinct

    outside_blocks = body_of(part)
    outside_blocks[at : at + 4] = np.int32(n).tobytes()
    assert "codes must be" in str(refused(part, outside_blocks))

    negative = body_of(part)
    negative[at : at + 4] = np.int32(-2).tobytes()
    assert "codes must be" in str(refused(part, negative))

    unused = body_of(part)
    unused[at : at + 44] = np.full(11, -1, dtype=np.int32).tobytes()
    assert f"{n} unused" in str(refused(part, unused))

    swapped = body_of(part)
    swapped[:16], swapped[16:32] = swapped[16:32], swapped[:16]
    assert "out of order" in str(refused(part, swapped))

    repeated = body_of(part)
    repeated[:16] = repeated[16:32]
    assert "out of order" in str(refused(part, repeated))

    padded = body_of(part)
    padded[at + 44] = 1
    assert "padding" in str(refused(part, padded))


def test_order_is_checked_past_the_first_word_and_across_chunks() -> None:
    n = (1 << 14) + 2
    signatures = np.zeros((n, 2), dtype=np.uint64)
    signatures[:, 1] = np.arange(n, dtype=np.uint64).byteswap()
    good = FieldSignatures(128, signatures, np.arange(n, dtype=np.int32))
    SignatureSet("", n, {"f": good}, {}).validate()
    for position in (0, (1 << 14) - 1, 1 << 14):
        bad = signatures.copy()
        bad[position], bad[position + 1] = signatures[position + 1], signatures[position]
        with pytest.raises(GemelError, match="out of order"):
            SignatureSet("", n, {"f": dataclasses.replace(good, signatures=bad)}, {}).validate()


def test_wrong_arrays_are_refused(part: SignatureSet) -> None:
    field = part.fields["field-0"]

    def check(**changes: Any) -> None:
        fields = {**part.fields, "field-0": dataclasses.replace(field, **changes)}
        with refusal(ErrorCode.UPLOAD_CORRUPT):
            dataclasses.replace(part, fields=fields).validate()

    check(codes=field.codes.astype(np.int64))
    check(codes=field.codes[:-1])
    check(codes=list(field.codes))
    check(signatures=field.signatures.astype(np.int64))
    check(signatures=field.signatures[:, :1])
    check(signatures=np.asfortranarray(field.signatures))
    check(signatures=field.signatures.reshape(-1))
    with pytest.raises(GemelError, match="shape"):
        dataclasses.replace(part, blocks={"rule-0": part.blocks["rule-0"][:-1]}).validate()


def test_codes_come_back_and_have_nothing_beside_them() -> None:
    signed = random_set(1, 4, [64], 1, rule="born")
    coded = random_set(2, 5, [], 0, rule=CODES, variables=2)
    layout = layout_of([signed, coded], 5)
    _, back = from_bytes(layout, b"".join(to_bytes([signed, coded])))
    assert back.layout == coded.layout
    assert (back.fields, back.blocks) == ({}, {})
    for name, variable in coded.variables.items():
        np.testing.assert_array_equal(back.variables[name].codes, variable.codes)
    # Where the other custodian holds all variables: rows, and nothing of them.
    bare = SignatureSet(CODES, 5, {}, {})
    _, back = from_bytes(layout_of([signed, bare], 5), b"".join(to_bytes([signed, bare])))
    assert back.layout.total_bytes == 0
    assert back.n_rows == 5


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
