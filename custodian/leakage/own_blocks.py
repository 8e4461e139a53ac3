"""The gate under block keys: samples of a file's blocks attacked, rule by rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

from gemel.common.arrays import F64, I64, Columns, Flags
from gemel.common.errors import GemelError
from gemel.common.keys.noise import AssessmentKeys, NoiseKey
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import BlockingRule, FieldSpec, Specification
from gemel.custodian.drawn_records import DrawnRecords, size_class_of
from gemel.custodian.encoding.blocking_keys import key_text
from gemel.custodian.encoding.columns import file_order
from gemel.custodian.encoding.padding import RuleRows, min_size, rows_of_rules
from gemel.custodian.encoding.records import Encoding
from gemel.custodian.leakage.block_model import KeyLikelihood, block_likelihood
from gemel.custodian.leakage.block_view import BlockAttack, BlockView, attack_by_size, known_by_block
from gemel.custodian.leakage.fingerprint_model import FingerprintModel
from gemel.custodian.leakage.own_whole import PER_CLASS, clear_values, dictionaries, finding, truth_of
from gemel.custodian.leakage.pairs import Fingerprints, fingerprints_in_clear, fingerprints_of_signatures
from gemel.custodian.leakage.recognition import judge, recognise
from gemel.custodian.leakage.recovery import UNKNOWN
from gemel.custodian.leakage.view import FieldView, PublicValues
from gemel.custodian.leakage_report import EVERYBODY, REGISTER, Finding

# The gate by a register: the custodian's own file in clear, in whole or in part, against its own encoded blocks.
#
# Who holds these people in clear and has Carole's blocks can recognise rows (`recognition`): she learns who is in the
# file, and who is linked. The blocks attacked are those that `own_blocks` drew; the register is a share of the file's
# records, drawn at random, those of the attacked blocks and others up to `PEOPLE`. Fewer others are fewer people to be
# mistaken for: the attack is somewhat stronger than on the whole file.

SHARES = ((0.1, REGISTER), (0.4, REGISTER), (1.0, EVERYBODY))
"""Shares of the file's people in the register, and the kind of attacker that has it."""
PEOPLE = 2000
"""Records of the file in the fullest register, but for those of the attacked blocks."""
ROWS = 240
"""Rows attacked of a rule, in whole blocks."""
EFFORTS = ((1_000, 12), (5_000, 24))
_NO_COUNTS = np.empty(0, dtype=np.int64)


def by_register(
    whole: RuleRows, spec: Specification, part: SignatureSet, order: I64, blocks: _Blocks, rng: Generator
) -> Iterator[Finding]:
    """Findings of one rule, in under a second; `order` is which of the rows of `whole` each is, shape (n_sent,)."""
    rows = whole.rows[part.rule]
    _, of_rule, sizes = np.unique(blocks.text.to_numpy().astype(str), return_inverse=True, return_counts=True)
    block = np.full(len(next(iter(whole.columns.values()))), UNKNOWN, dtype=np.int64)
    block[rows] = of_rule
    real = order < whole.n_records
    drawn = np.unique(block[order])
    each = ROWS / max(1, len(np.unique(size_class_of(sizes[drawn]))))
    attacked = np.isin(block[order], _of_every_size(drawn, sizes, sizes, each, rng))
    if not attacked.any() or (sizes[block[order[attacked]]] < 2).all():
        return
    mine = _renumbered(np.where(attacked, block[order], UNKNOWN))
    records = rows[rows < whole.n_records]
    people = _people(block, order[attacked & real], records, len(sizes), rng)
    theirs = _renumbered(block[people])
    in_clear = [(field, clear_values(whole.columns[field.name].gather(people), field)) for field in spec.fields]
    usable = [field for field, values in in_clear if values is not None]
    signed = [(part.fields[field.name], field.randomised_response) for field in usable]
    views = [(FieldView(f.signatures, _NO_COUNTS, noise), f.codes.astype(np.int64)) for f, noise in signed]
    seen = fingerprints_of_signatures(mine, views)
    clear = fingerprints_in_clear(theirs, [values for _, values in in_clear if values is not None])
    if not len(seen.one) or not len(clear.one):
        return
    bits = np.array([field.bits for field in usable], dtype=np.float64)
    inverted = np.array([field.randomised_response for field in usable])
    model = FingerprintModel.of(bits, inverted, clear, seen)
    at = np.full(len(block), UNKNOWN, dtype=np.int64)
    at[people] = np.arange(len(people))
    truth = np.where(real, at[order], UNKNOWN)
    weight = _weights(block, order, attacked & real, records, sizes, blocks.rows_of_size)
    for share, attacker in SHARES:
        known = rng.random(len(people)) < share if share < 1 else np.ones(len(people), dtype=bool)
        there = known[clear.one] & known[clear.other]
        those = _renumbered(np.where(known, theirs, UNKNOWN))
        fewer = Fingerprints(clear.one[there], clear.other[there], those[clear.one[there]], clear.similar[there])
        claims = recognise(seen, mine, fewer, those, model, share, rng, EFFORTS)
        found = judge(claims, np.where((truth >= 0) & known[truth], truth, UNKNOWN), weight, np.maximum(mine, 0))
        attack = f"register of {share:.0%} of these people, blocks of {blocks.own_size:.1f} rows"
        yield Finding("", part.rule, attack, found.of_known, 0.0, 1.0, attacker, found.error, found.precision)


