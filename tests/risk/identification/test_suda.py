"""Minimal sample uniques and their scores: oracles, brute force, identities, missing values, limits."""

from __future__ import annotations

import json
from itertools import combinations
from math import factorial

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.suda import largest_within, minimal_uniques
from gemel.risk.identification.suda_ranking import calibrated, suda_scores

SEVEN = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
FIVE = ["urbrur", "roof", "walls", "water", "sex"]


def plain(codes) -> list[set[tuple[int, ...]]]:
    """The definition: all subsets, smallest first; unique when no one else agrees, minimal when no subset is."""
    n_keys = len(codes[0])
    found = []
    for own in codes:
        mine: set[tuple[int, ...]] = set()
        for size in range(n_keys + 1):
            for keys in combinations(range(n_keys), size):
                if any(set(m) <= set(keys) for m in mine):
                    continue
                agreeing = sum(all(own[q] == other[q] or -1 in (own[q], other[q]) for q in keys) for other in codes)
                if agreeing == 1:
                    mine.add(keys)
        found.append(mine)
    return found


@st.composite
def files(draw, missing=("level", "any")):
    n_keys = draw(st.integers(1, 5))
    largest = draw(st.integers(1, 3))
    value = st.one_of(st.integers(0, largest).map(str), st.none()) if draw(st.booleans()) else st.integers(0, largest)
    rows = draw(st.lists(st.tuples(*[value] * n_keys), min_size=1, max_size=25))
    columns = {f"v{q}": [None if row[q] is None else str(row[q]) for row in rows] for q in range(n_keys)}
    return KeyFile.from_columns(columns, 0.01, missing=draw(st.sampled_from(missing)))


@given(files(), st.integers(1, 3))
def test_the_search_finds_what_the_definition_says(file, threads):
    found = minimal_uniques(file, threads=threads)
    names = {n: q for q, n in enumerate(file.names)}
    for record, expected in enumerate(plain(file.codes.tolist())):
        assert {tuple(sorted(names[k] for k in keys)) for keys in found.of_record(record)} == expected


@given(files(), st.integers(1, 5))
def test_a_limit_of_size_finds_the_small_ones(file, maximum):
    everything, limited = minimal_uniques(file), minimal_uniques(file, maximum)
    for record in range(file.n_records):
        small = [keys for keys in everything.of_record(record) if len(keys) <= maximum]
        assert limited.of_record(record) == small
    assert limited.complete == (maximum >= file.n_keys)


@given(files())
def test_the_harmonic_mean_of_dis_is_is_dis(file):
    for kind in ("is", "suda"):
        scored = suda_scores(file, kind)
        own = scored.dis_scores[file.uniques]
        if len(own):
            U = len(own)
            assert (1 / own - 1).sum() == pytest.approx(U * (1 / scored.dis - 1), rel=1e-9)
            assert U / (1 / own).sum() == pytest.approx(scored.dis, rel=1e-9)
            assert (scored.scores[file.uniques] >= (1 if kind == "is" else 0)).all()
        assert (np.delete(scored.dis_scores, file.uniques) == 0).all()


@given(files(missing=("level",)))
def test_contributions_are_sums_over_minimal_uniques(file):
    scored = suda_scores(file)
    own = scored.minimal_uniques
    whole = scored.scores.sum()
    for q, name in enumerate(file.names):
        by_record = np.zeros(file.n_records)
        for record in range(file.n_records):
            by_record[record] = sum(
                factorial(file.n_keys - len(keys)) for keys in own.of_record(record) if name in keys
            )
            if scored.scores[record]:
                assert scored.contributions(record)[q] == pytest.approx(by_record[record] / scored.scores[record])
        if whole:
            assert scored.by_variable[q] == pytest.approx(by_record.sum() / whole)
            for level in range(file.levels[q]):
                with_level = by_record[file.codes[:, q] == level].sum()
                assert scored.by_category[q][level] == pytest.approx(with_level / whole)


@pytest.mark.parametrize(
    ("oracle", "data", "keys"),
    [
        ("suda_testdata2_k5", "data_testdata2", FIVE),
        ("suda_testdata2_k7", "data_testdata2", SEVEN),
        ("suda_testdata_k5", "data_testdata", FIVE),
    ],
)
def test_the_oracle_files(shared, oracle, data, keys):
    expected = pl.read_csv(shared / "oracles" / f"{oracle}.csv")
    records = pl.read_csv(shared / "data" / f"{data}.csv", columns=keys)
    file = KeyFile.from_columns(records.select(keys).to_dict(), 0.01)
    scored = suda_scores(file)
    assert scored.scores.tolist() == expected["score"].to_list()
    assert np.abs(scored.dis_scores - expected["dis_suda"].to_numpy()).max() < 1e-7
    for record, (msus, n) in enumerate(expected.select("msus", "n_msu").iter_rows()):
        own = scored.minimal_uniques.of_record(record)
        assert len(own) == n
        assert {frozenset(keys) for keys in own} == {frozenset(x.split("+")) for x in (msus or "").split(";") if x}


def _worked(shared):
    examples = json.loads((shared / "oracles" / "suda_worked_examples.json").read_text())
    for example in examples.values():
        for run in example.values():
            if isinstance(run, dict):
                yield pl.DataFrame(example["data"]), run


