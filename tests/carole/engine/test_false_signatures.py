"""A custodian that sends signatures made to resemble everyone's: it is linked to no one it should not be.

All rows of Alice's have one signature in every field: that of one of Bob's records, or the centroid of his file, each
bit as in most of his signatures, to which all of them are more similar than to each other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.modes import people
from gemel.carole.engine.run.specified import plan_of
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet
from gemel.common.specification import Specification
from gemel.common.specification.model.blocking import Bands, BlockingRule
from tests.carole.engine.runs import encoded, run

N, COMMON = 150, 75
BANDS = BlockingRule(name="bands", lsh=Bands(field="surname"))


@dataclass(frozen=True)
class Honest:
    """What both custodians would send, whose records they are, and the specification."""

    sets: list[SignatureSet]
    persons: list[NDArray[np.object_]]
    spec: Specification


@pytest.fixture(scope="module")
def honest() -> Honest:
    spec, files = people(N, 0.2, 8)
    made = [encoded(spec, files[side], side, None) for side in Side]
    persons = [files[side]["person"].to_numpy()[each.order] for side, each in zip(Side, made, strict=True)]
    whole = [SignatureSet("", N, each.sets[0].fields, {}) for each in made]
    return Honest(whole, persons, spec)


def same_for_all(field: FieldSignatures, how: str) -> FieldSignatures:
    """One signature for all rows."""
    bits = np.unpackbits(field.signatures[field.codes[field.codes >= 0]].view(np.uint8), axis=1)
    chosen = bits[0] if how == "one record" else (bits.mean(axis=0) > 0.5).astype(np.uint8)
    signature = np.packbits(chosen).view(np.uint64)[None, :]
    return FieldSignatures(field.bits, signature, np.zeros(N, dtype=np.int32))


def linked(honest: Honest, names: list[str], how: str, blocking: tuple[BlockingRule, ...] = ()) -> tuple[int, int]:
    """Links, and how many of them are right, where Alice's signatures of some fields are the same for all."""
    plan = plan_of(honest.spec.model_copy(update={"blocking": blocking}))
    alice, bob = honest.sets
    fields = {name: same_for_all(bob.fields[name], how) if name in names else alice.fields[name] for name in bob.fields}
    false = SignatureSet("", N, fields, {})
    false.validate()
    found = run(false, bob, plan)
    rows = found.pairs.row_a[found.links], found.pairs.row_b[found.links]
    right = honest.persons[0][rows[0]] == honest.persons[1][rows[1]]
    return len(found.links), int(right.sum())


@pytest.mark.parametrize("how", ["one record", "centroid"])
def test_a_file_of_one_and_the_same_record_is_linked_to_no_one(honest: Honest, how: str) -> None:
    links, code = 0, None
    try:
        links, _ = linked(honest, list(honest.sets[1].fields), how)
    except GemelError as error:
        code = error.code
    assert code in (None, ErrorCode.NOT_IDENTIFIED)
    # Of rows that are all alike none is more one of Bob's than another.
    assert links <= 1


@pytest.mark.parametrize("how", ["one record", "centroid"])
def test_where_half_of_the_fields_say_nothing_the_others_decide(honest: Honest, how: str) -> None:
    links, right = linked(honest, list(honest.sets[1].fields)[::2], how)
    assert right >= 0.9 * COMMON
    assert links - right <= 0.05 * COMMON


def in_bands(honest: Honest, rule: BlockingRule) -> tuple[int, int]:
    """As `linked`, where the surname of every record of both files has one signature, and bands of it propose pairs."""
    alice, bob = honest.sets
    surname = same_for_all(bob.fields["surname"], "centroid")
    alike = [SignatureSet("", N, {**each.fields, "surname": surname}, {}) for each in (alice, bob)]
    return linked(replace(honest, sets=alike), [], "centroid", (rule,))


def test_where_all_bands_collide_every_pair_is_proposed_and_the_other_fields_decide(honest: Honest) -> None:
    links, right = in_bands(honest, BANDS)
    assert right >= 0.9 * COMMON
    assert links - right <= 0.05 * COMMON


def test_a_block_of_all_rows_above_the_limit_proposes_no_pair(honest: Honest) -> None:
    assert in_bands(honest, BANDS.model_copy(update={"limit": N})) == (0, 0)
