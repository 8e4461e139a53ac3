"""A custodian's own file attacked before it leaves: what could Carole learn under this specification?

The records are encoded exactly as they would be sent, but under throw-away keys of signatures and noise, and attacked
with public values as good as an attacker's could be: every value of the file is in her dictionary, with a count drawn
anew about the file's own, as another sample of the same people would have it. A real attacker knows less.

Large files are measured in part. In open mode the commonest values of each field are attacked, and the others counted
as safe, so that a figure is a lower bound. In block-keyed mode whole blocks of every size are drawn, and weighted by
the rows that such blocks hold; so are the salts of a salted field. Where a blocking rule's keys join values across
salts, the field is attacked as if it had none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import polars as pl
from numpy.typing import NDArray

from common.cleaning.parts import salt_text
from common.cleaning.similar_values import listed_in, similar_values
from common.encoding import SignatureSet
from common.encoding.blocking_keys import key_text
from common.encoding.blocks import encode_rows
from common.encoding.encode import file_order
from common.encoding.padding import RuleRows, least_size, rows_of_rules
from common.encoding.records import encode_records
from common.errors import TrystError
from common.keys.derivation import Seed
from common.keys.noise import NoiseKey
from common.leakage import Finding, LeakageReport
from common.specification import BlockingRule, FieldSpec, Specification
from common.specification.defences import undone_by
from common.tokens import tokenise
from risk.leakage.block_likelihood import KeyLikelihood, block_likelihood
from risk.leakage.block_view import BlockAttack, BlockView, attack_by_size, size_class_of
from risk.leakage.category_codes import unique_rows
from risk.leakage.frequency import frequency_alignment
from risk.leakage.held_back import listed_alone, salt_by_salt, salts_joined, without_undone_salts
from risk.leakage.public import PublicValues
from risk.leakage.recovery import UNKNOWN, Recovery, score
from risk.leakage.similarity_graph import similarity_graph_alignment
from risk.leakage.view import FieldView

MOST_VALUES = 1500
"""Values of a field attacked in open mode."""

DICTIONARY = 6000
"""Public values of a field, the commonest ones."""

PER_CLASS = 200
"""Rows drawn of every size of block and rule."""

_OTHERS = 200
_PUBLIC_KEY = bytes(32)


def assess(
    columns: Mapping[str, pl.Series],
    spec: Specification,
    variables: Mapping[str, pl.Series] = MappingProxyType({}),
    seed: int = 1,
) -> LeakageReport:
    """Measure what the signatures of a file give away.

    Parameters
    ----------
    columns
        Cleaned values per field, null where missing.
    spec
        The specification, with its limit.
    variables
        Places of the rows' categories, by variable, null where missing.
    seed
        Of the public counts and of the blocks drawn; the same file and seed give the same report, but for what the
        throw-away keys decide.

    Returns
    -------
    LeakageReport

    Raises
    ------
    TrystError
        As `encode_records`.

    Notes
    -----
    Some seconds per field in open mode, and per rule in block-keyed mode, whatever the file's size.
    """
    rng = np.random.default_rng(seed)
    n = max((len(column) for column in columns.values()), default=0)
    limit, refuses = spec.leakage.limit, spec.leakage.refuses(spec.mode)
    if spec.mode == "trusted":
        everything = tuple(Finding(field.name, "", "reading what is sent", 1.0, 0.0) for field in spec.fields)
        return LeakageReport(spec.mode, n, limit, refuses, everything, ("Mode trusted sends the values themselves.",))
    signed = spec.model_copy(update={"variables": ()})  # codes are no signatures: what they tell is a remark
    found = list(_blocks(columns, signed, rng) if spec.mode == "block_keyed" else _whole(columns, signed, rng))
    return LeakageReport(spec.mode, n, limit, refuses, tuple(found), (*_remarks(spec), *_codes(spec, variables)))


def _codes(spec: Specification, variables: Mapping[str, pl.Series]) -> Iterator[str]:
    """What the variables' codes single out."""
    if not variables:
        return
    codes = np.stack([places.fill_null(-1).to_numpy() for places in variables.values()], axis=1).astype(np.int64)
    where = "beside no signature" if spec.mode == "block_keyed" else "beside their signatures"
    yield (
        f"The codes of {len(variables)} variables are sent {where}: {unique_rows(codes):.1%} of the records have a"
        " combination of their own."
    )


def _remarks(spec: Specification) -> tuple[str, ...]:
    remarks = [
        "Measured with attacks that are known, and public values as good as they can be; other attacks may do better.",
        "Carole together with a custodian, or a leaked seed, reads everything: no encoding prevents that.",
    ]
    if spec.mode == "open":
        remarks.append("In open mode, mode block_keyed with blocking rules is what lowers these figures.")
    if spec.resolution.joined:
        remarks.append("Carole may also join rows across rules (resolution: by carole): these figures leave that out.")
    if any(field.salt is not None for field in spec.fields):
        remarks.append(
            "What few rows share joins values across salts, such as relatives' address. The attack by it is a simple"
            " one; the more of each household is in the file, the more it reads."
        )
    return tuple(remarks)


def public_values(column: pl.Series, field: FieldSpec, rng: np.random.Generator) -> PublicValues | None:
    """The dictionary of a field: the file's own values, with counts drawn anew; None if no row has a value."""
    counted = column.drop_nulls().value_counts()
    values, counts = counted.get_column(counted.columns[0]).to_list(), counted.get_column("count").to_numpy()
    anew = rng.poisson(counts) + 0.5
    kept = np.argsort(-anew, kind="stable")[:DICTIONARY]
    values = [values[place] for place in kept]
    some = tokenise(values, field.tokens, _PUBLIC_KEY).counts > 0 if values else np.empty(0, dtype=bool)
    if not some.any():
        return None
    values = [value for value, has in zip(values, some, strict=True) if has]
    return PublicValues(values, anew[kept][some], field.tokens, similar_values(field))


