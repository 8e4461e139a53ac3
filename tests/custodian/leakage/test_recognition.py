"""Rows of blocks recognised by a register: each step against a plain definition, and what is found of whom."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemel.common.keys.derivation import Purpose, Seed, derive
from gemel.common.keys.noise import AssessmentKeys
from gemel.common.specification import Specification, load_specification, specification_digest
from gemel.custodian.encoding.minhash import signatures
from gemel.custodian.leakage.fingerprint_model import UNLIKE, FingerprintModel, PairLookup
from gemel.custodian.leakage.leakage_assessment import assess
from gemel.custodian.leakage.pairs import (
    ABSENT,
    EQUAL,
    Fingerprints,
    fingerprints_in_clear,
    fingerprints_of_signatures,
    paired_values,
    pairs_within,
)
from gemel.custodian.leakage.recognition import Claims, judge, recognise
from gemel.custodian.leakage.recovery import UNKNOWN
from gemel.custodian.leakage.subgraphs import grow_assignment, log_prior
from gemel.custodian.leakage.view import FieldView, PublicValues
from gemel.custodian.leakage_report import EVERYBODY, PUBLIC, REGISTER, Finding, LeakageReport
from gemel.custodian.tokens import tokenise
from tests.custodian.leakage.names import drawn_days, drawn_surnames, public_surnames
from tests.specifications import heading

BITS = 1024


@given(st.lists(st.integers(-1, 3), max_size=12))
def test_pairs_are_all_of_each_block_once(block: list[int]) -> None:
    one, other = pairs_within(np.array(block, dtype=np.int64))
    expected = [(i, j) for i, j in combinations(range(len(block)), 2) if block[i] == block[j] >= 0]
    assert sorted(zip(one.tolist(), other.tolist(), strict=True)) == expected
    assert (np.diff(np.array(block, dtype=np.int64)[one]) >= 0).all(), "block by block"


def test_similarities_in_clear_are_those_of_the_dictionary() -> None:
    public = public_surnames(60)
    every = np.arange(60)
    one, other = (each.ravel() for each in np.meshgrid(every, every))
    assert paired_values(public, one, other) == pytest.approx(public.similarity(every, every).T.ravel(), abs=1e-6)


def random_fingerprints(rng: np.random.Generator, n: int, fields: int, block: int = 0) -> Fingerprints:
    one, other = np.triu_indices(n, 1)
    similar = rng.choice([0.0, 0.125, 0.5, EQUAL, ABSENT], (len(one), fields), p=[0.5, 0.2, 0.1, 0.15, 0.05])
    return Fingerprints(one, other, np.full(len(one), block), similar.astype(np.float32))


def plain_evidence(model: FingerprintModel, q: np.ndarray, p: np.ndarray, surprise: float) -> float:
    """The definition of the evidence, field by field, for similarities in clear that are multiples of 1/128."""
    total = surprise
    for field, (mine, theirs) in enumerate(zip(q.tolist(), p.tolist(), strict=True)):
        if (mine == ABSENT) != (theirs == ABSENT) or (mine != EQUAL and theirs == EQUAL):
            total += UNLIKE
        elif mine == EQUAL and theirs != EQUAL:
            total += max(UNLIKE, model.bits[field] * np.log((1 + theirs) / 2))
        elif mine not in (ABSENT, EQUAL):
            variance = max(0.05, 1 - (model.scale[field] * theirs) ** 2) / model.bits[field] / model.scale[field] ** 2
            density = -0.5 * (mine - theirs) ** 2 / variance - 0.5 * np.log(2 * np.pi * variance)
            total += max(UNLIKE, density)
    return max(UNLIKE, total)


def model_of(rng: np.random.Generator, seen: Fingerprints, fields: int, inverted: float = 0.0) -> FingerprintModel:
    clear = random_fingerprints(rng, 30, fields)
    return FingerprintModel.of(np.full(fields, 64.0), np.full(fields, inverted), clear, seen)


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.1]))
def test_evidence_and_growth_agree_with_their_definitions(seed: int, inverted: float) -> None:
    """An assignment's total is its pairs' evidence and its prior, and no other assignment of two small blocks has more
    where the people are in the file: there greedy growth must find the best."""
    rng = np.random.default_rng(seed)
    fields, n = 3, 4
    clear = random_fingerprints(rng, n, fields)
    order = rng.permutation(n)
    pair_of = np.zeros((n, n), dtype=np.int64)
    pair_of[clear.one, clear.other] = pair_of[clear.other, clear.one] = np.arange(len(clear.one))
    similar = clear.similar[pair_of[order[clear.one], order[clear.other]]]
    noise = rng.normal(0, 0.02, similar.shape).astype(np.float32)
    similar = np.where((similar == EQUAL) | (similar == ABSENT), similar, similar + noise)
    seen = Fingerprints(clear.one, clear.other, clear.block, similar)
    model = model_of(rng, seen, fields, inverted)
    evidence, surprise, binned = model.evidence(seen), model.surprise(seen), clear.binned()
    table = np.array(
        [[plain_evidence(model, q, p, s) for p in clear.similar] for q, s in zip(similar, surprise, strict=True)]
    )
    fast = np.maximum(UNLIKE, evidence[:, np.arange(fields), binned].sum(axis=2))
    assert fast == pytest.approx(table, abs=1e-3)

    def total(assigned: list[int], share: float) -> float:
        held = [row for row in range(n) if assigned[row] >= 0]
        pairs = combinations(held, 2)
        explained = sum(table[pair_of[i, j], pair_of[assigned[i], assigned[j]]] for i, j in pairs)
        return float(explained) + log_prior(n, n, len(held), share)

    every = np.arange(len(clear.one))
    for share in (0.4, 0.999):
        found, assigned, margin = grow_assignment(
            pair_of, every, seen.one, seen.other, evidence, pair_of, binned, share
        )
        if (assigned < 0).all():
            continue
        assert found == pytest.approx(total(assigned.tolist(), share), abs=1e-2)
        assert (margin > -1e-2)[assigned >= 0].all() or share == 0.4
        best = max(total(list(each), share) for each in permutations(range(n)))
        assert found <= max(best, found) + 1e-2
        assert found >= total(order.tolist(), share) - 1.0


def test_the_lookup_finds_the_best_star_of_each_block() -> None:
    rng = np.random.default_rng(3)
    parts = [random_fingerprints(rng, 6, 4, block) for block in range(12)]
    clear = Fingerprints(
        np.concatenate([part.one + 6 * block for block, part in enumerate(parts)]),
        np.concatenate([part.other + 6 * block for block, part in enumerate(parts)]),
        np.concatenate([part.block for part in parts]),
        np.concatenate([part.similar for part in parts]),
    )
    seen = random_fingerprints(rng, 6, 4)
    model = model_of(rng, seen, 4)
    evidence = model.evidence(seen)
    theirs = np.repeat(np.arange(12), 6)
    found, best, looked_up = PairLookup(clear, theirs, model).candidates(seen, evidence, visits=10_000, maximum=12)
    by_pair = evidence[:, np.arange(4), clear.binned()].sum(axis=2)

    def star(row: int, person: int) -> float:
        """What a row's pairs find at best among a person's, in excess of what chance finds."""
        its = (clear.one == person) | (clear.other == person)
        mine = [pair for pair in looked_up if row in (seen.one[pair], seen.other[pair])]
        return float(sum(max(0.0, by_pair[pair, its].max() - 2.0) for pair in mine))

    expected = {
        block: max(star(row, person) for row in range(6) for person in np.flatnonzero(theirs == block))
        for block in range(12)
    }
    assert len(found) > 5
    assert dict(zip(found.tolist(), best.tolist(), strict=True)) == pytest.approx(
        {block: total for block, total in expected.items() if total > 0}, abs=1e-3
    )
    assert (np.diff(best) <= 0).all()


def people(rng: np.random.Generator, n: int) -> list[tuple[PublicValues, np.ndarray]]:
    """Three names of each of some people, as values and places among them."""
    public = public_surnames(1500)
    return [(public, rng.choice(len(public), n, p=public.shares)) for _ in range(3)]


def encoded(
    fields: list[tuple[PublicValues, np.ndarray]], rows: np.ndarray, bits: int, key: int = 1
) -> list[tuple[FieldView, np.ndarray]]:
    """Signatures of some people's names; what blocks have to do with keys does not matter inside a block."""
    seed, found = Seed(bytes(range(key, key + 32))), []
    for number, (public, codes) in enumerate(fields):
        keys = derive(seed, "people", Purpose.SIGNATURE, bytes(32), f"name{number}")
        signed = signatures(tokenise(public.values, "bigrams"), keys, bits)
        found.append((FieldView(signed, np.zeros(0, dtype=np.int64)), codes[rows]))
    return found


