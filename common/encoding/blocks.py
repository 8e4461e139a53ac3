"""Block-keyed mode: a record is signed once per blocking rule, for the block it is in and no other.

Under a blocking rule only records with the same blocking key are ever compared, so the block's digest enters every
token's code: Carole can compare two values inside a block and nowhere else. Whatever joins a record's rows under
several rules would undo this, so each rule's set has rows of its own: shuffled by themselves, under pseudonyms that
mean nothing in another set, signed under the rule's own keys. A record without a key under a rule has no row there.

A pair that satisfies two rules must be counted once, and m of a field is learnt from rules without it, so Carole must
know which rules a pair satisfies. Every row therefore has, for each other rule, a *tag*: a pseudo-random function of
its block and its key under that rule. Two rows of a block have the same tag when they agree on the other rule too; tags
of different blocks have nothing in common. Tags for earlier rules alone would do for counting once. They tell hardly
less: that two rows of a block agree on a rule's fields shows in the fields' signatures, whichever rule is first.

Chance agreement cannot be had from pairs of rows when only rows of a block compare, so each custodian sends besides a
*sample* of each field, up to `SAMPLE_ROWS` signatures under a key that serves nothing else, drawn and shuffled field by
field: what is in one row of the sample belongs to different people.

Codes of category variables hold for the whole file. Beside signatures they would join a record's rows across rules, so
they have a set of their own: every record once, shuffled by itself, with codes and nothing else. Which of its rows are
links the resolver tells, so that the linked records' codes can be assessed; nothing joins them to rows of a rule.

A rule's `split` always enters its blocking key here. To split large blocks only, both custodians would have to know
which are large in either file, and telling each other (or Carole) would reveal common values; a field that always
splits reveals nothing, and loses pairs that a rule without it can still find.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import partial
from types import MappingProxyType

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tryst.common.encoding.blocking_keys import blocking_keys
from tryst.common.encoding.categories import coded_variables
from tryst.common.encoding.columns import check_columns, check_variables
from tryst.common.encoding.distinct import distinct_values
from tryst.common.encoding.jobs import run_jobs
from tryst.common.encoding.layout import CODES, SAMPLE_ROWS, Layout
from tryst.common.encoding.order import random_order
from tryst.common.encoding.padding import RuleRows, rows_of_rules
from tryst.common.encoding.signature_sets import MISSING, NO_KEY, FieldSignatures, SignatureSet, layout_of
from tryst.common.encoding.signing import field_tokens, signed_in_blocks
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys.bulk import encrypt
from tryst.common.keys.derivation import Purpose, Seed, derive, derive_key
from tryst.common.keys.noise import NoiseKey
from tryst.common.progress import Progress
from tryst.common.specification import BlockingRule, FieldSpec, Specification, encoding_digest
from tryst.common.tokens import Tokens

SAMPLE = ""
"""Name of the sample among the sets, where others have their rule's."""

_INSTEAD_OF_ZERO = 1


@dataclass(frozen=True)
class Encoded:
    """What a custodian sends, and what it keeps.

    Attributes
    ----------
    sets
        In block-keyed mode one set per rule, in the specification's order, then the sample, then the codes where the
        specification has variables; otherwise one set.
    orders
        By set, for each row (its pseudonym) the row of the file; the sample has none. It never leaves the custodian.
        Where blocks are padded a row beyond those of the file is a dummy.
    records
        Records of the file in block-keyed mode, 0 otherwise: then the one set tells.
    """

    sets: tuple[SignatureSet, ...]
    orders: Mapping[str, NDArray[np.int64]] = dataclass_field(repr=False)
    records: int = 0

    @property
    def layout(self) -> Layout:
        """Sizes of what is sent."""
        return layout_of(self.sets, self.records)

    @property
    def order(self) -> NDArray[np.int64]:
        """The row of the file for each row of all sets but the sample, one set after the other; codes come last."""
        return np.concatenate([self.orders[part.rule] for part in self.sets if part.rule in self.orders])

    @property
    def n_signed(self) -> int:
        """Rows with signatures, the sample's apart: in `order` they come first."""
        return sum(len(order) for name, order in self.orders.items() if name != CODES)

    @property
    def n_dummies(self) -> int:
        """Rows that are nobody's."""
        return int(np.count_nonzero(self.order >= self.records)) if self.records else 0


@dataclass(frozen=True)
class _Field:
    """A field's distinct values cut into tokens, and each row's place among those that have any."""

    spec: FieldSpec
    tokens: Tokens
    codes: NDArray[np.int32]


def encode_blocks(
    columns: Mapping[str, pl.Series],
    specification: Specification,
    seed: Seed,
    epoch: int,
    *,
    noise: NoiseKey | None = None,
    variables: Mapping[str, pl.Series] = MappingProxyType({}),
    shuffle: Callable[[int], NDArray[np.int64]] = random_order,
    threads: int = 2,
    progress: Progress | None = None,
) -> Encoded:
    """Sign a file's records, each for its blocks.

    Parameters
    ----------
    columns, specification, seed, epoch, noise, variables, threads, progress
        As for `encode`; the specification has blocking rules of keys only.
    shuffle
        Makes the order of a given number of rows. Anything but the default is for fixed test records.

    Returns
    -------
    Encoded

    Raises
    ------
    TrystError
        As `encode`; PARAMETER if there is no blocking rule.

    Notes
    -----
    Some 50 microseconds a record and rule on a core, for five fields of 1024 bits and 40 tokens together. Memory: what
    is sent.
    """
    if not specification.keyed_rules:
        raise TrystError(ErrorCode.PARAMETER, "mode block_keyed needs a blocking rule", where="blocking", got="none")
    n_rows = check_columns(columns, specification)
    check_variables(variables, specification, n_rows)
    sent = rows_of_rules(columns, specification, noise)
    encoded = encode_rows(
        sent, specification, seed, epoch, noise=noise, shuffle=shuffle, threads=threads, progress=progress
    )
    if not specification.variables:
        return encoded
    # Also where the other custodian holds all of them: a link is told as two rows of these sets.
    order = shuffle(n_rows)
    coded = coded_variables(variables, order, specification, seed, epoch)
    codes = SignatureSet(CODES, n_rows, {}, {}, coded)
    return Encoded((*encoded.sets, codes), {**encoded.orders, CODES: order}, n_rows)


