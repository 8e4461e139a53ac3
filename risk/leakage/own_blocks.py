"""The gate under block keys: samples of a file's blocks attacked, rule by rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tryst.common.encoding.blocking_keys import key_text
from tryst.common.encoding.columns import file_order
from tryst.common.encoding.padding import RuleRows, min_size, rows_of_rules
from tryst.common.encoding.records import encode_rows
from tryst.common.errors import TrystError
from tryst.common.keys.assessment_keys import AssessmentKeys
from tryst.common.leakage_report import Finding
from tryst.common.specification import BlockingRule, FieldSpec, Specification
from tryst.risk.leakage.block_model import KeyLikelihood, block_likelihood
from tryst.risk.leakage.block_view import BlockAttack, BlockView, attack_by_size, known_by_block, size_class_of
from tryst.risk.leakage.own_file import PER_CLASS, finding, public_values, truth_of
from tryst.risk.leakage.own_register import by_register
from tryst.risk.leakage.public import PublicValues

_OTHERS = 200


def in_blocks(
    columns: Mapping[str, pl.Series], spec: Specification, keys: AssessmentKeys, rng: np.random.Generator
) -> Iterator[Finding]:
    """Findings under block keys, rule by rule; blocks are attacked as they are sent, with their dummies."""
    public = {field.name: public_values(columns[field.name], field, rng) for field in spec.fields}
    noise = keys.throw_away_noise("blocks")
    whole = rows_of_rules(columns, spec, noise)
    weights: dict[str, dict[int, float]] = {}
    drawn: dict[str, NDArray[np.int64]] = {}
    texts: dict[str, pl.Series] = {}
    for rule in spec.keyed_rules:
        rows = whole.rows[rule.name]
        text = key_text(whole.columns, spec, rule, split=True)[rows]
        places, weights[rule.name] = _draw(text, rows < whole.n_records, rng)
        drawn[rule.name], texts[rule.name] = rows[places], text
    used = np.unique(np.concatenate(list(drawn.values())))
    if not len(used):
        return
    some = RuleRows(
        {name: column[used] for name, column in whole.columns.items()},
        {name: np.searchsorted(used, rows) for name, rows in drawn.items()},
        int(np.searchsorted(used, whole.n_records)),
    )
    sent = encode_rows(some, spec, keys.throw_away_seed("blocks"), 1, noise=noise, samples=False, shuffle=file_order)
    for part, rule in zip(map(known_by_block, sent.sets), spec.keyed_rules, strict=True):
        order = sent.orders[rule.name]
        if not len(order):
            continue
        real = order < some.n_records
        n_blocked = min(len(whole.rows[rule.name]), whole.n_records)  # with dummies she knows the file's size alone
        for field in spec.fields:
            names = public[field.name]
            if names is None:
                continue
            signed = part.fields[field.name]
            blocks = BlockView.of(signed, part.blocks[rule.name], field.randomised_response)
            if spec.padding is not None:
                blocks = replace(blocks, minimum=min_size(blocks.sizes))
            truth = truth_of(part, field.name, some.columns[field.name], order, names)
            records = np.bincount(signed.codes[real & (signed.codes >= 0)], minlength=signed.n_distinct)
            for attack, how in _attacks(columns, spec, rule, field, names, n_blocked):
                found, _ = attack_by_size(
                    attack, field.name, how, blocks, names, truth, rng, PER_CLASS, weights[rule.name], records
                )
                yield finding(found, rule.name)
        yield from by_register(whole, spec, part, used[order], texts[rule.name], rng)


def _draw(
    text: pl.Series, real: NDArray[np.bool_], rng: np.random.Generator
) -> tuple[NDArray[np.int64], dict[int, float]]:
    """Places of the rows of some whole blocks of every size, and the rows that are in blocks of each."""
    if not len(text):
        return np.empty(0, dtype=np.int64), {}
    _, block = np.unique(text.to_numpy().astype(str), return_inverse=True)
    sizes, records = np.bincount(block), np.bincount(block, weights=real)
    classes = size_class_of(sizes)
    chosen: list[NDArray[np.int64]] = []
    weights: dict[int, float] = {}
    for size_class in np.unique(classes):
        inside = rng.permutation(np.flatnonzero(classes == size_class))
        weights[int(size_class)] = float(sizes[inside].sum())
        chosen.append(inside[: 1 + int(np.searchsorted(np.cumsum(records[inside]), PER_CLASS))])
    return np.flatnonzero(np.isin(block, np.concatenate(chosen))), weights


def _attacks(
    columns: Mapping[str, pl.Series],
    spec: Specification,
    rule: BlockingRule,
    field: FieldSpec,
    public: PublicValues,
    n_records: int,
) -> Iterator[tuple[str, BlockAttack]]:
    """What a field under a rule is attacked with."""
    yield "each block by itself", block_likelihood
    own = tuple(key for key in rule.keys if key.field == field.name)
    if not own:
        return
    try:
        alone = BlockingRule(name=rule.name, keys=own)
        taken = key_text({field.name: pl.Series(public.values, dtype=pl.String)}, spec, alone)
        rest = tuple(key for key in rule.keys if key.field != field.name)
        others = np.ones(1)
        if rest:
            counted = key_text(columns, spec, BlockingRule(name=rule.name, keys=rest)).drop_nulls().value_counts()
            counts = np.sort(counted.get_column("count").to_numpy().astype(np.float64))[::-1]
            others = counts[:_OTHERS] / counts.sum()
    except TrystError:
        return
    _, key_of = np.unique(taken.fill_null("").to_numpy().astype(str), return_inverse=True)
    yield "blocks of the field's own keys", KeyLikelihood(public, key_of, others, n_records=n_records)