def _renumbered(block: I64) -> I64:
    """Numbers from 0 for the blocks there are, in their order; ``UNKNOWN`` stays."""
    kinds, found = np.unique(block, return_inverse=True)
    return found.astype(np.int64) - int(kinds[0] == UNKNOWN)


def _weights(block: I64, order: I64, drawn: Flags, records: I64, sizes: I64, rows_of_size: F64 | None) -> F64:
    """Records of the file that each drawn row stands for: all in blocks of its size class; shape (n_sent,)."""
    size_class = size_class_of(sizes)
    there: F64 = np.bincount(size_class[block[records]], minlength=size_class.max() + 1).astype(float)
    if rows_of_size is not None:
        there = rows_of_size[: len(there)]
    taken = np.bincount(size_class[block[order[drawn]]], minlength=size_class.max() + 1)
    return np.where(drawn, (there / np.maximum(1, taken))[size_class[block[order]]], 0.0)


def _of_every_size(blocks: I64, sizes: I64, rows: NDArray[np.generic], each: float, rng: Generator) -> I64:
    """Blocks drawn from those given: of each class of `sizes` as many as have so many `rows`."""
    classes = size_class_of(sizes[blocks])
    chosen = []
    for size_class in np.unique(classes):
        inside = rng.permutation(blocks[classes == size_class])
        chosen.append(inside[: 1 + int(np.searchsorted(np.cumsum(rows[inside]), each))])
    return np.concatenate(chosen)


def _people(block: I64, attacked: I64, records: I64, n_blocks: int, rng: Generator) -> I64:
    """Records of the fullest register, in an order that says nothing: whole blocks, those attacked among them."""
    its = np.zeros(n_blocks, dtype=bool)
    its[block[attacked]] = True
    sizes = np.bincount(block[records], minlength=n_blocks)
    others = rng.permutation(np.flatnonzero(~its & (sizes > 1)))
    its[others[: int(np.searchsorted(np.cumsum(sizes[others]), PEOPLE))]] = True
    return rng.permutation(records[its[block[records]]])


_OTHERS = 200


@dataclass(frozen=True)
class _Blocks:
    """Of the rows that are sent under one rule, or of whole blocks of them: their keys, and those that are attacked.

    `rows_of_size`: the rows of the file in blocks of each size, by its logarithm, where only some of these are there.
    """

    text: pl.Series
    attacked: I64
    weights: Mapping[int, float]
    n_blocked: int
    own_size: float
    rows_of_size: F64 | None = None


