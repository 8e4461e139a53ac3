"""Numbers of links that parties are shown: those by rows of codes, aggregated and assessed, and classes of others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.coded import Resolved, assessed_specification, encoded, measured, resolved
from benchmarks.modes import people
from gemel.carole.assessment.combined import combine
from gemel.carole.assessment.combined_assessment import AssessmentContext, assess
from gemel.carole.engine.decision.coded_links import GROUP, WIDTH, CodedLinks, micro_aggregated
from gemel.carole.engine.resolution.resolution_result import ResolutionResult, pack_result, unpack_result
from gemel.carole.engine.run.result import BOUNDS, FEWEST, MIN_VECTORS, classed
from gemel.carole.engine.run.specified import plan_of
from gemel.common.errors import ErrorCode
from gemel.common.parties import Side
from gemel.common.signatures.layout import CODES
from tests.carole.engine.no_statistics import NO_STATISTICS
from tests.carole.engine.runs import SEED, run
from tests.carole.refusals import refusal

N = 2000
COUNTED = ("subtraction",)
"""Measures that only links decide, whatever their probabilities."""
UPPER = ("probable_attribution", "members_disclosed")
"""Measures that lean upwards without the near pairs."""


def aggregated_plainly(probability: list[float]) -> list[float]:
    """`micro_aggregated` by its definition, link by link."""
    groups: list[list[int]] = []
    for place in sorted(range(len(probability)), key=lambda i: probability[i]):
        lowest = probability[groups[-1][0]] if groups else 0.0
        if groups and (len(groups[-1]) < GROUP or probability[place] <= lowest + WIDTH):
            groups[-1].append(place)
        else:
            groups.append([place])
    if len(groups) > 1 and len(groups[-1]) < GROUP:
        rest = groups.pop()
        groups[-1] += rest
    found = [0.0] * len(probability)
    for group in groups:
        for place in group:
            found[place] = sum(probability[i] for i in group) / len(group)
    return found


@given(st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.5, 0.505, 0.51, 0.99, 1.0])), max_size=150))
def test_aggregated_as_defined(probability: list[float]) -> None:
    found = micro_aggregated(np.array(probability))
    np.testing.assert_allclose(found, aggregated_plainly(probability), rtol=0, atol=1e-12)
    assert found.sum() == pytest.approx(sum(probability))
    # No link is the only one with its probability.
    _, sizes = np.unique(found.round(12), return_counts=True)
    assert not probability or sizes.min() >= min(GROUP, len(probability))


def test_likely_links_are_one_group_and_doubtful_ones_form_groups_of_twenty() -> None:
    rng = np.random.default_rng(1)
    sure, doubtful = 1 - rng.random(5000) * 0.009, rng.uniform(0.5, 0.9, 130)
    found = micro_aggregated(np.concatenate([sure, doubtful]))
    values, sizes = np.unique(found, return_counts=True)
    # The last of the doubtful ones took some likely ones in.
    assert sizes[-1] > 5000 - GROUP
    assert np.abs(found[:5000] - sure)[found[:5000] == values[-1]].max() < 0.01
    assert 4 <= len(values) <= 130 // GROUP + 2
    assert np.abs(found[5000:] - doubtful).max() < 0.25


@pytest.fixture(scope="module", params=[pytest.param("many fields", marks=pytest.mark.long), "few fields"])
def case(request: pytest.FixtureRequest) -> Resolved:
    """Two files of 2,000 people with codes, resolved in mode block_keyed; with few fields links are doubtful."""
    spec, files = people(N, 0.3, 4)
    poor = request.param == "few fields"
    return resolved(assessed_specification(spec, "block_keyed", poor=poor), files, SEED)


def test_the_assessment_is_that_of_mode_open_but_for_probabilities_and_near_pairs(case: Resolved) -> None:
    """The same linkage assessed with every pair and probability, and as Carole can in mode block_keyed.

    Counted measures are the same. The others move by what probabilities differ within a group, which is little. Two
    move up: `probable_attribution`, whose posteriors know fewer doubts without the near pairs, and `members_disclosed`,
    which is an upper bound where custodians receive pairs: by .031 and .047 at most in ten pairs of files
    (`python -m benchmarks coded`).
    """
    whole, reported = case.whole(), case.reported(case.coded)
    assert sorted(map(tuple, reported.codes.tolist())) == sorted(map(tuple, whole.codes.tolist()))
    assert reported.disagreements == whole.disagreements
    assert reported.probability.sum() == pytest.approx(whole.probability.sum())
    # Reported to a tenth of a match: with many fields less than that is left out in some draws of the keys.
    left_out = whole.pair_probability.sum() - whole.probability.sum()
    assert left_out > 0
    assert reported.left_out == pytest.approx(left_out, abs=0.051)
    ours, theirs = measured(reported, case.spec), measured(whole, case.spec)
    for name, value in ours.items():
        if name in COUNTED:
            assert value == theirs[name], name
        elif name in UPPER:
            assert theirs[name] - GROUP / N <= value <= theirs[name] + 0.07, name
        else:
            assert value == pytest.approx(theirs[name], abs=0.005), name
    document = assess(reported, case.spec, AssessmentContext("r" * 32), advise=False).document
    assert case.spec.release.alice == "pairs"
    assert any(f"{reported.left_out:.3g} matches" in warning["text"] for warning in document["warnings"])
    assert document["expected_left_out"] == reported.left_out
    assert document["expected_records"] + reported.left_out == pytest.approx(whole.pair_probability.sum(), abs=0.051)


def test_the_two_modes_of_the_same_files_agree() -> None:
    """Each mode with its own signatures, its own u and its own links."""
    spec, files = people(N, 0.3, 4)
    theirs = assessed_specification(spec, "open", poor=False)
    made = encoded(theirs, files, SEED)
    alice, bob = (made[side].sets[0] for side in Side)
    linkage = run(alice, bob, plan_of(theirs))
    in_open = measured(combine(linkage, alice, bob, theirs), theirs)
    keyed = resolved(assessed_specification(spec, "block_keyed", poor=False), files, SEED)
    assert len(keyed.linkage.links) == pytest.approx(len(linkage.links), rel=0.01)
    for name, value in measured(keyed.reported(keyed.coded), keyed.spec).items():
        assert value == pytest.approx(in_open[name], abs=0.03), name


def test_nothing_in_the_result_joins_the_two_lists(case: Resolved) -> None:
    """The order is that of rows of codes, and no probability is of fewer than a group."""
    assert (np.diff(case.coded.row_a) > 0).all()
    _, sizes = np.unique(case.coded.probability, return_counts=True)
    assert sizes.min() >= GROUP
    own = case.linkage.pairs.link_probability[case.linkage.links]
    assert len(np.unique(own)) > 5 * len(sizes)
    # Places of the links in the list of pairs against places in the list of codes: a random order has rank
    # correlation 0 with standard deviation 1 / sqrt(n - 1).
    codes = np.argsort(case.made[Side.ALICE].orders[CODES])
    place = codes[case.linkage.pairs.row_a[case.linkage.links]]
    ranks = np.argsort(np.argsort(place))
    requested = np.argsort(np.argsort(case.order[case.linkage.links]))
    assert abs(np.corrcoef(ranks, requested)[0, 1]) < 5 / np.sqrt(len(ranks) - 1)


def test_where_records_may_have_several_links_they_may_in_both_lists() -> None:
    """With assignment none rows may occur more than once, no pair twice."""
    spec, files = people(500, 0.3, 1)
    spec = assessed_specification(spec, "block_keyed", poor=True)
    several = spec.model_copy(update={"links": spec.links.model_copy(update={"assignment": "none", "threshold": 0.01})})
    case = resolved(several, files, SEED)
    reported = case.reported(case.coded)
    assert len(np.unique(reported.row_b)) < reported.n_records == len(case.linkage.links)
    ours, theirs = measured(reported, several), measured(case.whole(), several)
    assert ours["sample_uniques"] == pytest.approx(theirs["sample_uniques"], abs=0.005)


def put(column: np.ndarray, place: int, value: float) -> np.ndarray:
    changed = column.copy()
    changed[place] = value
    return changed


SPOILT: dict[str, Callable[[CodedLinks], CodedLinks | None]] = {
    "none": lambda links: None,
    "row outside the file": lambda links: replace(links, row_a=put(links.row_a, -1, N)),
    "negative row": lambda links: replace(links, row_b=put(links.row_b, 3, -1)),
    "order": lambda links: replace(links, row_a=links.row_a[[1, 0, *range(2, len(links.row_a))]]),
    "row twice": lambda links: replace(links, row_b=put(links.row_b, 0, links.row_b[1])),
    "fewer": lambda links: CodedLinks(links.row_a[1:], links.row_b[1:], links.probability[1:]),
    "not a number": lambda links: replace(links, probability=put(links.probability, 0, np.nan)),
    "above one": lambda links: replace(links, probability=put(links.probability, 0, 1.5)),
    "one more likely": lambda links: replace(
        links, probability=put(links.probability, links.probability.argmin(), 1.0)
    ),
    "another kind": lambda links: replace(links, row_a=links.row_a.astype(np.int64)),
    "two axes": lambda links: replace(links, row_a=links.row_a.reshape(1, -1)),
}


@pytest.mark.parametrize("how", SPOILT)
def test_links_by_rows_of_codes_that_cannot_be_are_refused(case: Resolved, how: str) -> None:
    with refusal(ErrorCode.UPLOAD_CORRUPT):
        case.reported(SPOILT[how](case.coded))


def test_probabilities_as_they_are_would_be_refused(case: Resolved) -> None:
    """A resolver that does not aggregate would disclose the join: Carole refuses its result."""
    own = case.linkage.pairs.link_probability[case.linkage.links]
    with refusal(ErrorCode.UPLOAD_CORRUPT, "means of the links' groups"):
        case.reported(replace(case.coded, probability=np.sort(own)))


def test_where_nothing_is_assessed_no_rows_of_codes_are_taken(case: Resolved) -> None:
    content = pack_result(ResolutionResult(NO_STATISTICS, {}, case.coded))
    with refusal(ErrorCode.UPLOAD_CORRUPT, "4 arrays that were not requested"):
        unpack_result(content, ())
    assert unpack_result(pack_result(ResolutionResult(NO_STATISTICS, {})), ()).coded is None


PAIRS = st.lists(st.tuples(st.one_of(st.floats(0, 1), st.sampled_from(BOUNDS)), st.integers(0, 9)), max_size=200)


@given(PAIRS)
def test_each_number_is_of_many_pairs_of_several_vectors(pairs: list[tuple[float, int]]) -> None:
    probability, vector = np.array([p for p, _ in pairs]), np.array([v for _, v in pairs], dtype=np.int64)
    shown = classed(probability, vector)
    numbers = np.unique(shown)
    if len(numbers) > 1:
        assert all(int((shown == number).sum()) >= FEWEST for number in numbers)
        assert all(len(np.unique(vector[shown == number])) >= MIN_VECTORS for number in numbers)
    assert ((shown >= 0) & (shown <= 1)).all()
    if len(pairs) >= FEWEST and len(np.unique(vector)) >= MIN_VECTORS:
        assert abs(shown.sum() - probability.sum()) <= 5e-4 * len(pairs) + 1e-9
        order = np.argsort(probability, kind="stable")
        assert (np.diff(shown[order]) >= 0).all()


def test_pairs_of_one_class_have_one_number() -> None:
    probability = np.repeat([0.1, 0.6, 0.7, 0.95, 0.999], 30)
    vector = np.arange(len(probability)) % 7
    shown = classed(probability, vector)
    assert np.unique(shown).tolist() == [0.1, 0.65, 0.95, 0.999]
    # A class of one vector tells which: it is joined with the next.
    vector[:30] = 0
    assert np.unique(classed(probability, vector)).tolist() == [0.467, 0.95, 0.999]


def test_few_pairs_are_shown_in_round_numbers() -> None:
    assert classed(np.array([0.9734]), np.array([3])).tolist() == [1.0]
    assert classed(np.empty(0), np.empty(0, dtype=np.int64)).tolist() == []
