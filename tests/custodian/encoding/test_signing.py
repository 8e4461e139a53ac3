"""One way to sign: each distinct value once, or once in each context; signatures leave in the order of their bytes."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.keys.derivation import Purpose, Seed, derive, derive_key
from gemel.common.specification import encoding_digest, load_specification
from gemel.custodian.encoding.signing import Signer, canonical
from tests.custodian.encoding.minhash.definition import signature, words
from tests.custodian.tokens.definition import tokens
from tests.specifications import heading

SPEC = load_specification(
    heading("signing")
    + """
fields: [{name: surname, kind: name, bits: 64}]
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)
SEED = Seed(bytes(range(32)))


def by_the_book(value: str | None, block: int, rule: str) -> list[int] | None:
    digest = encoding_digest(SPEC)
    keys = derive(SEED, "signing", Purpose.SIGNATURE, digest, "surname", rule, 5)
    token_key = derive_key(SEED, "signing", Purpose.TOKEN, digest, "surname", "", 5)
    codes = tokens(value, "bigrams", token_key) if value else ()
    return words(signature(codes, keys, 64, block.to_bytes(8, "little"))) if codes else None


@given(
    column=st.lists(st.none() | st.sampled_from(["", "smith", "smyth", "aaa", "aaaa"]), min_size=1, max_size=9),
    data=st.data(),
    rule=st.sampled_from(["", "born"]),
)
def test_any_rows_in_any_blocks_or_none_have_the_signatures_of_the_definition(
    column: list[str | None], data: st.DataObject, rule: str
) -> None:
    """Also of some rows only, whose values are fewer; a row without a block's digest has no signature."""
    rows = data.draw(st.lists(st.integers(0, len(column) - 1), max_size=12))
    digest = st.sampled_from([0, 7, 2**64 - 1])
    block = data.draw(st.none() | st.lists(digest, min_size=len(rows), max_size=len(rows)))
    signer = Signer(SPEC, SEED, 5)
    prepared = signer.prepare(SPEC.field("surname"), {"surname": pl.Series(column, dtype=pl.String)})
    blocks = None if block is None else np.array(block, dtype=np.uint64)
    found = signer.sign(prepared, np.array(rows, dtype=np.int64), blocks, rule=rule)
    for place, row in enumerate(rows):
        signed = block is None or block[place] != 0
        expected = by_the_book(column[row], block[place] if block else 0, rule) if signed else None
        code = found.codes[place]
        assert (found.signatures[code].tolist() if code >= 0 else None) == expected
    assert sorted(set(found.codes.tolist()) - {-1}) == list(range(found.n_distinct))


@given(st.lists(st.lists(st.sampled_from([0, 1, 256, 2**63, 2**64 - 1]), min_size=3, max_size=3), max_size=40))
def test_canonical_order_is_that_of_the_bytes(rows: list[list[int]]) -> None:
    signed = np.array(rows, dtype=np.uint64).reshape(len(rows), 3)
    ordered, ranks = canonical(signed)
    assert [row.astype("<u8").tobytes() for row in ordered] == sorted({row.astype("<u8").tobytes() for row in signed})
    np.testing.assert_array_equal(ordered[ranks], signed)
