"""Duplicates inside one file, and entities of two files in which people occur more than once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks._in_process import persons, signed
from benchmarks.duplicates import copied, f1_of_entities, inside
from gemel.carole.engine import Linkage, Resources, link
from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.engine.linkage.linking import OneFile, both_persons, deduplicate, with_entities
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.evaluation.link_quality import matching_pairs, number_of_matches, quality
from gemel.carole.fellegi_sunter.entities import OwnPersons
from gemel.carole.fellegi_sunter.kinds import estimation
from gemel.common.errors import ErrorCode
from gemel.common.parties import Side
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.draft.specification_draft import draft
from tests.carole.engine.progress import quiet
from tests.carole.engine.runs import ENOUGH, codes_of, compared, links_of, of_rows, pairs_of
from tests.carole.refusals import refusal


class Files:
    """Two files of 400 people, 200 in common, of whom some are again in their file, as signed."""

    def __init__(self, share, *, seed=6):
        rng = np.random.default_rng(seed)
        tables = two_files(400, 400, 200, 0.2, rng, sampled=0.01)
        alice, bob = (copied(table, share, 0.3, rng, thrice=0.3) for table in tables) if share else tables
        self.spec, *_ = draft(alice.drop(TRUTH), bob.drop(TRUTH), "clusters", block=True, mode="open")
        (self.a, of_a), (self.b, of_b) = (signed(t, self.spec, s) for t, s in ((alice, Side.ALICE), (bob, Side.BOB)))
        self.persons = persons(of_a, of_b)

    def plan(self, assignment="clusters", *, block=False):
        """As drafted, with its first three rules or none."""
        plan = replace(plan_of(self.spec), assignment=assignment)
        return replace(plan, rules=plan.rules[:3] if block else ())

    def link(self, assignment="clusters", *, block=False, progress=quiet):
        return link(self.a, self.b, self.plan(assignment, block=block), ENOUGH, progress)


@pytest.fixture(scope="module")
def copies():
    return Files(0.4)


@pytest.fixture(scope="module")
def every(copies) -> Linkage:
    return copies.link()


@pytest.fixture(scope="module")
def blocked(copies) -> Linkage:
    return copies.link(block=True)


def entity_pairs(run):
    return set(zip(*(rows.tolist() for rows in run.entities.pairs()), strict=True))


@pytest.mark.parametrize("which", ["every", "blocked"])
def test_people_are_found_and_what_is_claimed_of_them_holds(which, copies, request):
    run = request.getfixturevalue(which)
    match = matching_pairs(*copies.persons, run.pairs.row_a, run.pairs.row_b)
    matches = number_of_matches(*copies.persons)
    assert quality(match[run.links], matches).f1 > 0.97
    assert run.pairs.link_probability.sum() == pytest.approx(matches, rel=0.04)
    assert run.claims.compared.lower <= matches <= run.claims.compared.upper
    entity = np.concatenate([run.entities.a, run.entities.b])
    assert f1_of_entities(np.concatenate(copies.persons), entity) > 0.97
    assert not {"equal_records", "shared_partner", "links_exceed_smaller_file"} & codes_of(run)


@pytest.mark.parametrize("which", ["every", "blocked"])
def test_the_links_are_all_pairs_of_an_entity(which, request):
    run = request.getfixturevalue(which)
    pairs = run.pairs
    assert links_of(run) == entity_pairs(run)
    assert len(pairs_of(pairs)) == len(pairs.weight)
    assert (np.diff(pairs.weight) <= 0).all()
    assert pairs.link_probability.min() >= 0
    assert pairs.link_probability.max() <= 1


def test_a_pair_that_no_rule_compares_is_compared_for_its_entity(every, blocked):
    """Its vector is that of a run that compares every pair, and no candidate is counted for it."""
    vectors = {
        (a, b): tuple(every.patterns.gamma[k])
        for a, b, k in zip(every.pairs.row_a, every.pairs.row_b, every.pairs.pattern, strict=True)
    }
    pairs, patterns = blocked.pairs, blocked.patterns
    new = np.flatnonzero(patterns.count == 0)
    assert len(new)
    compared = [
        (tuple(patterns.gamma[k]), vectors[a, b])
        for a, b, k in zip(pairs.row_a, pairs.row_b, pairs.pattern, strict=True)
        if (a, b) in vectors
    ]
    assert len(compared) > len(blocked.links) / 2
    assert all(own == other for own, other in compared)
    assert patterns.count.sum() == blocked.n_candidates
    assert np.isin(pairs.pattern[blocked.links], new).any()


def test_the_document_counts_entities(every, copies):
    document = findings(every, copies.plan(), ENOUGH, {}).plain()["linkage"]
    entity = np.concatenate([every.entities.a, every.entities.b])
    in_a, in_b = every.entities.sizes
    assert document["entities"] == {
        "number": len(np.unique(entity)),
        "linked": len(np.intersect1d(every.entities.a, every.entities.b)),
        "several": {"alice": int((in_a > 1).sum()), "bob": int((in_b > 1).sum())},
        "largest": {"alice": int(in_a.max()), "bob": int(in_b.max())},
        "pairs": len(every.links),
    }
    assert document["entities"]["several"]["alice"] == pytest.approx(160, abs=5)
    assert document["claims"]["precision"]["value"] > 0.97


def test_without_copies_the_links_are_those_of_one_to_one():
    files = Files(0)
    found, expected = files.link(), files.link("one_to_one")
    assert found.links.size > 150
    assert links_of(found) == links_of(expected)
    assert found.pairs.link_probability.sum() == pytest.approx(expected.pairs.link_probability.sum(), rel=0.01)


def test_a_rate_of_false_links_takes_no_person_apart(blocked, copies):
    """Persons are those of the threshold .5, and the links those of them that keep to the rate."""
    plan = replace(copies.plan(block=True), false_link_rate=0.01)
    run = link(copies.a, copies.b, plan, ENOUGH, quiet)
    np.testing.assert_array_equal(run.entities.a, blocked.entities.a)
    linked, others = entity_pairs(run), entity_pairs(blocked)
    assert linked <= others or others <= linked
    assert len(run.links) > 0.95 * len(blocked.links)
    # The rate is one of persons, each of them as probable as the most probable pair of its records.
    _, person = np.unique([run.entities.a[run.pairs.row_a[run.links]], run.entities.b[run.pairs.row_b[run.links]]],
                          axis=1, return_inverse=True)  # fmt: skip
    chance = np.zeros(person.max() + 1)
    np.maximum.at(chance, person.ravel(), run.pairs.link_probability[run.links])
    assert 1 - chance.mean() < 0.02


def test_progress_never_goes_back(copies):
    seen = []
    copies.link(block=True, progress=lambda stage, fraction: seen.append((stage, fraction)))
    stages = list(dict.fromkeys(stage for stage, _ in seen))
    assert stages == ["persons", "tables", "levels", "count", "model", "keep", "decide"]
    for stage in stages:
        done = [fraction for name, fraction in seen if name == stage]
        assert done == sorted(done)
        assert done[-1] == pytest.approx(1.0)


def test_entities_that_do_not_fit_into_memory_are_refused_before_their_pairs_are_made(copies, blocked):
    """One person in each file, as where the fields distinguish no one."""
    plan = copies.plan(block=True)
    one = replace(copies.link("one_to_one", block=True), peak_bytes=0)
    own = tuple(
        OwnPersons.of(np.zeros(n, dtype=np.int32), *[np.zeros(0, np.int32)] * 2, np.zeros(0)) for n in one.records
    )
    with refusal(ErrorCode.MEMORY, "pairs of records of linked persons"):
        with_entities(one, own, copies.a, copies.b, plan, Resources(2**20, 1))


def test_a_file_of_one_record_has_one_person(copies):
    own, _ = both_persons(of_rows(copies.a, slice(1)), copies.b, copies.plan(), ENOUGH, quiet)
    assert own[0].first.tolist() == [0]
    assert len(np.unique(own[1].first)) == pytest.approx(400, abs=10)


def test_an_estimate_that_has_not_converged_within_a_file_is_named(copies, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(estimation, "MAX_ROUNDS", 1)
        _, doubts = both_persons(copies.a, copies.b, copies.plan(), ENOUGH, quiet)
    assert {doubt.code for doubt in doubts} == {"persons_in_doubt"}
    assert {doubt.text.split("'")[0] for doubt in doubts} == {"Within Alice", "Within Bob"}
    assert not both_persons(copies.a, copies.b, copies.plan(), ENOUGH, quiet)[1]


def test_a_file_whose_persons_cannot_be_found_is_named(copies):
    """All records of Bob's are equal in all fields: within the file nothing distinguishes them."""
    fields = {name: replace(field, codes=np.zeros_like(field.codes)) for name, field in copies.b.fields.items()}
    with refusal(ErrorCode.NOT_IDENTIFIED, "within Bob's file") as caught:
        link(copies.a, replace(copies.b, fields=fields), copies.plan(), ENOUGH, quiet)
    assert "one_to_one" in caught.value.remedy


