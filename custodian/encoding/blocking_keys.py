"""Keyed digests of blocking keys: rows are compared when they agree on one, and Carole cannot read them.

A blocking key is the parts that a rule names, each the whole of a field, its first characters, or the year, month or
day of a date. The digest is 64 bits of BLAKE2b, or of HMAC-SHA-256 in the approved suite, under a key of that rule
alone: of a million different keys two collide with probability 3e-8, and then only cost a comparison. Where a part is
missing the row has no key under that rule (0): unknown values do not agree. A date of which a compared part is unknown
has no key as a whole, but may have one by its year.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from gemel.common.arrays import U64, Columns
from gemel.common.keys.suite import Suite, keyed_hash
from gemel.common.signatures.signature_sets import INSTEAD_OF_ZERO, NO_KEY
from gemel.common.specification import BlockingKey, BlockingRule, Specification
from gemel.custodian.cleaning.parts import part_of
from gemel.custodian.encoding.columns import distinct_values

DIGEST_BYTES = 8


def blocking_keys(
    columns: Columns, specification: Specification, rule: BlockingRule, key: bytes, *, split: bool = False
) -> U64:
    """Keyed digest of every row's blocking key under one rule, from cleaned values per field, null where missing.

    The key is the rule's own, 32 bytes. The digests are uint64, shape (n_rows,), ``NO_KEY`` (0) where a part is
    missing, and only there; a microsecond for every distinct key, and much less for a repeated one.
    """
    return keyed_digests(key_text(columns, specification, rule, split=split), key, specification.suite)


def keyed_digests(text: pl.Series, key: bytes, suite: Suite = Suite.DEFAULT) -> U64:
    """Keyed digest of every row's text, ``NO_KEY`` (0) where it is null, and only there; shape (n_rows,)."""
    values, codes = distinct_values(text)
    digests = np.empty(len(values) + 1, dtype=np.uint64)
    digests[-1] = NO_KEY  # code -1: a part is missing
    digest = keyed_hash(key, DIGEST_BYTES, suite)
    for place, value in enumerate(values):
        digests[place] = int.from_bytes(digest(value.encode()), "little") or INSTEAD_OF_ZERO
    return digests[codes]


def key_text(columns: Columns, specification: Specification, rule: BlockingRule, *, split: bool = False) -> pl.Series:
    """Every row's blocking key under one rule as plain text, not yet keyed; null where a part is missing."""
    frame = pl.DataFrame({name: columns[name] for name in rule.fields})
    keys = (*rule.keys, BlockingKey(field=rule.split)) if split and rule.split else rule.keys
    parts = [part_of(part, specification.field(part.field)) for part in keys]
    return frame.select(written_out(parts)).to_series()


def written_out(parts: list[pl.Expr]) -> pl.Expr:
    """Each row's parts as one text, every part behind its number of characters; null if a part is missing.

    Parts with other boundaries never give the same text: ``ab`` and ``c`` are ``2:ab1:c``, ``a`` and ``bc``
    are ``1:a2:bc``.
    """
    framed = [chunk for part in parts for chunk in (part.str.len_chars().cast(pl.String), pl.lit(":"), part)]
    return pl.concat_str(framed, ignore_nulls=False).alias("key")