def _of_file(
    columns: Columns, spec: Specification, noise: NoiseKey, rng: Generator
) -> tuple[RuleRows, dict[str, _Blocks]]:
    whole, blocks = rows_of_rules(columns, spec, noise), {}
    for rule in spec.keyed_rules:
        rows = whole.rows[rule.name]
        text = key_text(whole.columns, spec, rule, split=True)[rows]
        places, weights = _draw(text, rows < whole.n_records, rng)
        sizes = text.value_counts().get_column("count").to_numpy().astype(np.float64)
        own_size = float((sizes**2).sum() / sizes.sum()) if len(sizes) else 0.0
        n_blocked = min(len(rows), whole.n_records)  # with dummies she knows the file's size alone
        blocks[rule.name] = _Blocks(text, rows[places], weights, n_blocked, own_size)
    return whole, blocks


def _of_drawn(drawn: DrawnRecords, spec: Specification) -> tuple[RuleRows, dict[str, _Blocks]]:
    rows, blocks = {}, {}
    for rule in spec.keyed_rules:
        each = drawn.blocks[rule.name]
        rows[rule.name] = np.union1d(each.attacked, each.others)
        text = key_text(drawn.columns, spec, rule, split=True)[rows[rule.name]]
        weights = dict(enumerate(each.rows_of_size.tolist()))
        blocks[rule.name] = _Blocks(text, each.attacked, weights, each.n_rows, each.own_size, each.rows_of_size)
    return RuleRows(drawn.columns, rows, drawn.n_drawn), blocks


def in_blocks(
    columns: Columns,
    spec: Specification,
    keys: AssessmentKeys,
    rng: Generator,
    drawn: DrawnRecords | None = None,
    *,
    sizes_alone: bool = False,
) -> Iterator[Finding]:
    """Findings under block keys, rule by rule; blocks are attacked as they are sent, with their dummies.

    Of a file that is too large there are the records that were `drawn`, and `columns` are theirs. With `sizes_alone`,
    as in mode shared, the attacker sees the sizes of blocks alone: only fields of the keys are read, and no row is
    recognised.
    """
    public = dictionaries(columns, spec, drawn, rng)
    noise = keys.throw_away_noise("blocks")
    whole, blocks_of = _of_file(columns, spec, noise, rng) if drawn is None else _of_drawn(drawn, spec)
    anyone = columns if drawn is None else {name: column[drawn.anyone] for name, column in columns.items()}
    used = np.unique(np.concatenate([those.attacked for those in blocks_of.values()]))
    if not len(used):
        return
    rows = {name: np.searchsorted(used, those.attacked) for name, those in blocks_of.items()}
    n_records = int(np.searchsorted(used, whole.n_records))
    some = RuleRows({name: column[used] for name, column in whole.columns.items()}, rows, n_records)
    sent = Encoding(spec, keys.throw_away_seed("blocks"), 1, noise, shuffle=file_order).rows(some)
    for part, rule in zip(map(known_by_block, sent.sets), spec.keyed_rules, strict=True):
        order, those = sent.orders[rule.name], blocks_of[rule.name]
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
            for attack, how in _attacks(anyone, spec, rule, field, names, those.n_blocked, sizes_alone):
                found, _ = attack_by_size(
                    attack, field.name, how, blocks, names, truth, rng, PER_CLASS, those.weights, records
                )
                yield finding(found, rule.name)
        if sizes_alone:
            continue
        yield from by_register(whole, spec, part, used[order], those, rng)


def _draw(text: pl.Series, real: Flags, rng: Generator) -> tuple[I64, dict[int, float]]:
    """Places of the rows of some whole blocks of every size, and the rows that are in blocks of each."""
    if not len(text):
        return np.empty(0, dtype=np.int64), {}
    _, block = np.unique(text.to_numpy().astype(str), return_inverse=True)
    sizes, records = np.bincount(block), np.bincount(block, weights=real)
    chosen = _of_every_size(np.arange(len(sizes)), sizes, records, PER_CLASS, rng)
    weights = np.bincount(size_class_of(sizes), weights=sizes)
    return np.flatnonzero(np.isin(block, chosen)), dict(enumerate(weights.tolist()))


def _attacks(
    columns: Columns,
    spec: Specification,
    rule: BlockingRule,
    field: FieldSpec,
    public: PublicValues,
    n_records: int,
    sizes_alone: bool,
) -> Iterator[tuple[str, BlockAttack]]:
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
