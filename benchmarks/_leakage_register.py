"""The leakage benchmark's sections on rows recognised by whoever has a register of these people, or of some of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks._leakage_study import OVERLAPS, Line, Study
from tryst.common.encoding.blocking_keys import key_text
from tryst.common.specification import Specification
from tryst.risk.leakage.fingerprint_model import FingerprintModel
from tryst.risk.leakage.own_file import clear_values
from tryst.risk.leakage.pairs import fingerprints_in_clear, fingerprints_of_signatures
from tryst.risk.leakage.recognition import Recognition, judge, recognise
from tryst.risk.leakage.recovery import UNKNOWN
from tryst.risk.leakage.view import FieldView

BORN = "date_of_birth"
DAYS = 6
"""Days of a month that are made one date, so that blocks have as many rows as in a file of 600,000."""

ATTACKED = {1: 2000, DAYS: 1000}
"""Rows attacked, in whole blocks drawn at random, by days that are made one date."""

BLURRED: tuple[dict[str, float], ...] = ({"bits": 128}, {"bits": 64}, {"bits": 64, "randomised_response": 0.1})
FOUND = {(1, 0.4): 0.065, (DAYS, 0.4): 0.15, (DAYS, 1.0): 0.95}
"""Required of the attack on the specification as it is drafted: the figures that were found independently."""

STATED = 0.05
"""Stated of hardened fields: of the people in a register of 10 or 40 %, less are recognised, at some four rows."""


def by_birthday(study: Study) -> Iterator[Line]:
    """Blocks of a date of birth of 100,000 people, as drafted and hardened."""
    yield from _registers(study, 1)


def by_some_days(study: Study) -> Iterator[Line]:
    """Blocks as large as those of a date of birth are in a file of 600,000."""
    yield from _registers(study, DAYS)


def _registers(study: Study, days: int) -> Iterator[Line]:
    columns = {**study.columns, BORN: _pooled(study.columns[BORN], days)}
    study.columns = columns
    rule = {"name": BORN, "keys": [{"field": BORN}]}
    drafted = study.specified(blocking=[rule])
    registers = {}
    for share in OVERLAPS:
        clear = study.overlapping(share)
        registers[share] = {**clear, BORN: clear[BORN] if clear is columns else _pooled(clear[BORN], days)}
    for blurred in ({}, *BLURRED):
        document = drafted.model_dump(mode="json")
        spec = Specification.model_validate(
            {**document, "fields": [{**field, **blurred} for field in document["fields"]]}
        )
        how = ", ".join(f"{name} {value:g}" for name, value in blurred.items()) or "as drafted"
        for share, (found, rows, seconds) in _attacked(study, spec, registers, ATTACKED[days]).items():
            stated = STATED if days == 1 and "randomised_response" in blurred and share < 1 else None
            yield Line(
                f"{how}: blocks of {rows:.1f} rows, register of {share:.0%}: {found.of_known:.1%} of those known;"
                f" {found.sure:.1%} claimed for sure, {found.precision:.1%} of these rightly",
                found.recognised,
                0.0,
                attainable=found.known,
                error=found.error * found.known,
                minimum=None if blurred else FOUND.get((days, share)),
                above_chance=None if stated is None else stated * share,
                seconds=seconds,
            )


def _attacked(
    study: Study, spec: Specification, registers: Mapping[float, Mapping[str, pl.Series]], n_rows: int
) -> dict[float, tuple[Recognition, float, float]]:
    """By share: what is recognised, rows of a row's block, and seconds."""
    (part,), orders = study.encoded(spec)
    order, fields = orders[part.rule], [field for field in spec.fields if field.name != BORN]
    _, block, sizes = np.unique(part.blocks[part.rule], return_inverse=True, return_counts=True)
    drawn = study.rng.permutation(len(sizes))
    chosen = drawn[: 1 + int(np.searchsorted(np.cumsum(sizes[drawn]), n_rows))]
    attacked = np.isin(block, chosen)
    mine = np.full(len(order), UNKNOWN, dtype=np.int64)
    _, mine[attacked] = np.unique(block[attacked], return_inverse=True)
    held = [
        (FieldView.of(part.fields[f.name], f.randomised_response), part.fields[f.name].codes.astype(np.int64))
        for f in fields
    ]
    seen = fingerprints_of_signatures(mine, held)
    bits = np.array([field.bits for field in fields], dtype=np.float64)
    inverted = np.array([field.randomised_response for field in fields])
    rows = float((sizes.astype(np.float64) ** 2).sum() / sizes.sum())
    results = {}
    for share, register in registers.items():
        begin = time.monotonic()
        shuffled = study.rng.permutation(study.n)
        theirs = _blocks(key_text(register, spec, spec.keyed_rules[0])[shuffled])
        values = [clear_values(register[field.name].gather(shuffled), field) for field in fields]
        clear = fingerprints_in_clear(theirs, [value for value in values if value is not None])
        model = FingerprintModel.of(bits, inverted, clear, seen)
        claims = recognise(seen, mine, clear, theirs, model, share, study.rng)
        place = np.argsort(shuffled)
        truth = np.where(order < int(share * study.n), place[order], UNKNOWN)
        found = judge(claims, truth, attacked.astype(np.float64), np.maximum(mine, 0))
        results[share] = found, rows, time.monotonic() - begin
    return results


def _blocks(text: pl.Series) -> NDArray[np.int64]:
    """Numbers of the blocks from 0, -1 without a key."""
    keys = text.fill_null("").to_numpy().astype(str)
    kinds, found = np.unique(keys, return_inverse=True)
    return (found - int(kinds[0] == "")).astype(np.int64)


def _pooled(born: pl.Series, days: int) -> pl.Series:
    """Dates with so many days of a month made one."""
    if days == 1:
        return born
    day = 1 + (born.str.slice(6, 2).cast(pl.Int64) - 1) // days * days
    return born.str.slice(0, 6) + day.cast(pl.String).str.zfill(2)