def test_the_worked_examples(shared):
    runs = list(_worked(shared))
    assert len(runs) >= 6
    for data, run in runs:
        file = KeyFile.from_columns(data.select(run["variables"]).to_dict(), run["DisFraction"])
        scored = suda_scores(file, "is" if run["original_scores"] else "suda")
        assert scored.scores.tolist() == pytest.approx(run["score"], rel=1e-12)
        assert scored.dis_scores.tolist() == pytest.approx(run["disScore"], abs=1e-7)
        for record, shares in enumerate(run["contributionPercent"]):
            assert scored.contributions(record).tolist() == pytest.approx(shares, abs=1e-12)
        expected = [c["contribution"] / 100 for c in run["attribute_contributions"]]
        assert scored.by_variable.tolist() == pytest.approx(expected, abs=1e-12)


def test_a_size_limit_leaves_a_unique_the_least_score():
    file = KeyFile.from_columns({"a": list("xxyy"), "b": list("zwzw"), "c": list("uuuu")}, 0.1)
    assert suda_scores(file).scores.tolist() == [1, 1, 1, 1]
    assert suda_scores(file, max_size=1).scores.tolist() == [1, 1, 1, 1]
    assert suda_scores(file, "suda", max_size=1).scores.tolist() == [0, 0, 0, 0]


def test_files_without_uniques_and_with_one_record():
    pairs = suda_scores(KeyFile.from_columns({"a": list("xxyy")}, 0.1))
    assert pairs.scores.tolist() == [0, 0, 0, 0]
    assert pairs.dis == 0
    one = suda_scores(KeyFile.from_columns({"a": ["x"], "b": ["y"]}, 0.1))
    assert one.minimal_uniques.of_record(0) == [()]
    assert one.scores.tolist() == [2]
    assert one.dis_scores.tolist() == [1]


def test_more_bits_than_one_word():
    rng = np.random.default_rng(3)
    columns = {f"v{q}": rng.integers(0, 60, 60) for q in range(12)} | {"w": rng.integers(0, 2, 60)}
    file = KeyFile.from_columns(columns, 0.1)
    found = minimal_uniques(file, 2)
    for record in range(0, 60, 7):
        for keys in found.of_record(record):
            own = file.codes[:, [file.names.index(k) for k in keys]]
            assert (own == own[record]).all(axis=1).sum() == 1
    assert sum(len(found.of_record(r)) for r in range(60)) == len(found.subsets)
    few = [file.names.index(n) for n in ("v0", "v1", "v2", "w")]
    part = minimal_uniques(file.only(["v0", "v1", "v2", "w"]))
    expected = plain(file.codes[:, few].tolist())
    for record in range(60):
        named = {tuple(few.index(file.names.index(k)) for k in keys) for keys in part.of_record(record)}
        assert named == expected[record]


def test_too_many_to_hold_is_an_error_with_a_remedy():
    rng = np.random.default_rng(1)
    file = KeyFile.from_columns({f"v{q}": rng.integers(0, 3, 200) for q in range(8)}, 0.1)
    with pytest.raises(GemelError, match="give a largest size") as caught:
        minimal_uniques(file, limit=50)
    assert caught.value.code == ErrorCode.MEMORY
    assert len(minimal_uniques(file, 3, limit=10_000).subsets) > 0


def test_bad_settings():
    file = KeyFile.from_columns({"a": list("xy")}, 0.1)
    with pytest.raises(GemelError, match="at least one key"):
        minimal_uniques(file, 0)
    with pytest.raises(GemelError, match="`is` or `suda`"):
        suda_scores(file, "other")
    with pytest.raises(GemelError, match="at most 62 keys"):
        minimal_uniques(KeyFile.from_columns({f"v{q}": [1, 2] for q in range(63)}, 0.1))
    for scores, dis in (([1.0], 0.0), ([-1.0], 0.5)):
        with pytest.raises(GemelError):
            calibrated(np.array(scores), dis, 3)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_limit_is_of_all_tasks_together_whatever_the_threads(threads):
    rng = np.random.default_rng(1)
    file = KeyFile.from_columns({f"v{q}": rng.integers(0, 3, 200) for q in range(8)}, 0.1)
    minimum = next(limit for limit in range(100, 20_000, 100) if _fits(file, limit, 1))
    assert minimum > 500
    assert _fits(file, minimum, threads)
    assert not _fits(file, minimum - 100, threads)


def _fits(file, limit, threads):
    try:
        minimal_uniques(file, threads=threads, limit=limit)
    except GemelError:
        return False
    return True


def test_memory_gives_the_limit():
    file = KeyFile.from_columns({"a": list("xxyz"), "b": list("pqpq")}, 0.1)
    limits = [largest_within(file, memory, 2) for memory in (0, 2**10, 2**20, 2**30)]
    assert limits[0] == 0
    assert limits == sorted(limits)
    assert largest_within(file, 2**20, 1) > largest_within(file, 2**20, 64)


def test_pol_is_is_over_its_greatest_value():
    file = KeyFile.from_columns({"a": list("xxyz"), "b": list("zwzw"), "c": list("uuuu")}, 0.1)
    scored = suda_scores(file)
    assert scored.minimal_uniques.of_record(2) == [("a",)]
    assert scored.pol[2] == pytest.approx(2 / 6)
    with pytest.raises(GemelError, match="POL is a form of IS"):
        _ = suda_scores(file, "suda").pol