@pytest.mark.parametrize("n", [149, 150])
@pytest.mark.parametrize("blocked", [False, True])
def test_each_pair_of_records_is_compared_once(files, blocked, n):
    part = of_rows(files.a, slice(n))
    found, kept, _ = compared(OneFile(part), replace(files.plan(blocked=blocked), assignment="one_to_many"))
    if blocked:
        keys = np.stack([part.blocks[name] for name in ("by-family", "by-born")])
        shared = ((keys[:, :, None] == keys[:, None, :]) & (keys[:, :, None] != 0)).any(axis=0)
        expected = int(np.triu(shared, 1).sum())
    else:
        odd = n + 1 - n % 2
        expected = odd * (odd - 1) // 2
    assert found.patterns.n_pairs == expected
    assert found.n_a * found.n_b == (n + 1 - n % 2) * (n - n % 2) // 2
    assert (kept.row_a < kept.row_b).all()
    assert len(pairs_of(kept)) == len(kept.row_a)


def test_levels_over_all_pairs_are_those_of_two_records(files):
    """Blocked, they come from the product of the file with itself: twice each pair, and each record with itself."""
    part = of_rows(files.a, slice(149))
    blocked, *_ = compared(OneFile(part), replace(files.plan(blocked=True), assignment="one_to_many"))
    every, *_ = compared(OneFile(part), replace(files.plan(blocked=False), assignment="one_to_many"))
    gamma, count = every.patterns.gamma, every.patterns.count
    for q in range(gamma.shape[1]):
        pairs = np.bincount(gamma[gamma[:, q] >= 0, q], count[gamma[:, q] >= 0], minlength=blocked.levels.shape[1])
        np.testing.assert_allclose(blocked.levels[q], 2 * pairs)


@pytest.mark.parametrize("block", [False, True])
def test_people_who_are_twice_are_found(block):
    """A third of 500 twice, some of them thrice, a third of the copies with errors."""
    rng = np.random.default_rng(4)
    table = copied(two_files(500, 1, 0, 0.2, rng, sampled=0.01)[0], 0.3, 0.3, rng, thrice=0.3)
    found = inside(table, block)
    assert quality(found.match[found.linkage.links], found.matches).f1 > 0.95
    assert found.linkage.pairs.link_probability.sum() == pytest.approx(found.matches, rel=0.05)
    assert not {"equal_records", "shared_partner"} & codes_of(found.linkage)


def test_persons_are_whole_and_begin_with_their_first_record(files):
    linkage, person = deduplicate(of_rows(files.a, slice(150)), files.plan(blocked=False), ENOUGH, quiet)
    assert person.shape == (150,)
    assert (person <= np.arange(150)).all()
    assert (person[person] == person).all()
    assert all(person[i] == person[j] for i, j in links_of(linkage))
