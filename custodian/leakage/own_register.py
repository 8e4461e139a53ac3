"""The gate by a register: the custodian's own file in clear, in whole or in part, against its own encoded blocks.

Who holds these people in clear and has Carole's blocks can recognise rows (`recognition`): she learns who is in the
file, and who is linked. The blocks attacked are those that `own_blocks` drew; the register is a share of the file's
records, drawn at random, those of the attacked blocks and others up to `PEOPLE`. Fewer others are fewer people to be
mistaken for: the attack is somewhat stronger than on the whole file.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.signatures import SignatureSet
from gemel.common.specification import Specification
from gemel.custodian.drawn_records import size_class_of
from gemel.custodian.encoding.padding import RuleRows
from gemel.custodian.leakage.fingerprint_model import FingerprintModel
from gemel.custodian.leakage.own_file import clear_values
from gemel.custodian.leakage.pairs import Fingerprints, fingerprints_in_clear, fingerprints_of_signatures
from gemel.custodian.leakage.recognition import judge, recognise
from gemel.custodian.leakage.recovery import UNKNOWN
from gemel.custodian.leakage.view import FieldView
from gemel.custodian.leakage_report import EVERYBODY, REGISTER, Finding

SHARES = ((0.1, REGISTER), (0.4, REGISTER), (1.0, EVERYBODY))
"""Shares of the file's people in the register, and the kind of attacker that has it."""

PEOPLE = 2000
"""Records of the file in the fullest register, but for those of the attacked blocks."""

ROWS = 240
"""Rows attacked of a rule, in whole blocks."""

EFFORTS = ((1_000, 12), (5_000, 24))

_NO_COUNTS = np.empty(0, dtype=np.int64)


def by_register(
    whole: RuleRows,
    spec: Specification,
    part: SignatureSet,
    order: NDArray[np.int64],
    text: pl.Series,
    rng: np.random.Generator,
    own_size: float,
    rows_of_size: NDArray[np.float64] | None = None,
) -> Iterator[Finding]:
    """Findings of one rule.

    Parameters
    ----------
    whole
        The rows that are sent under each rule.
    spec
        The specification.
    part : SignatureSet
        The rows of the blocks that were drawn, as they are sent.
    order : ndarray of int64, shape (n_sent,)
        Which of the rows of `whole` each is.
    text : Series
        The blocking key of each of the rule's rows.
    rng
        Draws the blocks attacked and the registers.
    own_size
        Rows of the block of a row of the file, on average.
    rows_of_size
        Rows of the file in blocks of each size, by its logarithm, where `whole` has some of its blocks only.

    Notes
    -----
    Under a second for the commonest sizes of blocks, whatever the size of the file.
    """
    rows = whole.rows[part.rule]
    _, of_rule, sizes = np.unique(text.to_numpy().astype(str), return_inverse=True, return_counts=True)
    block = np.full(len(next(iter(whole.columns.values()))), UNKNOWN, dtype=np.int64)
    block[rows] = of_rule
    real = order < whole.n_records
    attacked = _first_blocks(block[order], sizes, rng)
    if not attacked.any() or (sizes[block[order[attacked]]] < 2).all():
        return
    mine = _renumbered(np.where(attacked, block[order], UNKNOWN))
    views = [
        (
            FieldView(part.fields[field.name].signatures, _NO_COUNTS, field.randomised_response),
            part.fields[field.name].codes.astype(np.int64),
        )
        for field in spec.fields
    ]
    seen = fingerprints_of_signatures(mine, views)
    records = rows[rows < whole.n_records]
    people = _people(block, order[attacked & real], records, len(sizes), rng)
    theirs = _renumbered(block[people])
    fields = [clear_values(whole.columns[field.name].gather(people), field) for field in spec.fields]
    usable = [place for place, found in enumerate(fields) if found is not None]
    seen = Fingerprints(
        seen.one, seen.other, seen.block, seen.similar[:, usable], None if seen.times is None else seen.times[:, usable]
    )
    clear = fingerprints_in_clear(theirs, [found for found in fields if found is not None])
    if not len(seen.one) or not len(clear.one):
        return
    bits = np.array([spec.fields[place].bits for place in usable], dtype=np.float64)
    inverted = np.array([spec.fields[place].randomised_response for place in usable])
    model = FingerprintModel.of(bits, inverted, clear, seen)
    at = np.full(len(block), UNKNOWN, dtype=np.int64)
    at[people] = np.arange(len(people))
    truth = np.where(real, at[order], UNKNOWN)
    weight = _weights(block, order, attacked & real, records, sizes, rows_of_size)
    for share, attacker in SHARES:
        known = rng.random(len(people)) < share if share < 1 else np.ones(len(people), dtype=bool)
        there = known[clear.one] & known[clear.other]
        those = _renumbered(np.where(known, theirs, UNKNOWN))
        fewer = Fingerprints(clear.one[there], clear.other[there], those[clear.one[there]], clear.similar[there])
        claims = recognise(seen, mine, fewer, those, model, share, rng, EFFORTS)
        found = judge(claims, np.where((truth >= 0) & known[truth], truth, UNKNOWN), weight, np.maximum(mine, 0))
        yield Finding(
            field="",
            rule=part.rule,
            attack=f"register of {share:.0%} of these people, blocks of {own_size:.1f} rows",
            recovered=found.of_known,
            chance=0.0,
            attainable=1.0,
            attacker=attacker,
            error=found.error,
            precision=found.precision,
        )