def truth_of(
    part: SignatureSet, field: str, column: pl.Series, rows: NDArray[np.int64], public: PublicValues
) -> NDArray[np.int64]:
    """Public value that each signature of a set truly is, for the custodian who knows its rows.

    Parameters
    ----------
    column
        The field's values in the file.
    rows
        Row of the file of each row of the set.
    """
    codes = part.fields[field].codes
    place = dict(zip(public.values, range(len(public)), strict=True))
    held = np.array([UNKNOWN if v is None else place.get(v, UNKNOWN) for v in column.to_list()], dtype=np.int64)
    truth = np.full(part.fields[field].n_distinct, UNKNOWN, dtype=np.int64)
    here = codes >= 0
    truth[codes[here]] = held[rows[here]]
    return truth


def _whole(columns: Mapping[str, pl.Series], spec: Specification, rng: np.random.Generator) -> Iterator[Finding]:
    """Findings where one key serves the whole file, or one salt of a field."""
    noise = NoiseKey.generate()
    part = encode_records(columns, spec, Seed.generate(), 1, noise=noise, shuffle=file_order).sets[0]
    bare = without_undone_salts(spec)
    joined = (
        encode_records(columns, bare, Seed.generate(), 1, noise=noise, shuffle=file_order).sets[0] if bare else part
    )
    rows = np.arange(part.n_rows)
    for field in spec.fields:
        column = columns[field.name]
        public = public_values(column, field, rng)
        if public is None:
            continue
        attacked = {"": part, **({", its salts joined by a blocking rule": joined} if undone_by(spec, field) else {})}
        for how, seen in attacked.items():
            view = FieldView.of(seen.fields[field.name], field.flip)
            truth = truth_of(seen, field.name, column, rows, public)
            guesses = {
                "counts alone": frequency_alignment(view, public),
                "counts and similarities": similarity_graph_alignment(view, public, most=MOST_VALUES).guesses,
            }
            listed = listed_in(column, field)
            if listed is not None:
                codes = seen.fields[field.name].codes
                is_listed = np.zeros(view.n_values, dtype=bool)
                is_listed[codes[(codes >= 0) & listed.fill_null(value=False).to_numpy()]] = True
                guesses["listed values by themselves"] = listed_alone(view, public, is_listed, MOST_VALUES)
            for attack, guessed in guesses.items():
                yield _finding(score(attack + how, field.name, guessed, truth, view.counts, 0), "")
        salt = salt_text(columns, spec, field)
        if salt is not None:
            _, its_salt = np.unique(salt.fill_null("").to_numpy().astype(str), return_inverse=True)
            salts = BlockView.of(part.fields[field.name], its_salt.astype(np.uint64), field.flip)
            truth = truth_of(part, field.name, column, rows, public)
            attack = "each salt by itself"
            found, _ = attack_by_size(attack, field.name, salt_by_salt, salts, public, truth, rng, PER_CLASS)
            yield _finding(found, "")
            guessed = salts_joined(part, field.name, its_salt, public)
            attack = "its salts joined by what few rows share"
            yield _finding(score(attack, field.name, guessed, truth, salts.view.counts, 0), "")


def _finding(found: Recovery, rule: str) -> Finding:
    return Finding(found.field, rule, found.attack, found.records, found.chance)


def _blocks(columns: Mapping[str, pl.Series], spec: Specification, rng: np.random.Generator) -> Iterator[Finding]:
    """Findings under block keys, rule by rule; blocks are attacked as they are sent, with their dummies."""
    public = {field.name: public_values(columns[field.name], field, rng) for field in spec.fields}
    noise = NoiseKey.generate()
    whole = rows_of_rules(columns, spec, noise)
    weights: dict[str, dict[int, float]] = {}
    drawn: dict[str, NDArray[np.int64]] = {}
    for rule in spec.keyed_rules:
        rows = whole.rows[rule.name]
        text = key_text(whole.columns, spec, rule, split=True)[rows]
        places, weights[rule.name] = _draw(text, rows < whole.n_records, rng)
        drawn[rule.name] = rows[places]
    used = np.unique(np.concatenate(list(drawn.values())))
    if not len(used):
        return
    some = RuleRows(
        {name: column[used] for name, column in whole.columns.items()},
        {name: np.searchsorted(used, rows) for name, rows in drawn.items()},
        int(np.searchsorted(used, whole.n_records)),
    )
    sent = encode_rows(some, spec, Seed.generate(), 1, noise=noise, shuffle=file_order)
    for part, rule in zip(sent.sets, spec.keyed_rules, strict=False):  # the sample comes last, and belongs to no row
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
            blocks = BlockView.of(signed, part.blocks[rule.name], field.flip)
            if spec.padding is not None:
                blocks = replace(blocks, least=least_size(blocks.sizes, spec.padding))
            truth = truth_of(part, field.name, some.columns[field.name], order, names)
            records = np.bincount(signed.codes[real & (signed.codes >= 0)], minlength=signed.n_distinct)
            for attack, how in _attacks(columns, spec, rule, field, names, n_blocked):
                found, _ = attack_by_size(
                    attack, field.name, how, blocks, names, truth, rng, PER_CLASS, weights[rule.name], records
                )
                yield _finding(found, rule.name)


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
