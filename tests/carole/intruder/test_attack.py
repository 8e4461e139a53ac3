"""The linker used to attack a release, against pairs compared one by one and against the truth."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from gemel.carole.evaluation.link_quality import calibration
from gemel.carole.fellegi_sunter.schemes import fit_scheme
from gemel.carole.fellegi_sunter.settings import Estimation
from gemel.carole.intruder import (
    AttackedFiles,
    Suspicions,
    assess,
    extended_attack,
    fellegi_sunter_attack,
    with_dummies,
)
from gemel.carole.intruder.attack import FLOOR, AllPairs
from gemel.common.errors import ErrorCode
from gemel.risk.identification.matching.claims import claim_best_of_each
from tests.carole.intruder.releases import KEYS, LEVELS, NAMES, attacked, population
from tests.carole.refusals import refusal

FILES = attacked(400, 1)


def with_missing(files: AttackedFiles) -> AttackedFiles:
    rng = np.random.default_rng(5)
    sides = [
        np.where(rng.random(side.shape) < 0.1, -1, side).astype(np.int32) for side in (files.known, files.released)
    ]
    return replace(files, known=sides[0], released=sides[1])


def n_right(files: AttackedFiles, found: Suspicions) -> float:
    truth = files.is_match(found.person, found.record)
    return claim_best_of_each(found.person, found.probability, truth).correct


def gap(files: AttackedFiles, found: Suspicions) -> float:
    return calibration(found.probability, files.is_match(found.person, found.record)).largest_gap


@pytest.mark.parametrize("files", [FILES, with_missing(FILES)], ids=["complete", "missing"])
def test_all_pairs_by_the_definition(files):
    pairs = AllPairs(files)
    a, b = (np.repeat(files.known, len(files.released), axis=0), np.tile(files.released, (len(files.known), 1)))
    a, b = a[:, KEYS], b[:, KEYS]
    gamma = np.where((a < 0) | (b < 0), -1, a == b)
    parts = list(pairs.map(lambda p, r, g: (p.copy(), r.copy(), g.copy()), lambda _: None))
    person, record, pattern = (np.concatenate(column) for column in zip(*parts, strict=True))
    np.testing.assert_array_equal(person, np.repeat(np.arange(len(files.known)), len(files.released)))
    np.testing.assert_array_equal(record, np.tile(np.arange(len(files.released)), len(files.known)))
    np.testing.assert_array_equal(pairs.patterns.gamma[pattern], gamma)
    np.testing.assert_array_equal(np.bincount(pattern), pairs.patterns.count)


def test_the_fellegi_sunter_intruder_keeps_every_pair_above_the_floor():
    found = fellegi_sunter_attack(FILES, dependence="none", one_to_one=False)
    pairs = AllPairs(FILES)
    names, sizes = [NAMES[q] for q in KEYS], (len(FILES.known), len(FILES.released))
    model = fit_scheme("multinomial", pairs.patterns, names, [(0.5, 1.0)] * 3, *sizes, Estimation()).model
    gamma = (FILES.known[:, None, KEYS] == FILES.released[None][:, :, KEYS]).reshape(-1, 3).astype(np.int8)
    probability = model.match_probabilities(gamma)
    high = probability >= FLOOR
    assert len(found.probability) == high.sum()
    np.testing.assert_allclose(found.probability, probability[high], rtol=1e-9)


def test_probabilities_hold_and_the_one_who_learns_is_right_more_often():
    """Twelve releases; the extended intruder's advantage is paired and over three standard errors."""
    gains, gaps = [], []
    for seed in range(12):
        files = attacked(300, 100 + seed)
        found = [attack(files) for attack in (fellegi_sunter_attack, extended_attack)]
        plain, extended = (n_right(files, claimed) for claimed in found)
        gains.append(extended - plain)
        gaps += [gap(files, claimed) for claimed in found]
    assert np.mean(gains) > 3 * np.std(gains, ddof=1) / np.sqrt(len(gains))
    assert abs(np.mean(gaps)) < 0.35


def test_one_to_one_claims_no_record_twice_with_certainty():
    found = fellegi_sunter_attack(FILES)
    for rows in (found.person, found.record):
        assert np.bincount(rows, found.probability).max() <= 1 + 1e-6
    assert abs(gap(FILES, found)) < 0.4


def test_weak_keys_leave_guesses_and_not_silence():
    """Two thousand people, three keys of 1,000 combinations: no person can be linked, but some guesses are right."""
    rng = np.random.default_rng(2)
    people = np.column_stack([rng.integers(0, 10, (2_000, 3))]).astype(np.int32)
    released = people[rng.permutation(2_000)[:1_500]]
    wrong = rng.random(released.shape) < 0.4
    released = np.where(wrong, rng.integers(0, 10, released.shape), released).astype(np.int32)
    files = AttackedFiles(("a", "b", "c"), (10, 10, 10), people[:1_000], released, (0, 1, 2))
    found = fellegi_sunter_attack(files, dependence="none")
    assert len(found.probability)
    assert found.warnings[-1].code == "judged_pair_by_pair"