def _renumbered(block: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers from 0 for the blocks there are, in their order; ``UNKNOWN`` stays."""
    kinds, found = np.unique(block, return_inverse=True)
    renumbered: NDArray[np.int64] = found.astype(np.int64) - int(kinds[0] == UNKNOWN)
    return renumbered


def _weights(
    block: NDArray[np.int64],
    order: NDArray[np.int64],
    drawn: NDArray[np.bool_],
    records: NDArray[np.int64],
    sizes: NDArray[np.int64],
    rows_of_size: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Records of the file that each drawn row stands for: all in blocks of its size class; shape (n_sent,)."""
    size_class = size_class_of(sizes)
    there: NDArray[np.float64] = np.bincount(size_class[block[records]], minlength=size_class.max() + 1).astype(float)
    if rows_of_size is not None:
        there = rows_of_size[: len(there)]
    taken = np.bincount(size_class[block[order[drawn]]], minlength=size_class.max() + 1)
    found: NDArray[np.float64] = np.where(drawn, (there / np.maximum(1, taken))[size_class[block[order]]], 0.0)
    return found


def _first_blocks(block: NDArray[np.int64], sizes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Rows of the drawn blocks that are attacked: of every size class as many, in whole blocks; shape (n_sent,)."""
    drawn = np.unique(block)
    classes = size_class_of(sizes[drawn])
    each = ROWS / max(1, len(np.unique(classes)))
    chosen = []
    for size_class in np.unique(classes):
        inside = rng.permutation(drawn[classes == size_class])
        chosen.append(inside[: 1 + int(np.searchsorted(np.cumsum(sizes[inside]), each))])
    found: NDArray[np.bool_] = np.isin(block, np.concatenate(chosen))
    return found


def _people(
    block: NDArray[np.int64],
    attacked: NDArray[np.int64],
    records: NDArray[np.int64],
    n_blocks: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Records of the fullest register, in an order that says nothing: whole blocks, those attacked among them."""
    its = np.zeros(n_blocks, dtype=bool)
    its[block[attacked]] = True
    sizes = np.bincount(block[records], minlength=n_blocks)
    others = rng.permutation(np.flatnonzero(~its & (sizes > 1)))
    its[others[: int(np.searchsorted(np.cumsum(sizes[others]), PEOPLE))]] = True
    found: NDArray[np.int64] = rng.permutation(records[its[block[records]]])
    return found
