"""The order of rows and the choice of samples: of the content alone, and without a trace of the file's order."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB

from tryst.common.encoding.row_order import Drawing, in_content_order, sampled
from tryst.common.encoding.signature_sets import FieldSignatures, SignatureSet, VariableCodes
from tryst.common.keys.noise import NoiseKey

NOISE = NoiseKey(bytes(range(32)))
DRAWING = Drawing("project", NOISE)


def set_of(rng: np.random.Generator, n: int) -> SignatureSet:
    fields = {
        name: FieldSignatures(64, np.arange(3, dtype=np.uint64)[:, None], rng.integers(-1, 3, n).astype(np.int32))
        for name in ("surname", "given")
    }
    blocks = {"born": rng.integers(0, 3, n).astype(np.uint64)}
    return SignatureSet("", n, fields, blocks, {"sex": VariableCodes(2, rng.integers(-1, 2, n).astype(np.int16))})


def lines(part: SignatureSet) -> list[tuple[int, ...]]:
    columns = [*part.blocks.values(), *(field.codes for field in part.fields.values())]
    columns += [variable.codes for variable in part.variables.values()]
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_rows_are_in_the_order_of_what_is_sent_and_those_of_the_end_after_them() -> None:
    rng = np.random.default_rng(1)
    part, rows, last = set_of(rng, 500), rng.permutation(500), rng.random(500) < 0.1
    ordered, order = in_content_order(part, rows, last, DRAWING)
    given = {int(row): (bool(end), line) for row, end, line in zip(rows, last, lines(part), strict=True)}
    after = [(given[int(row)][0], line) for row, line in zip(order, lines(ordered), strict=True)]
    assert after == [given[int(row)] for row in order]
    assert after == sorted(given.values())
    assert sorted(order.tolist()) == list(range(500))


def test_equal_rows_have_an_order_of_the_custodians_own() -> None:
    n = 2_000
    same = FieldSignatures(64, np.zeros((1, 1), dtype=np.uint64), np.zeros(n, dtype=np.int32))
    rows, none = np.arange(n), np.zeros(n, dtype=np.bool_)

    def order(rule: str, drawing: Drawing) -> np.ndarray:
        return in_content_order(SignatureSet(rule, n, {"sex": same}, {}), rows, none, drawing)[1]

    first = order("born", DRAWING)
    assert np.array_equal(first, order("born", Drawing("project", NOISE)))
    others = [
        order("name", DRAWING),
        order("born", Drawing("another", NOISE)),
        order("born", Drawing("project", NoiseKey(bytes(32)))),
        order("born", Drawing("project", None)),
        rows,
    ]
    for other in others:
        # Fixed points of a random permutation are Poisson(1): 20 and more once in 1e19.
        assert np.count_nonzero(first == other) < 20


def test_a_sample_is_that_of_its_definition() -> None:
    rng = np.random.default_rng(2)
    digests = rng.integers(0, 40, 300).astype(np.uint64)
    key = NOISE.derive("project", "sample of surname").k1
    cipher = Cipher(AES(key), ECB()).encryptor()  # noqa: S305 - the definition
    seen: Counter[int] = Counter()
    numbered = []
    for row, value in enumerate(digests.tolist()):
        block = value.to_bytes(8, "little") + seen[value].to_bytes(8, "little")
        numbered.append((int.from_bytes(cipher.update(block)[:8], "little"), row))
        seen[value] += 1
    expected = [row for _, row in sorted(numbered)]
    assert sampled(digests, 50, "surname", DRAWING).tolist() == expected[:50]
    assert sampled(digests, 1_000, "surname", DRAWING).tolist() == expected
    # Of two fields with the same values, and of two custodians, it is another.
    assert sampled(digests, 50, "given", DRAWING).tolist() != expected[:50]
    assert sampled(digests, 50, "surname", Drawing("project", NoiseKey(bytes(32)))).tolist() != expected[:50]


def test_the_same_values_are_drawn_in_whatever_order_the_file_has_them() -> None:
    rng = np.random.default_rng(3)
    digests = rng.integers(0, 1 << 62, 5_000).astype(np.uint64)
    digests[rng.random(5_000) < 0.5] = 0  # missing
    drawn = digests[sampled(digests, 400, "surname", DRAWING)]
    shuffled = rng.permutation(digests)
    assert np.array_equal(drawn, shuffled[sampled(shuffled, 400, "surname", DRAWING)])


@pytest.mark.parametrize("share", [0.5, 0.05])
def test_every_row_is_equally_likely_whatever_its_value(share: float) -> None:
    rng = np.random.default_rng(4)
    digests = np.where(rng.random(20_000) < share, np.uint64(7), rng.integers(0, 1 << 62, 20_000).astype(np.uint64))
    drawn = np.concatenate([digests[sampled(digests, 2_000, f"field {i}", DRAWING)] for i in range(10)])
    true = float((digests == 7).mean())
    # Six standard errors of a share among 20,000 draws.
    assert abs(float((drawn == 7).mean()) - true) < 6 * np.sqrt(true * (1 - true) / len(drawn))