def encode_rows(
    sent: RuleRows,
    specification: Specification,
    seed: Seed,
    epoch: int,
    *,
    noise: NoiseKey | None = None,
    shuffle: Callable[[int], NDArray[np.int64]] = random_order,
    threads: int = 2,
    progress: Progress | None = None,
) -> Encoded:
    """Sign the rows of each rule, and samples: `encode_blocks` without codes, for all rows or those of some blocks."""
    rules, columns, n_records = specification.keyed_rules, sent.columns, sent.n_records
    digest = encoding_digest(specification)
    project = specification.project
    fields: dict[str, _Field] = {}
    digests: dict[str, NDArray[np.uint64]] = {}

    def prepare(field: FieldSpec) -> None:
        fields[field.name] = _prepared(columns[field.name], field, project, seed, digest, epoch)

    def block(rule: BlockingRule) -> None:
        key = derive_key(seed, project, Purpose.BLOCKING, digest, rule=rule.name, epoch=epoch)
        digests[rule.name] = blocking_keys(columns, specification, rule, key, split=True)

    prepared: dict[str, Callable[[], None]] = {f"prepared {f.name}": partial(prepare, f) for f in specification.fields}
    prepared |= {f"blocking keys {rule.name}": partial(block, rule) for rule in rules}
    n_jobs = len(prepared) + (len(rules) + 1) * len(specification.fields)
    told = 0

    def tell(doing: str, done: float) -> None:
        nonlocal told
        told += 1
        if progress is not None:
            progress(doing, told / n_jobs)

    run_jobs(prepared, threads, tell)
    orders = {name: found[shuffle(len(found))] for name, found in sent.rows.items()}
    signed: dict[tuple[str, str], FieldSignatures] = {}

    def sign(rule: BlockingRule, field: _Field) -> None:
        keys = derive(seed, project, Purpose.SIGNATURE, digest, field.spec.key_domain, rule.name, epoch)
        order = orders[rule.name]
        block = digests[rule.name][order]
        signed[rule.name, field.spec.name] = signed_in_blocks(
            field.spec, field.tokens, field.codes[order], block, keys, project, noise
        )

    def draw(field: _Field) -> None:
        keys = derive(seed, project, Purpose.SAMPLE, digest, field.spec.key_domain, epoch=epoch)
        drawn = shuffle(n_records)[:SAMPLE_ROWS]
        no_block = np.zeros(len(drawn), dtype=np.uint64)
        signed[SAMPLE, field.spec.name] = signed_in_blocks(
            field.spec, field.tokens, field.codes[drawn], no_block, keys, project, noise
        )

    jobs: dict[str, Callable[[], None]] = {
        f"signed {name} for rule {rule.name}": partial(sign, rule, fields[name]) for rule in rules for name in fields
    }
    jobs |= {f"sampled {name}": partial(draw, field) for name, field in fields.items()}
    run_jobs(jobs, threads, tell)

    def whole(name: str, n: int, blocks: dict[str, NDArray[np.uint64]]) -> SignatureSet:
        return SignatureSet(name, n, {field.name: signed[name, field.name] for field in specification.fields}, blocks)

    sets = []
    for rule in rules:
        own = digests[rule.name][orders[rule.name]]
        blocks = {rule.name: own for rule in rules}
        for other in rules:
            if other is not rule:
                key = derive_key(seed, project, Purpose.TAG, digest, other.name, rule.name, epoch)
                blocks[other.name] = tags(own, digests[other.name][orders[rule.name]], key)
        sets.append(whole(rule.name, len(own), blocks))
    sets.append(whole(SAMPLE, min(n_records, SAMPLE_ROWS), {}))
    return Encoded(tuple(sets), orders, n_records)


def tags(block: NDArray[np.uint64], other: NDArray[np.uint64], key: bytes) -> NDArray[np.uint64]:
    """Tag of every row of a rule for another rule.

    Parameters
    ----------
    block
        Digest of the row's block.
    other
        Digest of its blocking key under the other rule, ``NO_KEY`` where it has none.
    key
        32 bytes, of the two rules.

    Returns
    -------
    ndarray of uint64
        The first 8 bytes of AES-256 of both digests, little-endian; ``NO_KEY`` where the row has no such key.
    """
    both = np.stack([block, other], axis=1).astype("<u8")
    encrypt(key, both)
    made = np.where(both[:, 0] == NO_KEY, np.uint64(_INSTEAD_OF_ZERO), both[:, 0])
    return np.where(other == NO_KEY, np.uint64(NO_KEY), made)


def _prepared(column: pl.Series, field: FieldSpec, project: str, seed: Seed, digest: bytes, epoch: int) -> _Field:
    token_key = derive_key(seed, project, Purpose.TOKEN, digest, field.key_domain, epoch=epoch)
    values, codes = distinct_values(column)
    tokens, places = field_tokens(values, field, token_key)
    return _Field(field, tokens, np.append(places, MISSING).astype(np.int32)[codes])