@pytest.mark.parametrize("kind", ["independent", "model", "twins"])
def test_dummies_are_no_person_and_leave_the_release_as_it_was(kind):
    rng = np.random.default_rng(3)
    changed = with_dummies(FILES, 50, rng, kind)
    np.testing.assert_array_equal(changed.released[: len(FILES.released)], FILES.released)
    assert len(changed.released) == len(FILES.released) + 50
    assert changed.n_matches == FILES.n_matches
    assert (changed.released[-50:, 3] == -1).all()  # what the release does not hold, a dummy does not hold either
    assert with_dummies(FILES, 0, rng, kind) is FILES


def test_twins_share_the_keys_of_the_rarest_records():
    changed = with_dummies(FILES, 40, np.random.default_rng(3), "twins")
    keys = [tuple(row) for row in FILES.released[:, KEYS]]
    made = [tuple(row) for row in changed.released[-40:, KEYS]]
    assert all(keys.count(row) == 1 for row in made)
    assert len(set(made)) == 40


def test_twins_for_everyone_make_claims_by_agreement_half_as_often_right():
    """Eight releases without errors: of each pair of twins an intruder who only compares keys takes one by lot."""
    before, after, independent = [], [], []
    for seed in range(8):
        files = attacked(300, 200 + seed, error=0.0)
        rng = np.random.default_rng(seed)
        n = len(files.released)
        for which, where in (
            (files, before),
            (with_dummies(files, n, rng, "twins"), after),
            (with_dummies(files, n, rng, "independent"), independent),
        ):
            where.append(n_right(which, fellegi_sunter_attack(which)))
    assert np.mean(after) == pytest.approx(np.mean(before) / 2, rel=0.12)
    assert np.mean(independent) > 1.5 * np.mean(after)


def test_an_assessment_is_json_without_records():
    found = assess(FILES, dummies=(0.2,))
    text = json.dumps(found)
    assert found["keys"] == ["name", "birthday", "town"]
    assert found["known"] == ["job"]
    assert found["learnt"] == ["income", "car"]
    assert set(found["intruders"]) == {"Fellegi-Sunter", "extended latent"}
    assert found["dummies"][0]["share"] == 0.2
    assert len(text) < 200_000
    blind = assess(replace(FILES, record_of=None))
    claims = blind["intruders"]["extended latent"]["claims"]["best_of_each_person"]
    assert claims["true"] is None
    assert 0 < claims["claimed"] < 1
    assert "auc" not in blind["intruders"]["extended latent"]


def test_files_from_columns():
    known = {"name": ["a", "b", "c"], "age": [1, 2, None], "job": ["x", "y", "x"]}
    released = {"age": ["2", "1"], "income": ["low", "high"], "name": ["b", ""]}
    files = AttackedFiles.from_columns(known, released, ["age"], ids=(["p", "q", "r"], ["q", "z"]))
    assert files.names == ("age", "job", "income")
    assert files.known.tolist() == [[0, 0, -1], [1, 1, -1], [-1, 0, -1]]
    assert files.released.tolist() == [[1, -1, 1], [0, -1, 0]]
    assert files.record_of.tolist() == [-1, 0, -1]
    assert AttackedFiles.from_columns(known, released).keys == (0, 1)
    assert AttackedFiles.from_columns(known, released, ["age", "name", "age"]).names[:2] == ("age", "name")


def columns(known, released, keys=None, ids=None):
    return AttackedFiles.from_columns({"a": known}, {"a": released}, keys, ids=ids)


PEOPLE = population(10, np.random.default_rng(1))


@pytest.mark.parametrize(
    ("refused", "code", "message"),
    [
        (lambda: AttackedFiles(NAMES, LEVELS, PEOPLE, PEOPLE, ()), ErrorCode.PARAMETER, "no variable in common"),
        (lambda: AttackedFiles(NAMES, (2,) * 6, PEOPLE, PEOPLE, KEYS), ErrorCode.PARAMETER, "codes from -1"),
        (lambda: AttackedFiles(NAMES, LEVELS, PEOPLE[:0], PEOPLE, KEYS), ErrorCode.EMPTY_SOURCE, "at least one record"),
        (lambda: columns([1, 2], [1, 2], ids=([1, 2], [1, 1])), ErrorCode.PARAMETER, "several records"),
        (lambda: columns([1, 2], [1, 2], ["b"]), ErrorCode.FIELD_MISSING, "must be in both"),
        (lambda: with_dummies(FILES, 1, np.random.default_rng(1), "clones"), ErrorCode.PARAMETER, "kind"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_invalid_input_is_refused(refused, code, message):
    with refusal(code, message):
        refused()
