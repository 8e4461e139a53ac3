"""The leakage benchmark's sections on block-keyed mode."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks._leakage_joins import (
    embedded_alignment,
    nearest_rows,
    recognised_groups,
    row_embedding,
    shared_rows,
    size_alignment,
)
from benchmarks._leakage_study import ABOVE_CHANCE, MAXIMUM, NAMES, OVERLAPS, Line, Study
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import BlockingKey, BlockingRule, Specification
from gemel.custodian.encoding.blocking_keys import key_text
from gemel.custodian.encoding.padding import min_size, rows_of_rules
from gemel.custodian.encoding.records import Encoding
from gemel.custodian.leakage.block_model import KeyLikelihood, block_likelihood
from gemel.custodian.leakage.block_view import BlockAttack, BlockView, attack_by_size, known_by_block
from gemel.custodian.leakage.held_back import CLASSES, chained_alignment, value_classes
from gemel.custodian.leakage.own_whole import truth_of
from gemel.custodian.leakage.pairs import paired_signatures, paired_values
from gemel.custodian.leakage.recovery import UNKNOWN, score
from gemel.custodian.leakage.similarity_graph import similarity_graph_alignment
from gemel.custodian.leakage.view import FieldView, PublicValues

LOOKED_UP = 5000
"""Rows that the embedding attack looks up, drawn at random: more change nothing but the time."""
PER_CLASS = 200
SPREAD = 3000
"""Records attacked in blocks of each size, and besides by the records in blocks of that size; see `attack_by_size`."""

BROKEN = 0.2
"""Required of the control: at least so much of the surnames."""
BORN = ("date_of_birth",)
BLURRED: tuple[dict[str, float], ...] = (
    {"bits": 64},
    {"bits": 64, "randomised_response": 0.1},
    {"bits": 64, "randomised_response": 0.15},
)
"""What blurs the similarities that the embedding attack goes by, in every field."""
YEAR = {"field": "date_of_birth", "part": "year"}
BEGINNING = {"field": "surname", "prefix": 3}
WIDE = (
    {"name": "date_of_birth", "keys": [{"field": "date_of_birth"}]},
    {
        "name": "surname_2-given_name_1",
        "keys": [{"field": "surname", "prefix": 2}, {"field": "given_name", "prefix": 1}],
    },
    {"name": "surname_2-year", "keys": [{"field": "surname", "prefix": 2}, YEAR]},
    {"name": "postcode", "keys": [{"field": "postcode"}]},
)
"""Rules with large blocks, for the positive control."""
SKEWED = (
    {"name": "surname_3-year", "keys": [BEGINNING, YEAR]},
    {"name": "surname_3-year-split", "keys": [BEGINNING, YEAR], "split": "postcode"},
    {"name": "given_name_3-surname_3", "keys": [{"field": "given_name", "prefix": 3}, BEGINNING]},
    {"name": "given_name_3-surname_3-year", "keys": [{"field": "given_name", "prefix": 3}, BEGINNING, YEAR]},
)
"""Rules made of the names' beginnings."""


