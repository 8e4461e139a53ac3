"""Signatures: the bulk form against the definition, golden vectors, and what may not be signed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.bulk import _CALL_BYTES
from gemel.common.keys.derivation import FieldKeys, Purpose, Seed, derive, derive_key
from gemel.common.keys.suite import Suite
from gemel.custodian.encoding import minhash
from gemel.custodian.encoding.minhash import signatures
from gemel.custodian.tokens import Tokens, tokenise
from tests.carole.refusals import refusal
from tests.custodian.encoding.minhash.definition import hidden, numbers, signature, words
from tests.custodian.tokens.definition import tokens
from tests.vectors import make_signatures

KEYS = FieldKeys(bytes(range(32)), bytes(range(32, 64)))


def plain(codes: list[int], keys: FieldKeys, bits: int, block: bytes) -> list[int]:
    return words(signature(codes, keys, bits, block))


@given(
    values=st.lists(st.text(alphabet="abc\U0001d4d0", min_size=1, max_size=9), max_size=6),
    secret=st.binary(min_size=64, max_size=64),
    bits=st.sampled_from([64, 128, 192]),
    block=st.binary(min_size=8, max_size=8),
    table_bytes=st.sampled_from([1, 2000, minhash.TABLE_BYTES]),
    suite=st.sampled_from(Suite),
)
def test_fast_agrees_with_the_definition(
    values: list[str], secret: bytes, bits: int, block: bytes, table_bytes: int, suite: Suite
) -> None:
    keys = FieldKeys(secret[:32], secret[32:], suite)
    sets = tokenise(values, "bigrams")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(minhash, "TABLE_BYTES", table_bytes)
        made = signatures(sets, keys, bits, block)
    assert made.dtype == np.uint64
    assert made.shape == (len(values), bits // 64)
    assert made.tolist() == [plain(sets[i].tolist(), keys, bits, block) for i in range(len(values))]


@pytest.mark.parametrize("suite", Suite)
@pytest.mark.parametrize("table_bytes", [1 << 21, minhash.TABLE_BYTES])
def test_many_values_take_several_calls_and_chunks(
    table_bytes: int, suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = FieldKeys(KEYS.k1, KEYS.k2, suite)
    generator = np.random.default_rng(5)
    messages = generator.integers(97, 123, size=(3000, 6), dtype=np.uint32)
    values = [row.tobytes().decode("utf-32-le") for row in messages]
    sets = tokenise(values, "positional_bigrams")
    bits = 512
    distinct = len(np.unique(sets.codes))
    assert 4 * bits * distinct > 2 * _CALL_BYTES
    assert (4 * bits * distinct > table_bytes) == (table_bytes == 1 << 21)
    monkeypatch.setattr(minhash, "TABLE_BYTES", table_bytes)
    made = signatures(sets, keys, bits)
    for i in range(0, len(values), 97):
        assert made[i].tolist() == plain(sets[i].tolist(), keys, bits, bytes(8))
    monkeypatch.setattr(minhash, "TABLE_BYTES", 1)
    np.testing.assert_array_equal(made, signatures(sets, keys, bits))


def test_a_longer_signature_begins_with_the_shorter() -> None:
    sets = tokenise(["john", "jon"], "bigrams")
    np.testing.assert_array_equal(signatures(sets, KEYS, 1024)[:, :2], signatures(sets, KEYS, 128))


def test_equal_sets_have_equal_signatures_and_order_and_block_decide() -> None:
    sets = tokenise(["aaaa", "aaa", "bbb"], "bigrams")
    made = signatures(sets, KEYS, 256)
    assert (made[0] == made[1]).all()
    assert (made[0] != made[2]).any()
    assert (signatures(sets, KEYS, 256, b"\1" + bytes(7)) != made).any(axis=1).all()
    assert (signatures(sets, FieldKeys(KEYS.k2, KEYS.k1), 256) != made).any(axis=1).all()


def test_the_lowest_bit_has_no_part_in_the_order() -> None:
    # Two tokens' numbers are set by hand: where they tie but for the lowest bit, the bit is 0.
    rows = np.array([[9, 8, 7, 4] * 16, [8, 9, 6, 4] * 16], dtype=np.uint32)
    out = np.empty((1, 1), dtype=np.uint64)
    minhash._minimum(rows, np.array([0, 1]), np.array([0, 2]), out)
    assert out[0, 0] == 0
    rows = np.array([[11, 8, 7, 5] * 16, [12, 9, 9, 5] * 16], dtype=np.uint32)
    minhash._minimum(rows, np.array([0, 1]), np.array([0, 2]), out)
    assert f"{int(out[0, 0]):064b}"[::-1] == "1011" * 16


@given(codes=st.lists(st.integers(0, 2**64 - 1), max_size=300), copies=st.integers(1, 3), maximum=st.integers(0, 400))
def test_index_finds_each_distinct_code_once(codes: list[int], copies: int, maximum: int) -> None:
    array = np.array(codes * copies, dtype=np.uint64)
    distinct, places = minhash._index(array, maximum)
    if len(set(codes)) > maximum:
        assert len(places) == 0
    else:
        assert distinct.tolist() == list(dict.fromkeys(codes))
        np.testing.assert_array_equal(distinct[places], array)


def test_index_grows() -> None:
    array = np.random.default_rng(3).permutation(np.repeat(np.arange(20_000, dtype=np.uint64), 2))
    distinct, places = minhash._index(array, 20_000)
    assert len(distinct) == 20_000
    np.testing.assert_array_equal(distinct[places], array)


@pytest.mark.parametrize("suite", Suite)
def test_golden_vectors_hold_for_the_definition(suite: Suite) -> None:
    assert make_signatures.written(suite) == make_signatures.PATHS[suite].read_text("ascii")


@pytest.mark.parametrize("suite", Suite)
def test_golden_vectors_hold_for_the_bulk_form(suite: Suite) -> None:
    golden: dict[str, Any] = json.loads(make_signatures.PATHS[suite].read_text("ascii"))
    seed = Seed(bytes.fromhex(golden["seed"]))
    digest = bytes.fromhex(golden["encoding_digest"])
    project, domain, epoch = golden["project"], golden["domain"], golden["epoch"]
    token_key = derive_key(seed, project, Purpose.TOKEN, digest, domain, "", epoch)
    keys = derive(seed, project, Purpose.SIGNATURE, digest, domain, "", epoch, suite)
    other = derive(seed, project, Purpose.SIGNATURE, digest, domain, "born", epoch)
    assert [key.hex() for key in (token_key, keys.k1, keys.k2, other.k1, other.k2)] == list(golden["keys"].values())
    for entry in golden["values"]:
        sets = tokenise([entry["value"]], entry["tokenisation"], token_key, suite=suite)
        assert [f"{code:016x}" for code in sets.codes.tolist()] == entry["codes"]
        for block, signed in entry["signatures"].items():
            made = signatures(sets, keys, golden["bits"], bytes.fromhex(block))
            assert made.astype("<u8").tobytes().hex() == signed


def test_composed_and_decomposed_letters_differ_unless_cleaned() -> None:
    assert tokens("josé", "bigrams") != tokens("jose\u0301", "bigrams")


@pytest.mark.parametrize(("bits", "block"), [(0, 8), (-64, 8), (100, 8), (8256, 8), (64, 7), (64, 16)])
def test_wrong_sizes_are_refused(bits: int, block: int) -> None:
    with refusal(ErrorCode.PARAMETER):
        signatures(tokenise(["a"], "bigrams"), KEYS, bits, bytes(block))


def test_a_value_without_tokens_is_not_signed() -> None:
    with pytest.raises(GemelError, match="1 such values"):
        signatures(tokenise(["a", ""], "bigrams"), KEYS, 64)


def test_nothing_to_sign_gives_nothing() -> None:
    empty = Tokens(np.empty(0, dtype=np.uint64), np.zeros(1, dtype=np.int64))
    assert signatures(empty, KEYS, 64).shape == (0, 1)


def test_tokens_numbers_are_those_of_the_hidden_token() -> None:
    assert len(hidden(5, KEYS.k1)) == 8
    assert len(set(numbers(5, KEYS, 256))) > 250
