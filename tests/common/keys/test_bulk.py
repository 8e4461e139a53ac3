"""The approved suite: its function by the standard's vectors and the library's CMAC, and whether it is here."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.cmac import CMAC
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode
from gemel.common.keys import sealing
from gemel.common.keys.bulk import codes_of_rows, counters, numbers, pseudo_random, subkeys
from gemel.common.keys.sealing import require_suite
from gemel.common.keys.suite import Suite, keyed_hash
from tests.carole.refusals import refusal

KEY = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
"""Of the examples of AES-256 in NIST SP 800-38B, appendix D.3."""
MESSAGE = bytes.fromhex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411")


def cmac(key: bytes, message: bytes) -> bytes:
    mac = CMAC(AES(key))
    mac.update(message)
    return mac.finalize()


def words(content: bytes) -> np.ndarray:
    return np.frombuffer(content, dtype="<u8").copy()


def test_the_subkeys_are_those_of_the_standard() -> None:
    whole, padded = (subkey.tobytes().hex() for subkey in subkeys(KEY))
    assert whole == "cad1ed03299eedac2e9a99808621502f"
    assert padded == "95a3da06533ddb585d3533010c42a0d9"


def test_a_block_has_the_code_of_the_standard() -> None:
    block = words(MESSAGE[:16])
    pseudo_random(KEY, block, Suite.APPROVED)
    assert block.tobytes().hex() == "28a7023f452e8f82bd4bf28d8c37c35c"


def test_a_message_with_a_padded_block_has_the_code_of_the_standard() -> None:
    found = codes_of_rows(KEY, words(MESSAGE).reshape(1, 5), Suite.APPROVED)
    assert found.tobytes().hex() == "aaf3d8f1de5640c232f5b169b9c911e6"[:16]


@given(key=st.binary(min_size=32, max_size=32), n_words=st.integers(1, 7), n=st.integers(0, 4), data=st.data())
def test_rows_have_the_codes_of_the_library(key: bytes, n_words: int, n: int, data: st.DataObject) -> None:
    content = data.draw(st.binary(min_size=8 * n_words * n, max_size=8 * n_words * n))
    rows = words(content).reshape(n, n_words)
    expected = [cmac(key, row.tobytes())[:8] for row in rows]
    assert [bytes(code) for code in codes_of_rows(key, rows, Suite.APPROVED).view("V8")] == expected
    assert rows.tobytes() == content


def test_many_blocks_have_the_codes_of_the_library() -> None:
    """More than are encrypted in one call, and not a whole number of calls."""
    n = (1 << 16) + 3
    first = np.arange(n, dtype=np.uint64)
    made = numbers(KEY, first, first[::-1], Suite.APPROVED)
    for place in (0, 1, (1 << 16) - 1, 1 << 16, n - 2, n - 1):
        expected = cmac(KEY, struct.pack("<2Q", place, n - 1 - place))[:8]
        assert int(made[place]).to_bytes(8, "little") == expected


def test_counters_end_the_input_of_the_derivation_in_counter_mode() -> None:
    assert counters(3, Suite.APPROVED).tobytes() == b"".join(struct.pack(">2I", i, 384) for i in (1, 2, 3))
    assert counters(3).tolist() == [0, 1, 2]


@pytest.mark.parametrize("size", [4, 8, 16, 32])
def test_the_approved_hash_is_the_beginning_of_hmac(size: int) -> None:
    """RFC 4231, section 4.5: its key of 25 bytes, and the same with zeros behind it, are one key of HMAC."""
    key = bytes.fromhex("0102030405060708090a0b0c0d0e0f10111213141516171819") + bytes(7)
    expected = "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
    assert keyed_hash(key, size, Suite.APPROVED)(b"\xcd" * 50).hex() == expected[: 2 * size]


def test_the_two_hashes_have_nothing_in_common() -> None:
    made = {keyed_hash(KEY, 8, suite)(b"content") for suite in Suite}
    assert len(made) == 2


@pytest.mark.parametrize("suite", Suite)
def test_this_installation_has_both_suites(suite: Suite) -> None:
    require_suite(suite, "here")


def test_what_the_library_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(suite: Suite) -> None:
        raise UnsupportedAlgorithm("not in this build")

    monkeypatch.setattr(sealing, "new_key", lacking)
    with refusal(ErrorCode.CONFIGURATION) as caught:
        require_suite(Suite.APPROVED, "project people")
    assert "has no ML-KEM-1024 and P-384" in caught.value.what
    assert caught.value.where == "project people"
    assert "decline the specification" in caught.value.remedy
