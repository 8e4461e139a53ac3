"""Which links are true, beside plain definitions; the measures beside the truth of a public population."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from benchmarks._built_population import SMALL, Built, built
from benchmarks._claimed_combined import Errors, Sampled, sampled
from gemel.carole.assessment.expected_matches import Believed, Supposed, unique_links, unique_matches, with_interval
from gemel.carole.assessment.measures import Measure
from gemel.carole.assessment.true_links import Combinations, Halves, TrueLinks, true_links
from gemel.common.documents.linkage_document import LinkageDocument
from gemel.common.specification import load_specification
from gemel.common.specification.model.assessment import Fraction
from gemel.coordinator.draft.specification_text import dump_specification
from tests.carole.assessment.outputs import assessed, linkage

SEED, REPLICATES = 30, 12


def rows(*values: tuple[int, int]) -> np.ndarray:
    return np.array(values, dtype=np.int32).reshape(-1, 2)


def small(probability: float | np.ndarray = 0.8) -> Halves:
    """Three links of one combination, two of another, two unique; five that are halves put together."""
    links = rows((0, 0), (0, 0), (0, 0), (1, 1), (1, 1), (2, 0), (0, 3))
    mixed = rows((0, 0), (0, 1), (1, 1), (2, 3), (2, 0))
    others = rows((1, 1), (3, 3))
    w = np.broadcast_to(np.asarray(probability, dtype=np.float64), 7).copy()
    return Halves(links, mixed, np.array([0, 1, 5, 5, 5]), others, w, np.array([0.2, 0.1]), Combinations.of(links))


def test_what_is_believed_is_bayes_theorem_by_how_often_a_combination_occurs() -> None:
    w = np.array([0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.9])
    halves = small(w)
    often = Counter(map(tuple, halves.links.tolist()))
    # A half put together stands in place of the link that it is of.
    mixed: dict[int, float] = defaultdict(float)
    for row, of in zip(halves.mixed.tolist(), halves.mixed_of.tolist(), strict=True):
        without = Counter(map(tuple, np.delete(halves.links, of, axis=0).tolist()))
        mixed[without[tuple(row)] + 1] += 1 / 5
    seen = Counter(often[tuple(row)] for row in halves.links.tolist())
    false = float((1 - w).sum())
    for alike in (0.0, 0.4, 1.0):
        found = true_links(halves, alike)
        strange = (1 - alike) * false
        true = {k: max((seen[k] - strange * mixed[k]) / (7 - strange), 1e-6) for k in (1, 2, 3, 4)}
        true = {k: value / sum(true.values()) for k, value in true.items()}
        for i, row in enumerate(halves.links.tolist()):
            k = often[tuple(row)]
            wrong = (1 - alike) * mixed[k] + alike * true[k]
            assert found.frequency[i] == k
            expected = w[i] * true[k] / (w[i] * true[k] + (1 - w[i]) * wrong)
            assert found.probability[i] == pytest.approx(expected, rel=1e-4)
    assert true_links(halves, 1.0).probability == pytest.approx(w)


def test_the_expected_spectrum_is_that_of_all_ways_in_which_links_may_be_false() -> None:
    chance = {1: 0.5, 2: 0.7, 3: 0.9}
    frequency = np.array([3, 3, 3, 2, 2, 1, 1])
    of_link = np.array([0, 0, 0, 1, 1, 2, 3])
    found = TrueLinks(frequency, np.array([chance[k] for k in frequency.tolist()]), of_link, 0.0, 0.0).spectrum
    expected: dict[int, float] = defaultdict(float)
    for right in product((0, 1), repeat=7):
        weight = np.prod([chance[k] if r else 1 - chance[k] for k, r in zip(frequency.tolist(), right, strict=True)])
        for size in (sum(right[:3]), sum(right[3:5]), right[5], right[6]):
            expected[size] += float(weight)
    assert found.frequency.tolist() == [1, 2, 3]
    assert found.number == pytest.approx([expected[size] for size in (1, 2, 3)])


def test_without_doubt_nothing_changes_and_without_evidence_half_is_supposed() -> None:
    sure = true_links(small(1.0))
    assert sure.probability.tolist() == [1.0] * 7
    assert (sure.spectrum.frequency.tolist(), sure.spectrum.number.tolist()) == ([1, 2, 3], [2.0, 1.0, 1.0])
    even = true_links(Halves(**{**vars(small(0.8)), "others": rows(), "other_probability": np.zeros(0)}))
    assert even.alike == pytest.approx(0.5, abs=0.1)
    assert even.spread > 0.2


MEASURES: dict[str, Callable[[tuple[Supposed, ...]], Measure]] = {
    "sample_uniques": unique_links,
    "correct_unique_matches": lambda cases: unique_matches(cases)[1],
    "population_uniques": lambda cases: with_interval("alone", cases, ""),
    "correct_matches": lambda cases: with_interval("matched", cases, ""),
}


def measured(made: Sampled, fraction: Fraction | None = None) -> dict[str, Measure]:
    assert made.spec.assessment is not None
    share = made.spec.assessment.fractions.of("combined") if fraction is None else fraction
    cases: tuple[Supposed, ...] = Believed.of(made.combined, share, made.linkage).cases()
    return {name: compute(cases) for name, compute in MEASURES.items()}


@pytest.mark.parametrize(
    "errors",
    [Errors(0.0), Errors(0.1, alike=True), pytest.param(Errors(0.1, claimed=0.5), marks=pytest.mark.long)],
    ids=str,
)
def test_false_links_are_no_risk_and_fabricate_none(errors: Errors) -> None:
    """Samples of 5 % of eusilcP; a binomial count of misses with chance .05 exceeds 3 of 12 with probability .002."""
    every = [sampled("eusilcP", errors, np.random.default_rng([SEED, r])) for r in range(REPLICATES)]
    found = [measured(made) for made in every]
    for name in MEASURES:
        pairs = [(of[name], made.truth[name]) for of, made in zip(found, every, strict=True)]
        true = float(np.mean([truth for _, truth in pairs]))
        bias = float(np.mean([measure.value for measure, _ in pairs])) / true - 1
        # Half of the false links unclaimed moves the value; the estimate of their share moves the interval.
        assert abs(bias) < (0.15 if errors.claimed == 1 else 0.3), (SEED, name, bias)
        outside = sum(not (m.lower or 0.0) - 1e-9 <= truth <= m.judged + 1e-9 for m, truth in pairs)
        assert outside <= 3, (SEED, name, outside)
        assert np.mean([m.judged - (m.lower or 0.0) for m, _ in pairs]) < 1.3 * true, (
            "an interval that covers everything"
        )


def test_link_probabilities_alone_would_not_do() -> None:
    """Unique links are false more often than others: their link probabilities count too many."""
    made = sampled("eusilcP", Errors(0.1), np.random.default_rng(SEED))
    links = true_links(Halves.of(made.combined))
    plainly = float((made.combined.probability * (links.frequency == 1)).mean())
    assert plainly > 1.06 * made.truth["sample_uniques"]
    assert measured(made)["sample_uniques"].value == pytest.approx(made.truth["sample_uniques"], rel=0.05)


def test_an_estimate_of_the_share_of_false_links_reaches_the_truth_where_they_claim_half() -> None:
    made = sampled("eusilcP", Errors(0.1, claimed=0.5), np.random.default_rng(SEED))
    believed, estimated = measured(replace(made, linkage=None)), measured(made)
    for name in MEASURES:
        assert (estimated[name].lower or 0.0) < (believed[name].lower or 0.0) - 0.002, name
        assert (estimated[name].lower or 0.0) <= made.truth[name] <= estimated[name].judged, name


def test_the_ends_of_a_fraction_move_the_interval() -> None:
    made = sampled("eusilcP", Errors(0.03), np.random.default_rng(SEED))
    known, doubtful = measured(made), measured(made, Fraction(value=0.05, low=0.03, high=0.08))
    for name in ("correct_unique_matches", "population_uniques", "correct_matches"):
        assert doubtful[name].value == known[name].value
        assert (doubtful[name].lower or 0.0) < (known[name].lower or 0.0) - 0.005, name
        assert doubtful[name].judged > known[name].judged + 0.005, name
        ends = [measured(made, Fraction(value=end, low=end, high=end))[name] for end in (0.03, 0.08)]
        assert doubtful[name].lower == ends[0].lower
        assert doubtful[name].judged == ends[1].judged


def test_both_ends_of_the_claimed_recall_are_possible(population: Built) -> None:
    fraction = Fraction(value=0.5, low=0.5, high=0.5)
    of, share = population.combined, {"value": 0.9, "lower": 0.8, "upper": 0.95}
    sure = {"value": 1.0, "lower": 1.0, "upper": 1.0}
    true = float(of.probability.sum())
    believed = Believed.of(of, fraction, linkage(100, {"precision": sure, "recall": share}))
    assert believed.populations[0] == pytest.approx([2 * true / found for found in (0.9, 0.95, 0.8)])
    of_few = Believed.of(of, fraction, linkage(10, {"precision": sure, "recall": share | {"value": None}}))
    assert of_few.populations[0][2] == believed.populations[0][2]
    assert of_few.populations[0][0] == Believed.of(of, fraction, None).populations[0][0]


# The limit on false links: judged by the upper end of the estimate that supposes least, each release by itself.

WIDE = {"value": 0.99, "lower": 0.95, "upper": 0.995}
NARROW = {"value": 0.999, "lower": 0.99, "upper": 1.0}


@pytest.fixture(scope="module")
def population() -> Built:
    made = built(SMALL, 600, (0.5, 0.5), np.random.default_rng(3))
    text = dump_specification(made.spec).replace("{correct_matches: 0.2}", "{correct_matches: 0.9, false_links: 0.02}")
    spec = load_specification(text + "quality: {decoys: 1000}\n")
    assert spec.assessment is not None
    assert spec.assessment.limits.given == {"correct_matches": 0.9, "false_links": 0.02}
    return Built(made.combined, spec, made.truth)


def run_of(links: int = 100, **intervals: dict[str, float]) -> LinkageDocument:
    claims = {name: {"value": of, "lower": of, "upper": of} for name, of in (("precision", 0.98), ("recall", 0.9))}
    return linkage(links, claims, **intervals)


@pytest.mark.parametrize(
    ("of", "value", "judged", "breached"),
    [
        (run_of(check_field=WIDE, decoys=NARROW), 0.01, 0.05, True),
        (run_of(decoys=NARROW), 0.001, 0.01, False),
        (run_of(check_field=NARROW, decoys=WIDE), 0.001, 0.01, False),
        (run_of(), 0.02, 1.0, True),
        (run_of(links=0), 0.0, 0.0, False),
    ],
)
def test_the_upper_end_is_judged(
    population: Built, of: LinkageDocument, value: float, judged: float, breached: bool
) -> None:
    found = assessed(population.combined, population.spec, linkage=of)
    entry = found.document["measures"]["false_links"]
    assert (entry["value"], entry["judged"]) == (pytest.approx(value), pytest.approx(judged))
    assert entry["breached"] == breached == ("false_links" in found.breaches)
    assert "of the links are estimated to be false" in entry["words"]


def test_an_earlier_release_is_no_reason_to_refuse_a_better_one(population: Built) -> None:
    first = assessed(population.combined, population.spec, linkage=run_of(check_field=WIDE))
    again = assessed(
        population.combined,
        population.spec,
        linkage=run_of(decoys=NARROW),
        earlier=(json.dumps(first.document).encode(),),
    )
    entry = again.document["measures"]["false_links"]
    assert (entry["earlier"], entry["breached"]) == (None, False)


def test_without_a_request_there_is_no_such_measure() -> None:
    made = built(SMALL, 300, (0.5, 0.5), np.random.default_rng(4))
    found = assessed(made.combined, made.spec, linkage=run_of(check_field=WIDE))
    assert "false_links" not in found.judged