def by_birthday(study: Study) -> Iterator[Line]:
    """Blocks of a date of birth."""
    spec = study.specified(blocking=[WIDE[0]])
    (part,), orders = study.encoded(spec)
    order = orders[part.rule]
    for field in NAMES:
        public = study.public[field]
        blocks = BlockView.of(part.fields[field], part.blocks[part.rule])
        truth = truth_of(part, field, study.columns[field], order, public)
        yield from by_size(
            study, field, block_likelihood, blocks, truth, f"{field}, each block by itself", ABOVE_CHANCE
        )
        pooled = similarity_graph_alignment(blocks.view, public, maximum=MAXIMUM)
        found = score("", field, pooled, truth, blocks.view.counts, 0)
        yield Line.of(f"{field}, all blocks pooled", found, above_chance=ABOVE_CHANCE)
        for overlap in OVERLAPS:
            counted = Counter(study.overlapping(overlap)[field].drop_nulls().to_list())
            clear = PublicValues(list(counted), list(counted.values()))
            place = np.append(clear.places(public.values), UNKNOWN)
            guesses = embedded_alignment(blocks.view, clear, MAXIMUM)
            found = score("", field, guesses, place[truth], blocks.view.counts, 0)
            what = f"{field}, embeddings of values, the attack of mode open, plaintext overlapping by {overlap:.0%}"
            yield Line.of(what, found, above_chance=ABOVE_CHANCE)
    everything = tuple(field.name for field in spec.fields if field.name not in BORN)
    for fields in (NAMES, everything):
        for overlap in OVERLAPS:
            yield from embedded(study, spec, part, order, fields, overlap)
    for blurred in BLURRED:
        each = [{**field, **blurred} for field in spec.model_dump(mode="json")["fields"]]
        changed = Specification.model_validate({**spec.model_dump(mode="json"), "fields": each})
        (part,), orders = study.encoded(changed)
        rate = blurred.get("randomised_response")
        how = "every field in 64 bits" + (f", randomised response {rate:g}" if rate else "")
        yield from embedded(study, changed, part, orders[part.rule], everything, 1.0, how)


def embedded(
    study: Study,
    spec: Specification,
    part: SignatureSet,
    order: NDArray[np.int64],
    fields: Sequence[str],
    overlap: float,
    how: str = "",
) -> Iterator[Line]:
    """Rows of blocks looked up among people in clear, of whom a share is in the file.

    The requirement is of the specification as it is drafted, which `how` states where it is another, and of a register
    of some of the people: whoever has them all recognises rows, and nothing else is stated.
    """
    clear = study.overlapping(overlap)
    shuffled = study.rng.permutation(study.n)
    born = key_text(clear, spec, spec.keyed_rules[0]).fill_null("").to_numpy().astype(str)[shuffled]
    _, theirs = np.unique(born, return_inverse=True)
    _, mine = np.unique(part.blocks[part.rule], return_inverse=True)
    encoded_fields, plain_fields = [], []
    for name in fields:
        values = clear[name].drop_nulls().unique().to_list()
        public = PublicValues(values, np.ones(len(values)), spec.field(name).tokens)
        held = FieldView.of(part.fields[name], spec.field(name).randomised_response)
        encoded_fields.append((partial(paired_signatures, held), part.fields[name].codes.astype(np.int64)))
        place = {value: index for index, value in enumerate(public.values)}
        codes = np.array([place.get(value, UNKNOWN) for value in clear[name].to_list()], dtype=np.int64)[shuffled]
        plain_fields.append((partial(paired_values, public), codes))
    drawn = study.rng.permutation(len(order))[:LOOKED_UP]
    nearest = shuffled[nearest_rows(row_embedding(mine, encoded_fields)[drawn], row_embedding(theirs, plain_fields))]
    which = "names compared" if fields is NAMES else f"all {len(fields)} other fields compared"
    which = f"{which}, {how}" if how else which
    for name in NAMES:
        true, guess = study.columns[name].to_numpy()[order[drawn]], clear[name].to_numpy()[nearest]
        here = np.array([value is not None for value in true])
        right = (true == guess)[here].astype(float)
        commonest = max(Counter(clear[name].drop_nulls().to_list()).items(), key=lambda pair: pair[1])[0]
        by_chance = (true == commonest)[here].astype(float)
        there = set(clear[name].drop_nulls().unique().to_list())
        yield Line(
            f"{name}, embeddings of rows, {which}, plaintext overlapping by {overlap:.0%}",
            float(right.mean()),
            float(by_chance.mean()),
            attainable=float(np.mean([value in there for value in true[here]])),
            error=float((right - by_chance).std() / np.sqrt(len(right))),
            above_chance=None if how or overlap == 1 else ABOVE_CHANCE,
        )


