"""The gate under block keys: samples of a file's blocks attacked, rule by rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.errors import GemelError
from gemel.common.keys.noise import AssessmentKeys, NoiseKey
from gemel.common.specification import BlockingRule, FieldSpec, Specification
from gemel.custodian.drawn_records import DrawnRecords, size_class_of
from gemel.custodian.encoding.blocking_keys import key_text
from gemel.custodian.encoding.columns import file_order
from gemel.custodian.encoding.padding import RuleRows, min_size, rows_of_rules
from gemel.custodian.encoding.records import encode_rows
from gemel.custodian.leakage.block_model import KeyLikelihood, block_likelihood
from gemel.custodian.leakage.block_view import BlockAttack, BlockView, attack_by_size, known_by_block
from gemel.custodian.leakage.own_file import PER_CLASS, dictionaries, finding, truth_of
from gemel.custodian.leakage.own_register import by_register
from gemel.custodian.leakage.public import PublicValues
from gemel.custodian.leakage_report import Finding

_OTHERS = 200


@dataclass(frozen=True)
class _Blocks:
    """The rows that are sent under each rule, or whole blocks of them, and those that are attacked."""

    whole: RuleRows
    texts: Mapping[str, pl.Series]
    attacked: Mapping[str, NDArray[np.int64]]
    weights: Mapping[str, Mapping[int, float]]
    n_blocked: Mapping[str, int]
    own_size: Mapping[str, float]


def _of_file(
    columns: Mapping[str, pl.Series], spec: Specification, noise: NoiseKey, rng: np.random.Generator
) -> _Blocks:
    """Of a file that is there."""
    whole = rows_of_rules(columns, spec, noise)
    texts, attacked, weights, n_blocked, own_size = {}, {}, {}, {}, {}
    for rule in spec.keyed_rules:
        rows = whole.rows[rule.name]
        texts[rule.name] = text = key_text(whole.columns, spec, rule, split=True)[rows]
        places, weights[rule.name] = _draw(text, rows < whole.n_records, rng)
        attacked[rule.name] = rows[places]
        n_blocked[rule.name] = min(len(rows), whole.n_records)  # with dummies she knows the file's size alone
        sizes = text.value_counts().get_column("count").to_numpy().astype(np.float64)
        own_size[rule.name] = float((sizes**2).sum() / sizes.sum()) if len(sizes) else 0.0
    return _Blocks(whole, texts, attacked, weights, n_blocked, own_size)


def _of_drawn(drawn: DrawnRecords, spec: Specification) -> _Blocks:
    """Of a file from which whole blocks were drawn."""
    rows = {name: np.union1d(each.attacked, each.others) for name, each in drawn.blocks.items()}
    return _Blocks(
        RuleRows(drawn.columns, rows, drawn.n_drawn),
        {rule.name: key_text(drawn.columns, spec, rule, split=True)[rows[rule.name]] for rule in spec.keyed_rules},
        {name: each.attacked for name, each in drawn.blocks.items()},
        {name: dict(enumerate(each.rows_of_size.tolist())) for name, each in drawn.blocks.items()},
        {name: each.n_rows for name, each in drawn.blocks.items()},
        {name: each.own_size for name, each in drawn.blocks.items()},
    )


def in_blocks(
    columns: Mapping[str, pl.Series],
    spec: Specification,
    keys: AssessmentKeys,
    rng: np.random.Generator,
    drawn: DrawnRecords | None = None,
    *,
    sizes_alone: bool = False,
) -> Iterator[Finding]:
    """Findings under block keys, rule by rule; blocks are attacked as they are sent, with their dummies.

    Of a file that is too large there are the records that were `drawn`, and `columns` are theirs. With `sizes_alone`,
    as in mode shared, the attacker sees the sizes of blocks and nothing of what is in them: of fields that are in no
    key nothing is found, and no register recognises a row.
    """
    public = dictionaries(columns, spec, drawn, rng)
    noise = keys.throw_away_noise("blocks")
    blocks_of = _of_file(columns, spec, noise, rng) if drawn is None else _of_drawn(drawn, spec)
    anyone = columns if drawn is None else {name: column[drawn.anyone] for name, column in columns.items()}
    whole = blocks_of.whole
    used = np.unique(np.concatenate(list(blocks_of.attacked.values())))
    if not len(used):
        return
    some = RuleRows(
        {name: column[used] for name, column in whole.columns.items()},
        {name: np.searchsorted(used, rows) for name, rows in blocks_of.attacked.items()},
        int(np.searchsorted(used, whole.n_records)),
    )
    sent = encode_rows(some, spec, keys.throw_away_seed("blocks"), 1, noise=noise, samples=False, shuffle=file_order)
    for part, rule in zip(map(known_by_block, sent.sets), spec.keyed_rules, strict=True):
        order, weights = sent.orders[rule.name], blocks_of.weights[rule.name]
        if not len(order):
            continue
        real = order < some.n_records
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
            for attack, how in _attacks(anyone, spec, rule, field, names, blocks_of.n_blocked[rule.name], sizes_alone):
                found, _ = attack_by_size(
                    attack, field.name, how, blocks, names, truth, rng, PER_CLASS, weights, records
                )
                yield finding(found, rule.name)
        if sizes_alone:
            continue
        yield from by_register(
            whole, spec, part, used[order], blocks_of.texts[rule.name], rng, blocks_of.own_size[rule.name],
            None if drawn is None else drawn.blocks[rule.name].rows_of_size,
        )  # fmt: skip


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
    sizes_alone: bool,
) -> Iterator[tuple[str, BlockAttack]]:
    """What a field under a rule is attacked with."""
    if not sizes_alone:
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
    except GemelError:
        return
    _, key_of = np.unique(taken.fill_null("").to_numpy().astype(str), return_inverse=True)
    by_key = KeyLikelihood(public, key_of, others, n_records=n_records)
    if sizes_alone:
        yield "sizes of blocks of the field's own keys", by_key.by_sizes
    else:
        yield "blocks of the field's own keys", by_key
