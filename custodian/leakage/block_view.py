"""What the linkage unit holds of a field under block keys, and how to sample it fairly.

Every signature belongs to one block, and signatures of different blocks cannot be compared. Left are the sizes of the
blocks, and in each block a small table of counts and a small graph of similarities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from gemel.common.arrays import F64, I64, U64
from gemel.common.signatures.layout import WORD_BITS
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet
from gemel.custodian.drawn_records import size_class_of
from gemel.custodian.leakage.recovery import Recovery, score
from gemel.custodian.leakage.view import FieldView, PublicValues


@dataclass(frozen=True)
class BlockView:
    """One field under one rule as its attacker sees it.

    `view` has all blocks' signatures, `block` the one each is in, shape (n_values,); `sizes`, shape (n_blocks,), the
    rows of each block, with or without a value in the field; `minimum`, where blocks are padded, the fewest records of
    each.
    """

    view: FieldView
    block: I64
    sizes: I64
    minimum: I64 | None = None

    @classmethod
    def of(cls, field: FieldSignatures, digests: U64, randomised_response: float = 0.0) -> BlockView:
        """The view of one field of a rule's set, whose rows have these block digests."""
        view = FieldView.of(field, randomised_response)
        _, places, sizes = np.unique(digests, return_inverse=True, return_counts=True)
        block = np.zeros(view.n_values, dtype=np.int64)
        here = field.codes >= 0
        block[field.codes[here]] = places[here]
        return cls(view, block, sizes.astype(np.int64))

    def members(self) -> list[I64]:
        order = np.argsort(self.block, kind="stable")
        ends = np.searchsorted(self.block[order], np.arange(1, len(self.sizes)))
        return np.split(order, ends)


def known_by_block(part: SignatureSet) -> SignatureSet:
    """A rule's set with what the linkage unit knows of the fields that the rule's key fixes.

    Nothing of them is sent, but all rows of a block have the same value, of the other blocks nothing is known: as if
    each block had a signature of its own.
    """
    if not any(field.content == "fixed" for field in part.fields.values()):
        return part
    digests, places = np.unique(part.blocks[part.rule], return_inverse=True)
    codes = places.astype(np.int32)

    def held(field: FieldSignatures) -> FieldSignatures:
        signatures = np.repeat(digests[:, None], field.bits // WORD_BITS, axis=1)
        return FieldSignatures(field.bits, signatures, codes)

    fields = {name: held(field) if field.content == "fixed" else field for name, field in part.fields.items()}
    return replace(part, fields=fields)


BlockAttack = Callable[[BlockView, PublicValues, I64], I64]
"""Given a view, public values and the blocks to attack: a public value per signature, ``UNKNOWN`` elsewhere."""


@dataclass(frozen=True)
class SizeClass:
    """What an attack recovers from blocks of one size: from `minimum` to `maximum` rows, `rows` in all."""

    minimum: int
    maximum: int
    rows: int
    recovery: Recovery


def attack_by_size(
    name: str,
    field: str,
    attack: BlockAttack,
    blocks: BlockView,
    public: PublicValues,
    truth: I64,
    rng: Generator,
    per_class: int = 300,
    weights: Mapping[int, float] | None = None,
    records: I64 | None = None,
    spread: int = 0,
    min_blocks: int = 1,
) -> tuple[Recovery, list[SizeClass]]:
    """Attack a sample of the blocks of each size, and weigh the sizes by the records they hold, as an estimate of all.

    `truth`, shape (n_values,): what each signature is; `per_class`: records drawn of each size class (blocks of 1, 2 to
    3, 4 to 7, ... rows), in whole blocks, and `min_blocks` at least, however large: of large blocks an attack reads
    nearly all or nothing; `spread`: records drawn besides, of each class by its share of the records, as most of the
    error is there; `weights`: rows of the file in each size class, by the logarithm of the size; default: those of
    `blocks`; `records`, shape (n_values,): records that have each signature, by which an attack is judged; default:
    rows, of which dummies are some.
    """
    counts = blocks.view.counts if records is None else records
    values_in = np.bincount(blocks.block, minlength=len(blocks.sizes))
    records_in = np.bincount(blocks.block, weights=counts, minlength=len(blocks.sizes))
    classes = []
    exponent = size_class_of(blocks.sizes)
    total = max(1.0, float(counts.sum()))
    for size_class in np.unique(exponent):
        inside = np.flatnonzero((exponent == size_class) & (values_in > 0))
        if not len(inside):
            continue
        drawn = rng.permutation(inside)
        selected = max(per_class, spread * float(records_in[inside].sum()) / total)
        chosen = drawn[: max(min_blocks, 1 + int(np.searchsorted(np.cumsum(records_in[drawn]), selected)))]
        guesses = attack(blocks, public, chosen)
        attacked = np.isin(blocks.block, chosen)
        found = score(name, field, guesses[attacked], truth[attacked], counts[attacked], 0)
        gained = counts * ((truth == guesses).astype(np.int64) - (truth == 0)) * (truth >= 0)
        by_block = np.bincount(blocks.block[attacked], weights=gained[attacked], minlength=len(blocks.sizes))[chosen]
        factor = 1.0 if weights is None else weights[int(size_class)] / max(1.0, float(blocks.sizes[inside].sum()))
        # Of the file's blocks of this size, about so many: those that are here may have been drawn from them.
        error = _ratio_error(by_block, records_in[chosen], max(len(chosen), round(factor * len(inside))))
        n_values, n_records = (round(factor * float(each[inside].sum())) for each in (values_in, records_in))
        whole = replace(found, n_values=n_values, n_records=n_records, error=error)
        minimum, maximum = int(blocks.sizes[inside].min()), int(blocks.sizes[inside].max())
        classes.append(SizeClass(minimum, maximum, whole.n_records, whole))
    return _weighted(name, field, [part.recovery for part in classes]), classes


def _ratio_error(gained: F64, records: F64, n_blocks: int) -> float:
    """Standard error of the gain per record, estimated from some of `n_blocks` blocks drawn without replacement."""
    n = len(records)
    if n < 2 or n == n_blocks or not records.any():
        return 0.0
    residual = gained - records * gained.sum() / records.sum()
    spread = (residual**2).sum() * n / (n - 1)
    return float(np.sqrt((1 - n / n_blocks) * spread) / records.sum())


def _weighted(name: str, field: str, parts: list[Recovery]) -> Recovery:
    n_values, n_records = sum(part.n_values for part in parts), sum(part.n_records for part in parts)

    def mean(of: str, weight: str) -> float:
        total = sum(getattr(part, weight) for part in parts)
        return float(sum(getattr(part, of) * getattr(part, weight) for part in parts) / total) if total else 0.0

    by_record = {of: mean(of, "n_records") for of in ("records", "attainable_records", "chance", "claimed")}
    by_value = {of: mean(of, "n_values") for of in ("values", "attainable_values")}
    squares = sum((part.error * part.n_records) ** 2 for part in parts)
    error = float(np.sqrt(squares)) / n_records if n_records else 0.0
    return Recovery(name, field, n_values, n_records, **by_record, **by_value, error=error)
