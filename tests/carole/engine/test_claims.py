"""What a run claims of its links: each figure with an interval, which is wider where more is in doubt."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from gemel.carole.engine.decision.claims import FALSE, Off, drawn_errors, with_claims
from gemel.carole.engine.decision.coded_links import stated_share
from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.engine.run.result import FEWEST
from tests.carole.engine.runs import ENOUGH, n_right


def claims(linkage, seed):
    return with_claims(linkage, seed).claims


@pytest.fixture(scope="module")
def linkage(files):
    return files.linked(dependence="auto")


def doubted(linkage, doubt):
    """The same with so much doubt of the kinds that are one person more likely than not."""
    joint, rng = linkage.scheme.joint, np.random.default_rng(9)
    of_one = joint.relations.one_person
    drawn = np.clip(of_one + np.where(of_one > 0.5, doubt, 0.0) * rng.standard_normal((400, 1)), 0.0, 1.0)
    relations = replace(joint.relations, doubt=np.where(of_one > 0.5, doubt, 0.0), drawn=drawn)
    return replace(linkage, scheme=replace(linkage.scheme, joint=replace(joint, relations=relations)))


def test_each_figure_lies_in_its_interval_and_the_true_ones_too(linkage, files):
    found = claims(linkage, 1)
    for each in (found.precision, found.recall, found.compared, found.matches):
        assert each.lower <= each.value <= each.upper
    right = n_right(linkage)
    assert found.precision.lower <= right / len(linkage.links) <= found.precision.upper
    assert found.recall.lower <= right / files.n_common <= found.recall.upper
    assert found.compared.lower <= files.n_common <= found.compared.upper
    assert found.candidates is None  # nothing was blocked


def test_no_share_of_candidates_is_claimed_where_it_cannot_be_estimated(linkage):
    """It is believed in what is claimed of all matches, all the same."""
    blocked = replace(linkage, candidates_per_rule={"rule": 10})
    assert claims(blocked, 1).candidates.upper == 1.0
    unknown = replace(blocked, blocking=replace(linkage.blocking, recall=None))
    assert claims(unknown, 1).candidates is None
    assert claims(unknown, 1).matches == claims(blocked, 1).matches


def test_doubt_of_a_kind_widens_the_intervals_and_errors_are_those_of_the_probabilities(linkage):
    false, missed = drawn_errors(doubted(linkage, 0.0), np.random.default_rng(1))
    chance, links = linkage.pairs.link_probability, linkage.links
    assert false == pytest.approx(float((1 - chance[links]).sum()), abs=1e-6)
    total = float(chance.sum()) + linkage.matches_below_floor
    assert missed == pytest.approx(total - float(chance[links].sum()), abs=1e-6)
    little, much = (claims(doubted(linkage, doubt), 1) for doubt in (0.001, 0.1))
    assert much.precision.upper - much.precision.lower > little.precision.upper - little.precision.lower


def test_where_strangers_agree_in_as_much_more_matches_may_hide_among_them(linkage):
    joint = linkage.scheme.joint

    def of(coincidences):
        relations = replace(joint.relations, coincidences=coincidences)
        return claims(replace(linkage, scheme=replace(linkage.scheme, joint=replace(joint, relations=relations))), 1)

    none, few, many = (of(each) for each in ((0.0, 0.5), (0.01, 0.5), (1000.0, 0.5)))
    assert few == none
    assert many.compared.upper > none.compared.upper + 100
    assert many.recall.lower < none.recall.lower
    assert many.precision == none.precision
    assert many.compared.lower == pytest.approx(none.compared.lower, abs=2)


def test_the_same_seed_gives_the_same_claims(linkage):
    assert claims(linkage, 3) == claims(linkage, 3)
    assert claims(linkage, 3) != claims(linkage, 4)


def test_figures_without_a_doubt_lie_in_their_intervals_too(linkage):
    """Of links that are all certain, and nothing missed, what may be wrong all the same lies on one side."""
    pairs, links = linkage.pairs, linkage.links
    certain = np.where(np.isin(np.arange(len(pairs.link_probability)), links), 1.0, 0.0)
    sure = replace(linkage, pairs=replace(pairs, link_probability=certain), matches_below_floor=0.0)
    found = claims(doubted(sure, 0.0), 1)
    for each in (found.precision, found.recall):
        assert each.lower < each.value == each.upper == pytest.approx(1.0)
    assert found.compared.lower <= found.compared.value <= found.compared.upper


def test_without_links_no_precision_is_claimed(linkage):
    nothing = replace(linkage, links=linkage.links[:0])
    found = claims(nothing, 1)
    assert found.precision is None
    assert found.recall.upper < 0.5


def test_a_share_below_one_is_not_stated_as_one():
    assert [stated_share(share) for share in (0.12344, 0.99994, 0.99996, 1 - 1e-12, 1.0)] == [
        0.1234, 0.9999, 0.9999, 0.9999, 1.0,
    ]  # fmt: skip


def test_a_run_has_the_claims_of_its_links(linkage, files):
    assert linkage.claims == claims(linkage, files.plan().seed)
    many = files.linked(assignment="none", threshold=1e-12)
    assert len(many.links) > many.plausible_links
    assert many.claims is None


def test_a_warning_of_few_links_says_no_more_than_the_document(linkage):
    few = with_claims(replace(doubted(linkage, 3.0), links=linkage.links[: FEWEST - 1]), 1)
    (found,) = [each for each in few.warnings if each.code == "links_in_doubt"]
    ends = re.findall(r"(\d+)\u2013(\d+) %", found.text)[:2]
    assert len(ends) == 2
    assert all(int(end) % 10 == 0 for pair in ends for end in pair)


def test_of_few_links_the_document_has_intervals_only(linkage, files):
    few = replace(linkage, links=linkage.links[: FEWEST - 1])
    few = with_claims(few, 1)
    shown = findings(few, files.plan(dependence="auto"), ENOUGH, {}).plain()["linkage"]["claims"]
    assert all(figure["value"] is None for figure in shown.values() if figure)
    for name in ("precision", "recall"):  # an interval may end at the figure itself
        found, figure = getattr(few.claims, name), shown[name]
        assert (figure["lower"], figure["upper"]) == (round(figure["lower"], 1), round(figure["upper"], 1))
        assert figure["lower"] <= found.lower <= found.upper <= figure["upper"]
    every = findings(linkage, files.plan(dependence="auto"), ENOUGH, {}).plain()["linkage"]["claims"]
    assert every["precision"]["value"] > 0.9


def test_numbers_that_may_be_true_have_the_stated_spread():
    rng = np.random.default_rng(5)
    drawn = np.log(Off(0.1, 1.0, 0.5, 0.0, 1.0).drawn(np.full(20_000, 1e4), 0.0, 1.0, rng)) - np.log(1e4) - 0.1
    assert np.median(drawn) == pytest.approx(0.0, abs=0.02)
    assert [np.sqrt((side**2).mean()) for side in (drawn[drawn < 0], drawn[drawn > 0])] == pytest.approx(
        [1.0, 0.5], rel=0.05
    )
    added = FALSE.floor * np.exp(FALSE.floor_spread**2 / 2)
    assert FALSE.drawn(np.zeros(20_000), 1e6, 1.0, rng).mean() == pytest.approx(1e6 * added, rel=0.1)


def test_what_is_right_or_wrong_together_scatters_more():
    rng, off = np.random.default_rng(6), Off(0.0, 0.0, 0.0, 0.0, 1.0)
    alone, by_ten = (off.drawn(np.full(20_000, 1e3), 0.0, together, rng) for together in (1.0, 10.0))
    assert by_ten.mean() == pytest.approx(alone.mean(), rel=0.01)
    assert by_ten.std() == pytest.approx(np.sqrt(10) * alone.std(), rel=0.05)
    assert not (by_ten % 10).any()


def test_much_doubt_is_warned_of_with_what_is_doubtful(linkage):
    assert "links_in_doubt" not in {warning.code for warning in linkage.warnings}
    found = [each for each in with_claims(doubted(linkage, 3.0), 1).warnings if each.code == "links_in_doubt"]
    assert len(found) == 1
    assert found[0].severity == "serious"
    assert "pairs that agree on " in found[0].text
    again = with_claims(with_claims(doubted(linkage, 3.0), 1), 1)
    assert sum(warning.code == "links_in_doubt" for warning in again.warnings) == 1
    assert "links_in_doubt" not in {warning.code for warning in with_claims(linkage, 1).warnings}
