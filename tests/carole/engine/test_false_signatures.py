"""A custodian that sends signatures made to resemble everyone's: it is linked to no one it should not be.

All rows of Alice's have one signature in every field: that of one of Bob's records, or the centroid of his file, each
bit as in most of his signatures, to which all of them are more similar than to each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.modes import people
from tryst.carole.engine import LinkagePlan, Resources, link
from tryst.carole.engine.specified import plan_of
from tryst.common.cleaning import clean
from tryst.common.encoding import SignatureSet
from tryst.common.encoding.records import encode_records
from tryst.common.encoding.signature_sets import FieldSignatures
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys.derivation import Seed
from tryst.common.parties import Side

N, COMMON = 150, 75


@dataclass(frozen=True)
class Honest:
    """What both custodians would send, whose records they are, and the plan."""

    sets: list[SignatureSet]
    persons: list[NDArray[np.object_]]
    plan: LinkagePlan


@pytest.fixture(scope="module")
def honest() -> Honest:
    spec, files = people(N, 0.2, 8)
    made = [encode_records(clean(files[side], spec, side).columns, spec, Seed(bytes(range(32))), 1) for side in Side]
    persons = [files[side]["person"].to_numpy()[each.order] for side, each in zip(Side, made, strict=True)]
    whole = [SignatureSet("", N, each.sets[0].fields, {}) for each in made]
    return Honest(whole, persons, plan_of(spec.model_copy(update={"blocking": ()})))


def same_for_all(field: FieldSignatures, how: str) -> FieldSignatures:
    """One signature for all rows."""
    bits = np.unpackbits(field.signatures[field.codes[field.codes >= 0]].view(np.uint8), axis=1)
    chosen = bits[0] if how == "one record" else (bits.mean(axis=0) > 0.5).astype(np.uint8)
    signature = np.packbits(chosen).view(np.uint64)[None, :]
    return FieldSignatures(field.bits, signature, np.zeros(N, dtype=np.int32))


def linked(honest: Honest, names: list[str], how: str) -> tuple[int, int]:
    """Links, and how many of them are right, where Alice's signatures of some fields are the same for all."""
    alice, bob = honest.sets
    fields = {name: same_for_all(bob.fields[name], how) if name in names else alice.fields[name] for name in bob.fields}
    false = SignatureSet("", N, fields, {})
    false.validate()
    found = link(false, bob, honest.plan, Resources(1 << 30, 1), lambda stage, done: None)
    rows = found.pairs.row_a[found.links], found.pairs.row_b[found.links]
    right = honest.persons[0][rows[0]] == honest.persons[1][rows[1]]
    return len(found.links), int(right.sum())


@pytest.mark.parametrize("how", ["one record", "centroid"])
def test_a_file_of_one_and_the_same_record_is_linked_to_no_one(honest: Honest, how: str) -> None:
    try:
        links, _ = linked(honest, list(honest.sets[1].fields), how)
    except TrystError as error:
        links, code = 0, error.code
    else:
        code = None
    assert code in (None, ErrorCode.NOT_IDENTIFIED)
    # Of rows that are all alike none is more one of Bob's than another.
    assert links <= 1


@pytest.mark.parametrize("how", ["one record", "centroid"])
def test_where_half_of_the_fields_say_nothing_the_others_decide(honest: Honest, how: str) -> None:
    links, right = linked(honest, list(honest.sets[1].fields)[::2], how)
    assert right >= 0.9 * COMMON
    assert links - right <= 0.05 * COMMON