def default_rules(study: Study) -> Iterator[Line]:
    """Every drafted rule by itself, but for the date of birth."""
    for rule in study.drafted.keyed_rules:
        if rule.fields != BORN:
            yield from under_rule(study, rule, ABOVE_CHANCE)


def skewed(study: Study) -> Iterator[Line]:
    """Rules on a few letters: what the sizes of blocks alone disclose, and how splitting and padding change it."""
    for document in SKEWED:
        (rule,) = study.specified(blocking=[document]).keyed_rules
        yield from under_rule(study, rule, None)


def under_rule(study: Study, rule: BlockingRule, above_chance: float | None) -> Iterator[Line]:
    """Attacks on the names in the blocks of one rule, knowing what the rule is made of."""
    spec = study.specified({*rule.fields, *NAMES}, blocking=[rule.model_dump(mode="json")])
    (part,), orders = study.encoded(spec)
    for field in NAMES:
        public = study.public[field]
        blocks = BlockView.of(part.fields[field], part.blocks[part.rule])
        truth = truth_of(part, field, study.columns[field], orders[part.rule], public)
        own = next((key for key in rule.keys if key.field == field), None)
        if own is None:
            yield from by_size(study, field, block_likelihood, blocks, truth, f"{rule.name}: {field}", above_chance)
            continue
        _, key_of = np.unique([value[: own.prefix] for value in public.values], return_inverse=True)
        others = _others(study, spec, rule, own)
        yield _by_sizes_alone(f"{rule.name}: {field}", blocks, truth, public, key_of, others)
        attack, what = KeyLikelihood(public, key_of, others), f"{rule.name}: {field}, sizes, counts and similarities"
        yield from by_size(study, field, attack, blocks, truth, what, above_chance, detailed=True)
        if above_chance is None:
            # The same blocks as the option sends them. Carole knows what they are padded to, and the file's size.
            blocks, truth, records = padded(study, spec, rule, field)
            what = f"{rule.name}, `padding: powers_of_two`: {field}"
            yield _by_sizes_alone(what, blocks, truth, public, key_of, others, records)
            attack, what = (
                KeyLikelihood(public, key_of, others, n_records=study.n),
                f"{what}, sizes, counts and similarities",
            )
            yield from by_size(study, field, attack, blocks, truth, what, None, records=records)


def padded(
    study: Study, spec: Specification, rule: BlockingRule, field: str
) -> tuple[BlockView, NDArray[np.int64], NDArray[np.int64]]:
    """A field's padded blocks, what each signature is, and how many records have it, dummies left out."""
    alone = spec.model_copy(update={"padding": "powers_of_two"})
    sent = rows_of_rules(study.columns, alone, study.fresh_noise())
    made = Encoding(alone, study.fresh_seed(), 1, shuffle=study.rng.permutation).rows(sent)
    part, order = known_by_block(made.sets[0]), made.orders[rule.name]
    held = part.fields[field]
    blocks = BlockView.of(held, part.blocks[rule.name])
    blocks = replace(blocks, minimum=min_size(blocks.sizes))
    truth = truth_of(part, field, sent.columns[field], order, study.public[field])
    real = (order < sent.n_records) & (held.codes >= 0)
    return blocks, truth, np.bincount(held.codes[real], minlength=held.n_distinct)


def by_size(
    study: Study,
    field: str,
    attack: BlockAttack,
    blocks: BlockView,
    truth: NDArray[np.int64],
    what: str,
    above_chance: float | None,
    *,
    detailed: bool = False,
    records: NDArray[np.int64] | None = None,
) -> Iterator[Line]:
    """An attack on a sample of blocks of every size; where detailed, also on the large ones by themselves."""
    public = study.public[field]
    found, classes = attack_by_size(
        "", field, attack, blocks, public, truth, study.rng, PER_CLASS, None, records, SPREAD
    )
    yield Line.of(what, found, above_chance=above_chance)
    for size in classes:
        if detailed and size.minimum >= 8:
            label = f"of these, {size.rows:,} records in blocks of {size.minimum} to {size.maximum} rows"
            yield Line.of(label, size.recovery)


