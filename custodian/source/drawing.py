"""Draws whole blocks, records and counts from a cleaned file that is not in memory, for the leakage gate.

A block is known by a hash of its key, and blocks come in the order of these: the same file and number give the same
records. 8 bytes a record are held, for one rule or field at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl
from numpy.random import Generator

from gemel.common.arrays import F64, I64, U64
from gemel.common.signatures.intervals import interval_of
from gemel.common.specification import BlockingRule, Specification
from gemel.custodian.drawn_records import (
    ANY_ROWS,
    BLOCKED_ROWS,
    CLASSES,
    COMMONEST,
    OTHER_ROWS,
    DrawnBlocks,
    DrawnRecords,
    size_class_of,
)
from gemel.custodian.encoding.blocking_keys import key_text
from gemel.custodian.encoding.file_records import variable_column
from gemel.custodian.source.cleaned_file import CleanedFile, hashes, of_rows

_AT_ONCE = 1 << 20
_NO_KEY = np.uint64(0)


def drawn_records(file: CleanedFile, spec: Specification, rng: Generator) -> DrawnRecords:
    """Draw from a file in mode block_keyed without padding, and without its decoys: they are as records."""
    table, names = file.records.table, [field.name for field in spec.fields]
    seed = int(rng.integers(2**63))
    chosen = {}
    for rule in spec.keyed_rules:
        keys_of = partial(_hash_of_keys, spec=spec, rule=rule, seed=seed)
        chosen[rule.name] = _chosen(of_rows(table, rule.fields, keys_of))
    counts = {name: _commonest(file, name, seed) for name in names}
    n = file.n_rows
    at_random = np.sort(rng.choice(n, min(n, ANY_ROWS), replace=False))
    variables = [variable_column(name) for name in file.records.variables]
    frames: list[pl.DataFrame] = []
    before = 0
    for batch in table.batches([*names, *variables]):
        flags = {"+anyone": np.zeros(batch.height, dtype=np.bool_)}
        begin, end = np.searchsorted(at_random, [before, before + batch.height])
        flags["+anyone"][at_random[begin:end] - before] = True
        for rule in spec.keyed_rules:
            found = _hash_of_keys(batch, spec, rule, seed)
            attacked, others, *_ = chosen[rule.name]
            flags[f"+attacked {rule.name}"] = np.isin(found, attacked)
            flags[f"+others {rule.name}"] = np.isin(found, others)
        kept = np.logical_or.reduce(list(flags.values()))
        frames.append(batch.with_columns(pl.Series(name, flag) for name, flag in flags.items()).filter(pl.Series(kept)))
        before += batch.height
    drawn = pl.concat(frames)

    def places(flag: str) -> I64:
        return np.flatnonzero(drawn[flag].to_numpy())

    anyone = places("+anyone")
    columns = {name: drawn[name] for name in names}
    categories = {name: drawn[variable_column(name)][anyone].alias(name) for name in file.records.variables}
    blocks = {}
    for name, (_, _, rows_of_size, own_size) in chosen.items():
        blocks[name] = DrawnBlocks(places(f"+attacked {name}"), places(f"+others {name}"), rows_of_size, own_size)
    return DrawnRecords(columns, categories, anyone, counts, blocks, n)


def _chosen(found: U64) -> tuple[U64, U64, F64, float]:
    rows_of_size, squares = np.zeros(CLASSES), 0.0
    attacked: list[U64] = []
    others: list[U64] = []
    taken, besides = np.zeros(CLASSES, dtype=np.int64), 0
    for keys, sizes in _ascending_blocks(found):
        size_class = size_class_of(sizes)
        rows_of_size += np.bincount(size_class, weights=sizes, minlength=CLASSES)
        squares += float((sizes.astype(np.float64) ** 2).sum())
        for each in np.unique(size_class):
            if taken[each] < BLOCKED_ROWS:
                inside = np.flatnonzero(size_class == each)
                rows = taken[each] + np.cumsum(sizes[inside])
                count = 1 + int(np.searchsorted(rows, BLOCKED_ROWS))
                attacked.append(keys[inside[:count]])
                taken[each] = rows[min(count, len(rows)) - 1]
        several = np.flatnonzero((sizes > 1) & ~np.isin(keys, np.concatenate(attacked)))
        rows = besides + np.cumsum(sizes[several])
        count = int(np.searchsorted(rows, OTHER_ROWS))
        others.append(keys[several[:count]])
        besides = int(rows[count - 1]) if count else besides
    total = float(rows_of_size.sum())
    nothing = np.empty(0, dtype=np.uint64)
    drawn, besides_them = np.concatenate([nothing, *attacked]), np.concatenate([nothing, *others])
    return (drawn, besides_them, rows_of_size, squares / total if total else 0.0)


def _ascending_blocks(found: U64) -> Iterator[tuple[U64, I64]]:
    """The different hashes, ascending, and how many rows have each, some at a time; rows without a key are left out."""
    parts = 1 << max(0, -(-len(found) // _AT_ONCE) - 1).bit_length()
    for part in range(parts):
        some = [found[begin : begin + _AT_ONCE] for begin in range(0, len(found), _AT_ONCE)]
        inside = np.concatenate([each[(interval_of(each, parts) == part) & (each != _NO_KEY)] for each in some])
        if len(inside):
            keys, sizes = np.unique(inside, return_counts=True)
            yield keys, sizes.astype(np.int64)


def _hash_of_keys(batch: pl.DataFrame, spec: Specification, rule: BlockingRule, seed: int) -> U64:
    """A hash of each row's blocking key, 0 where it has none."""
    text = key_text({name: batch[name] for name in rule.fields}, spec, rule, split=True)
    found = np.maximum(text.hash(seed).to_numpy(), 1)
    return np.where(text.is_null().to_numpy(), _NO_KEY, found)


def _commonest(file: CleanedFile, name: str, seed: int) -> pl.DataFrame:
    """The commonest values of a field, and how many records have each, by value."""
    keys, counts = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
    missing = pl.DataFrame({name: pl.Series([None], dtype=pl.String)}).hash_rows(seed=seed).to_numpy()[0]
    for some, sizes in _ascending_blocks(hashes(file.records.table, [name], seed)):
        here = some != missing
        keys, counts = np.concatenate([keys, some[here]]), np.concatenate([counts, sizes[here]])
        if len(keys) > COMMONEST:
            largest = np.argpartition(counts, len(counts) - COMMONEST)[-COMMONEST:]
            keys, counts = keys[largest], counts[largest]
    counted = pl.DataFrame({"hash": keys, "count": counts})
    values: list[pl.DataFrame] = []
    left = counted["hash"]
    for batch in file.records.table.batches([name]):
        if left.is_empty():
            break
        different = batch.unique(name)
        with_hash = different.select(pl.col(name).alias("value"), different.hash_rows(seed=seed).alias("hash"))
        values.append(with_hash.join(left.to_frame(), on="hash", how="semi"))
        left = left.filter(~left.is_in(values[-1]["hash"].implode()))
    nothing = pl.DataFrame(schema={"value": pl.String, "hash": pl.UInt64})
    texts = pl.concat([nothing, *values])
    return texts.join(counted, on="hash").select("value", "count").sort("value")
