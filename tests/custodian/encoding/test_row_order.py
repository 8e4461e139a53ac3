"""The order of rows: of the content alone, and without a trace of the file's order."""

from __future__ import annotations

import os
from collections import Counter

import numpy as np
import pytest

from gemel.common.keys.noise import NoiseKey
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet, VariableCodes
from gemel.custodian.encoding.columns import Drawing, in_content_order, random_order

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


# Orders of rows: all equally likely, never from a seed.


def test_all_orders_are_equally_likely() -> None:
    # Chi-square of 24 orders, 23 degrees of freedom: above 95 with probability 1e-10. The source has no seed.
    draws = 4800
    counts = Counter(tuple(random_order(4).tolist()) for _ in range(draws))
    expected = draws / 24
    assert len(counts) == 24
    assert sum((count - expected) ** 2 / expected for count in counts.values()) < 95


def test_equal_draws_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [np.array(draw, dtype=np.uint64).tobytes() for draw in ([5, 7, 5], [9, 1, 4])]
    monkeypatch.setattr(os, "urandom", lambda size: answers.pop(0))
    assert random_order(3).tolist() == [1, 2, 0]
    assert answers == []
