"""The attacks of the leakage section `shared` find what is there to be found, and nothing by one party's shares."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from benchmarks import _leakage_shared as section
from benchmarks._leakage_study import Study
from benchmarks._shared_attacks import KeptPairs, blocks_by_size, handles_by_levels, learnt, middles, noise_of
from benchmarks._shared_views import Case, SharedFile, made, read_fields
from benchmarks.leakage import SECTIONS
from gemel.common.keys.derivation import Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.parties import ComputeParty, Side
from gemel.custodian.encoding.records import encode_records
from gemel.custodian.leakage.pairs import ABSENT, EQUAL
from gemel.custodian.leakage.recovery import UNKNOWN


@pytest.fixture(scope="module")
def study() -> Study:
    return Study(6000, 1, "shared")


@pytest.fixture(scope="module")
def case(study: Study) -> Case:
    """Blocks of a month."""
    return made(study, study.columns, 31, 50)


def test_two_parties_together_read_the_signatures_of_mode_block_keyed_and_one_reads_none(study: Study) -> None:
    rule = {"name": "date_of_birth", "keys": [{"field": "date_of_birth"}]}
    spec, seed, noise = study.specified(mode="shared", blocking=[rule]), Seed(bytes(range(32))), NoiseKey(b"n" * 32)
    columns = {name: column[:300] for name, column in study.columns.items()}
    held = SharedFile.of(columns, spec, Side.ALICE, seed, noise)
    sent = encode_records(columns, spec, seed, 1, noise=noise)  # what mode block_keyed sends, and is shared here
    parts = [part for part in sent.sets if part.rule == "date_of_birth"]
    place = np.empty(300, dtype=np.int64)
    place[sent.orders["date_of_birth"]] = np.arange(300)
    for one in ComputeParty:
        read = read_fields(held.joined(one, one.next), held.words)
        for (name, _), (view, codes) in zip(held.words.fields, read, strict=True):
            sets = [part.fields[name] for part in parts]
            there = np.concatenate([each.codes >= 0 for each in sets])[place[held.order]]
            expected = np.concatenate([each.signatures[each.codes] for each in sets])[place[held.order]]
            assert np.array_equal(codes >= 0, there)
            assert np.array_equal(view.signatures[codes[there]], expected[there])
    true = held.joined(ComputeParty.CAROLE, ComputeParty.STEWARD)
    for party in ComputeParty:
        agree = 1 - np.bitwise_count(held.guessed(party) ^ true).mean() / 64
        assert agree == pytest.approx(0.5, abs=0.01)


def test_levels_recognise_rows_where_their_order_is_known_and_not_by_shares(
    study: Study, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(section, "REGISTER", 500)
    known, *lines = section.levels(study, case, "rows")
    assert known.records > 0.6
    rows = [line for line in lines if "levels" in line.what]
    assert len(rows) == 4
    assert max(line.records for line in rows) < 0.1
    everything, *words = [line for line in lines if "learnt" in line.what]
    assert everything.records > 0.9
    assert len(words) == 3
    for line in words:
        assert abs(line.above) < 6 * line.error


def test_a_single_party_recognises_no_rows_by_its_shares(study: Study, case: Case) -> None:
    control, _, *lines = section.rows_of_a_file(study, case, "rows", 0.6)
    assert control.met
    assert len(lines) == 6
    assert max(line.records for line in lines) < 0.05


def test_blocks_are_named_by_sizes_that_no_other_has() -> None:
    rng = np.random.default_rng(1)
    sizes = np.array([[1, 1], [1, 2], [2, 1], [7, 0]])
    assert blocks_by_size(sizes, sizes, rng).tolist() == [0, 1, 2, 3]
    assert blocks_by_size(sizes, sizes[[2, 1, 3, 0]], rng).tolist() == [3, 1, 0, 2]
    assert blocks_by_size(sizes, sizes[:2], rng).tolist() == [0, 1, UNKNOWN, UNKNOWN]
    same = np.ones((50, 2), dtype=np.int64)
    found = blocks_by_size(same, same, rng)
    assert sorted(found.tolist()) == list(range(50))
    assert (found != np.arange(50)).any()


def test_padding_leaves_fewer_blocks_to_be_named(study: Study) -> None:
    keys = [pl.Series(np.repeat([f"k{k}" for k in range(30)], np.arange(3, 33)))] * 2
    named = [next(section.by_size(study, "sizes", keys, padded=padded)).records for padded in (False, True)]
    assert named[0] == 1
    assert named[1] < 0.6


def test_a_handle_is_named_by_levels_that_no_other_person_has() -> None:
    rng = np.random.default_rng(1)
    levels = np.array([[3, 3], [2, 3], [1, 3], [3, 1], [3, 3], [3, 3]], dtype=np.int8)
    own = KeptPairs(np.array([0, 1, 2, 3, 4, 5]), np.array([0, 1, 2, 3, 4, 4]), levels)
    seen = KeptPairs(own.a, own.b, levels)
    noise = noise_of(seen, own)
    assert handles_by_levels(seen, own, noise, np.array([1, 2, 3]), rng).tolist() == [1, 2, 3]
    # Two records with one in common are distinguished from one with a pair of its own, and not from each other.
    assert handles_by_levels(seen, own, noise, np.array([0, 4, 5]), rng).tolist()[0] == 0
    assert set(handles_by_levels(seen, own, noise, np.array([4, 5]), rng).tolist()) <= {4, 5}


def test_levels_stand_for_their_middles() -> None:
    level = np.array([[-1, 0], [0, 1], [1, -1], [2, 0]], dtype=np.int8)
    found = middles(level, [(0.2, 0.8, 1.0), (0.999, 1.0)])
    assert found[:, 0].tolist() == pytest.approx([ABSENT, 0.1, 0.5, EQUAL])
    assert found[:, 1].tolist() == pytest.approx([0.0, EQUAL, ABSENT, 0.0])


def test_a_classifier_learns_a_bit_that_is_there_and_none_from_noise() -> None:
    rng = np.random.default_rng(2)
    truth = rng.random(640) < 0.5
    noise = rng.integers(0, 1 << 64, (50, 10), dtype=np.uint64)
    right, chance, error = learnt(noise, truth, rng)
    assert abs(right - chance) < 5 * error
    bit = np.packbits(truth, bitorder="little").view(np.uint64)
    assert learnt(np.concatenate([noise, bit[None]]), truth, rng)[0] > 0.95


def test_the_section_is_among_the_page_s() -> None:
    assert SECTIONS["shared"][1] is section.shared
