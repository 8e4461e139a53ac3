"""Signature sets and their bytes: round trip, sizes known beforehand, every corrupt body refused."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.signatures.layout import CODES, Layout
from gemel.common.signatures.payload import from_bytes, to_bytes
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet, VariableCodes, layout_of
from tests.carole.refusals import refusal


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