def found_of(
    bits: int, share: float, seed: int = 1, strangers: bool = False, n: int = 1500, size: int = 6
) -> tuple[float, float, float]:
    """Share recognised of those known, share claimed for sure, and precision of that, in blocks of about `size`."""
    rng = np.random.default_rng(seed)
    fields, block = people(rng, n), rng.integers(0, n // size, n)
    rows = rng.permutation(n)
    attacked = block[rows] < 240 // size
    mine = np.where(attacked, block[rows], UNKNOWN)
    seen = fingerprints_of_signatures(mine, encoded(fields, rows, bits, seed))
    others = people(rng, n) if strangers else fields
    known = rng.random(n) < share
    theirs = np.where(known, block, UNKNOWN)
    clear = fingerprints_in_clear(theirs, others)
    model = FingerprintModel.of(np.full(3, float(bits)), np.zeros(3), clear, seen)
    claims = recognise(seen, mine, clear, theirs, model, share, rng)
    truth = np.where(known[rows] & (not strangers), rows, UNKNOWN)
    found = judge(claims, truth, attacked.astype(float), np.maximum(mine, 0))
    return found.of_known, found.sure, found.precision


def mean_found(bits: int, share: float, keys: int = 3, **options: Any) -> tuple[float, float, float]:
    """`found_of` as a mean over several keys and files."""
    recognised, sure, precision = np.mean([found_of(bits, share, key, **options) for key in range(1, keys + 1)], axis=0)
    return float(recognised), float(sure), float(precision)


def test_rows_are_recognised_by_what_they_have_in_common() -> None:
    everybody = mean_found(BITS, 1.0)
    assert everybody[0] > 0.6
    assert everybody[2] > 0.9
    assert mean_found(64, 0.4)[0] < everybody[0] - 0.3, "short signatures and a partial register find less"


def test_a_part_of_the_people_is_found_in_large_blocks_among_many() -> None:
    """The right block has few true pairs beside many that resemble one of some block by chance: of 10,000 people in
    500 blocks, four in ten of them known, a quarter were found while chance was added up with the rest, now .45."""
    assert mean_found(BITS, 0.4, keys=5, n=10_000, size=20)[0] > 0.38


def test_of_strangers_next_to_nothing_is_claimed_for_sure() -> None:
    assert mean_found(BITS, 0.4, strangers=True)[1] < 0.03


def test_nothing_to_compare_makes_no_claim() -> None:
    rng = np.random.default_rng(1)
    none = fingerprints_of_signatures(np.array([0, 1]), encoded(people(rng, 2), np.arange(2), 64))
    clear = fingerprints_in_clear(np.array([0, 0]), people(rng, 2))
    model = FingerprintModel.of(np.full(3, 64.0), np.zeros(3), clear, none)
    claims = recognise(none, np.array([0, 1]), clear, np.array([0, 0]), model, 1.0, rng)
    assert (claims.person == UNKNOWN).all()
    assert not claims.sure.any()


def test_claims_are_judged_by_the_records_they_stand_for() -> None:
    claims = Claims(np.array([0, 1, 5, UNKNOWN]), np.array([9.0, 9.0, 1.0, 0.0]))
    truth, weight = np.array([0, 2, 5, UNKNOWN]), np.array([3.0, 1.0, 4.0, 2.0])
    found = judge(claims, truth, weight, np.arange(4))
    assert (found.rows, found.known, found.recognised) == (10.0, 0.8, 0.7)
    assert found.of_known == pytest.approx(7 / 8)
    assert (found.sure, found.precision) == (0.4, 0.75)


TEXT = (
    heading("people", "block_keyed")
    + """
fields:
  - {name: surname, kind: name}
  - {name: street, kind: text}
  - {name: born, kind: date, date: {order: ymd}}
blocking: [{name: born, keys: [{field: born}]}]
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
"""
)


def file_of(n: int, days: int) -> dict[str, pl.Series]:
    rng = np.random.default_rng(2)
    named = {name: drawn_surnames(rng, n, 2000) for name in ("surname", "street")}
    return {**named, "born": drawn_days(rng, n, "1980-01-01", days)}


def with_leakage(section: str) -> Specification:
    return load_specification(f"{TEXT}leakage: {section}\n", "test")


def test_the_gate_has_a_verdict_for_each_kind_of_attacker() -> None:
    """What is recognised varies with the throw-away keys, from a quarter of the rows to all but an eighth of them: the
    mean over five has a standard error of a tenth."""
    columns = file_of(1200, 150)
    spec = load_specification(TEXT, "test")
    reports = [assess(columns, spec, keys=AssessmentKeys.of_number(number)) for number in range(1, 6)]
    report = reports[0]
    assert [verdict.attacker for verdict in report.verdicts] == [PUBLIC, REGISTER, EVERYBODY]
    everybody = report.verdicts[2]
    assert np.mean([each.verdicts[2].share for each in reports]) > 0.5
    assert everybody.limit is None
    assert not everybody.exceeds
    assert "blocks of 9." in everybody.worst.attack  # type: ignore[union-attr]  # rows a block it was measured at
    assert "register_recognises" in {warning.code for warning in report.warnings}
    limited = assess(columns, with_leakage("{full_register: 0.1}"))
    assert limited.exceeds
    assert limited.decisive.attacker == EVERYBODY
    assert limited.as_dict()["version"] == 1
    assert [each["exceeds"] for each in limited.as_dict()["verdicts"]] == [False, False, True]


def test_limits_of_registers_are_new_and_change_no_digest_where_they_are_not_set() -> None:
    plain, spelt = load_specification(TEXT, "test"), with_leakage("{partial_register: null}")
    assert specification_digest(plain) == specification_digest(spelt)
    assert specification_digest(plain) != specification_digest(with_leakage("{partial_register: 0.1}"))


def test_the_verdict_furthest_above_its_limit_decides() -> None:
    findings = (Finding("surname", "born", "counts", 0.2, 0.01),)
    recognised = (
        Finding("", "born", "register of 40%", 0.3, 0.0, attacker=REGISTER),
        Finding("", "born", "register of 100%", 0.9, 0.0, attacker=EVERYBODY),
    )
    report = LeakageReport("block_keyed", 9, 0.25, True, findings, recognised=recognised, register_limit=0.1)
    assert (report.decisive.attacker, report.decisive.share) == (REGISTER, 0.3)
    assert report.worst == findings[0], "of fields"
    assert not LeakageReport("block_keyed", 9, 0.25, True, findings, recognised=recognised).exceeds