def _others(study: Study, spec: Specification, rule: BlockingRule, own: BlockingKey) -> NDArray[np.float64]:
    """Shares of what else is in a rule's key, the commonest."""
    rest = [key for key in rule.keys if key is not own]
    if rule.split:
        rest.append(BlockingKey(field=rule.split))
    if not rest:
        return np.ones(1)
    counted = key_text(study.columns, spec, BlockingRule(name="rest", keys=tuple(rest))).drop_nulls().value_counts()
    return np.sort(counted.get_column("count").to_numpy() / study.n)[::-1][:200]


def _by_sizes_alone(
    what: str,
    blocks: BlockView,
    truth: NDArray[np.int64],
    public: PublicValues,
    key_of: NDArray[np.int64],
    others: NDArray[np.float64],
    records: NDArray[np.int64] | None = None,
) -> Line:
    """What is in the key of each block, by the rank of its size."""
    shares = np.bincount(key_of, weights=public.shares)
    guessed = size_alignment(blocks.sizes, np.outer(shares, others).ravel())
    key = np.where(guessed == UNKNOWN, UNKNOWN, guessed // len(others))
    right = (key[blocks.block] == key_of[np.maximum(truth, 0)]) & (truth != UNKNOWN)
    counts = blocks.view.counts if records is None else records
    recovered = float(counts[right].sum() / max(1, counts.sum()))
    return Line(f"{what}, what the key takes of it, by the blocks' sizes alone", recovered, float(shares.max()))


def together(study: Study) -> Iterator[Line]:
    """The drafted rules together: rows recognised under two rules by their tags, and values chained."""
    sets, orders = study.encoded(study.drafted)
    for field in NAMES:
        joins = recognised_groups(sets, field)
        yield chained(
            study, sets, orders, joins, field, "groups of rows recognised by their tags", above_chance=ABOVE_CHANCE
        )


def control(study: Study) -> Iterator[Line]:
    """Four rules of large blocks together: with one pseudonym per row for all, which is not what Gemel sends."""
    sets, orders = study.encoded(study.specified((*NAMES, *BORN, "postcode"), blocking=list(WIDE)))
    for field in NAMES:
        joins = shared_rows(sets, field, orders)
        minimum = BROKEN if field == "surname" else None
        yield chained(study, sets, orders, joins, field, "one pseudonym for all rules", minimum=minimum)
        joins = recognised_groups(sets, field)
        yield chained(study, sets, orders, joins, field, "groups of rows recognised by their tags")


def chained(
    study: Study,
    sets: Sequence[SignatureSet],
    orders: Mapping[str, NDArray[np.int64]],
    joins: NDArray[np.int64],
    field: str,
    how: str,
    minimum: float | None = None,
    above_chance: float | None = None,
) -> Line:
    """Classes of equal values rebuilt from rows joined across rules, and aligned."""
    public = study.public[field]
    begin = time.monotonic()
    truths = [truth_of(part, field, study.columns[field], orders[part.rule], public) for part in sets]
    classes = value_classes(sets, field, joins)
    guesses = chained_alignment(sets, field, classes, public, study.n)
    # Judged over the rows of the rule that shows most of them.
    place = max(range(len(sets)), key=lambda each: sets[each].n_rows)
    held = FieldView.of(sets[place].fields[field])
    found = score("", field, guesses[classes.of[place]], truths[place], held.counts, 0)
    true = np.full(len(classes.counts), UNKNOWN, dtype=np.int64)
    for of, truth in zip(classes.of, truths, strict=True):
        true[of] = truth
    largest = np.argsort(-classes.counts, kind="stable")[:CLASSES]
    names = len(np.unique(true[largest]))
    what = f"{field}, {how}: {len(joins):,} joins; the {len(largest):,} largest classes are of {names:,} values"
    return Line.of(what, found, minimum=minimum, above_chance=above_chance, seconds=time.monotonic() - begin)
