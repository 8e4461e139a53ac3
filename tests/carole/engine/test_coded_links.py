"""Links by rows of codes: aggregated by definition, believed where they fit the answer, assessed as in mode open."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from benchmarks.modes import people
from carole.assessment import Combined, assess, combine, combine_coded
from carole.engine import Linkage, Resources, compare, conclude, link, separate_rows
from carole.engine.coded_links import (
    GROUP,
    CodedLinks,
    Expected,
    coded_links,
    micro_aggregated,
    micro_aggregated_plainly,
)
from carole.engine.question import pack_answer, unpack_answer
from carole.engine.specified import plan_of
from common.cleaning import clean
from common.encoding.blocks import Encoded
from common.encoding.contribution import CODES, SignatureSet
from common.encoding.records import encode_records
from common.errors import ErrorCode, TrystError
from common.keys.derivation import Seed
from common.parties import Side
from common.specification import Specification

N = 2000
RESOURCES = Resources(2 << 30, 2)
LEVELS = {"sex": 2, "age": 6, "region": 5, "work": 7, "illness": 3}
HOLDERS = {"sex": "both", "age": "alice", "region": "alice", "work": "bob", "illness": "bob"}
COUNTED = ("sample_uniques", "certain_attribution", "few_values", "subtraction")
"""Measures that only links decide, whatever their probabilities."""


def quiet(stage: str, done: float) -> None:
    pass


@given(st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.5, 0.505, 0.51, 0.99, 1.0])), max_size=150))
def test_aggregated_as_defined(probability: list[float]) -> None:
    found = micro_aggregated(np.array(probability))
    np.testing.assert_allclose(found, micro_aggregated_plainly(probability), rtol=0, atol=1e-12)
    assert found.sum() == pytest.approx(sum(probability))
    # Nobody is alone with a probability, and nobody's is far from its own unless its neighbours' are.
    _, sizes = np.unique(found.round(12), return_counts=True)
    assert not probability or sizes.min() >= min(GROUP, len(probability))


def test_likely_links_are_one_group_and_doubtful_ones_are_twenty_alike() -> None:
    rng = np.random.default_rng(1)
    sure, doubtful = 1 - rng.random(5000) * 0.009, rng.uniform(0.5, 0.9, 130)
    found = micro_aggregated(np.concatenate([sure, doubtful]))
    values, sizes = np.unique(found, return_counts=True)
    # The last of the doubtful ones took some likely ones in.
    assert sizes[-1] > 5000 - GROUP
    assert np.abs(found[:5000] - sure)[found[:5000] == values[-1]].max() < 0.01
    assert 4 <= len(values) <= 130 // GROUP + 2
    assert np.abs(found[5000:] - doubtful).max() < 0.25


@dataclass(frozen=True)
class Resolved:
    """Two files of 2,000 people with codes, resolved in mode block_keyed; and the specification."""

    spec: Specification
    made: dict[Side, Encoded]
    rows: tuple[NDArray[np.int32], NDArray[np.int32]]
    order: NDArray[np.int64]
    linkage: Linkage
    coded: CodedLinks

    def file(self, side: Side) -> SignatureSet:
        """The set of codes in the order of the file."""
        (codes,) = (part for part in self.made[side].sets if part.rule == CODES)
        place = np.argsort(self.made[side].orders[CODES])
        held = {name: replace(each, codes=each.codes[place]) for name, each in codes.variables.items()}
        return replace(codes, variables=held)

    def sets(self) -> list[SignatureSet]:
        return [part for side in Side for part in self.made[side].sets if part.rule == CODES]


def with_codes(spec: Specification, mode: str) -> Specification:
    """The specification with variables and an assessment."""
    variables = [
        {
            "name": name,
            "holder": HOLDERS[name],
            "categories": [f"{name}-{k}" for k in range(levels)],
            "role": "sensitive" if name == "illness" else "key",
        }
        for name, levels in LEVELS.items()
    ]
    policy = {
        "fractions": {"alice": 0.2, "bob": 0.2, "combined": 0.1},
        "tables": [{"variables": ["age", "illness"], "protection": "conventional", "base": 5}],
        "limits": {"correct_matches": 0.5},
    }
    content = {**spec.model_dump(mode="json"), "mode": mode, "variables": variables, "assessment": policy}
    content["release"] = {**content["release"], "assessment": "policy"}
    return Specification.model_validate(content)


def places(person: pl.Series, side: Side) -> dict[str, pl.Series]:
    """Every person's categories, the same in both files."""
    held = [name for name in LEVELS if HOLDERS[name] in ("both", str(side))]
    numbers = {name: np.random.default_rng([7, list(LEVELS).index(name)]) for name in held}
    drawn = {name: rng.integers(0, LEVELS[name], 100_000) for name, rng in numbers.items()}
    rows = person.cast(pl.String).str.extract(r"(\d+)").cast(pl.Int64).to_numpy()
    return {name: pl.Series(values[rows], dtype=pl.Int32) for name, values in drawn.items()}


@pytest.fixture(scope="module")
def files() -> tuple[Specification, dict[Side, pl.DataFrame]]:
    return people(N, 0.3, 4)


@pytest.fixture(scope="module")
def resolved(files: tuple[Specification, dict[Side, pl.DataFrame]]) -> Resolved:
    spec = with_codes(files[0], "block_keyed")
    made = encoded(spec, files[1])
    plan = plan_of(spec)
    parts = [separate_rows(made[side].sets, N) for side in Side]
    found, kept = compare(parts[0], parts[1], plan, RESOURCES, quiet)
    rows = kept.row_a, kept.row_b
    # Handles are the rows of the files here: any numbers do.
    records = [made[side].order[row].astype(np.int32) for side, row in zip(Side, rows, strict=True)]
    linkage, order = conclude(found, records[0], records[1], plan, quiet)
    codes = [np.argsort(made[side].orders[CODES]).astype(np.int32) for side in Side]
    return Resolved(spec, made, rows, order, linkage, coded_links(linkage, codes[0], codes[1]))


def encoded(spec: Specification, files: dict[Side, pl.DataFrame]) -> dict[Side, Encoded]:
    seed = Seed(bytes(range(32)))
    return {
        side: encode_records(
            clean(files[side].drop("person"), spec.model_copy(update={"variables": ()}), side).columns,
            spec,
            seed,
            1,
            variables=places(files[side]["person"], side),
        )
        for side in Side
    }


def answered(case: Resolved, coded: CodedLinks | None) -> Combined:
    """What Carole makes of an answer with these links by rows of codes."""
    content = pack_answer(case.linkage, case.order, {}, coded)
    alice, bob = case.sets()
    expected = Expected(alice.n_rows, bob.n_rows, plan_of(case.spec).one_to_one)
    return combine_coded(unpack_answer(content, *case.rows, expected), alice, bob, case.spec)


def test_the_assessment_is_that_of_mode_open_but_for_probabilities_and_near_pairs(resolved: Resolved) -> None:
    """The same linkage assessed with every pair and probability, and as Carole can in mode block_keyed."""
    whole = combine(resolved.linkage, resolved.file(Side.ALICE), resolved.file(Side.BOB), resolved.spec)
    coded = answered(resolved, resolved.coded)
    assert sorted(map(tuple, coded.codes.tolist())) == sorted(map(tuple, whole.codes.tolist()))
    assert coded.probability.sum() == pytest.approx(whole.probability.sum())
    assert coded.left_out == pytest.approx(whole.pair_probability.sum() - whole.probability.sum())
    assert coded.left_out > 0
    ours, theirs = (assess(each, resolved.spec, "r" * 32).document for each in (coded, whole))
    assert any(f"{coded.left_out:.3g} matches" in warning for warning in ours["warnings"])
    assert (ours["expected_left_out"], theirs["expected_left_out"]) == (coded.left_out, 0.0)
    assert ours["expected_records"] + coded.left_out == pytest.approx(theirs["expected_records"])
    values = {name: (ours["measures"][name]["value"], theirs["measures"][name]["value"]) for name in ours["measures"]}
    for name in COUNTED:
        assert values[name][0] == values[name][1], name
    # A mean of probabilities is kept where records count alike, and moves by what they differ in a group elsewhere.
    for name, (one, other) in values.items():
        assert one == pytest.approx(other, abs=0.02), name
    assert ours["identification"]["combinations"] == theirs["identification"]["combinations"]


def test_the_two_modes_of_the_same_files_agree(
    resolved: Resolved, files: tuple[Specification, dict[Side, pl.DataFrame]]
) -> None:
    """Each mode with its own signatures, its own u and its own links."""
    spec = with_codes(files[0], "open")
    made = encoded(spec, files[1])
    alice, bob = (made[side].sets[0] for side in Side)
    linkage = link(alice, bob, plan_of(spec), RESOURCES, quiet)
    theirs = assess(combine(linkage, alice, bob, spec), spec, "r" * 32).document
    ours = assess(answered(resolved, resolved.coded), resolved.spec, "r" * 32).document
    assert ours["records"] == pytest.approx(theirs["records"], rel=0.01)
    for name, entry in ours["measures"].items():
        assert entry["value"] == pytest.approx(theirs["measures"][name]["value"], abs=0.03), name


def test_nothing_in_the_answer_joins_the_two_lists(resolved: Resolved) -> None:
    """The order is that of rows of codes, and no probability is of fewer than a group."""
    assert (np.diff(resolved.coded.row_a) > 0).all()
    _, sizes = np.unique(resolved.coded.probability, return_counts=True)
    assert sizes.min() >= GROUP
    own = resolved.linkage.pairs.link_probability[resolved.linkage.links]
    assert len(np.unique(own)) > 5 * len(sizes)
    # Places of the links in the list of pairs against places in the list of codes: a random order has rank
    # correlation 0 with standard deviation 1 / sqrt(n - 1).
    codes = np.argsort(resolved.made[Side.ALICE].orders[CODES])
    place = codes[resolved.linkage.pairs.row_a[resolved.linkage.links]]
    ranks = np.argsort(np.argsort(place))
    asked = np.argsort(np.argsort(resolved.order[resolved.linkage.links]))
    assert abs(np.corrcoef(ranks, asked)[0, 1]) < 5 / np.sqrt(len(ranks) - 1)


def spoilt(links: CodedLinks, how: str) -> CodedLinks | None:
    """Links that cannot be."""
    row_a, row_b, probability = links.row_a.copy(), links.row_b.copy(), links.probability.copy()
    if how == "row beyond the file":
        row_a[-1] = N
    elif how == "negative row":
        row_b[3] = -1
    elif how == "order":
        row_a[:2] = row_a[1::-1].copy()
    elif how == "row twice":
        row_b[0] = row_b[1]
    elif how == "fewer":
        row_a, row_b, probability = row_a[1:], row_b[1:], probability[1:]
    elif how == "not a number":
        probability[0] = np.nan
    elif how == "above one":
        probability[0] = 1.5
    elif how == "one more likely":
        probability[np.argmin(probability)] = 1.0
    elif how == "another kind":
        return CodedLinks(row_a.astype(np.int64), row_b, probability)  # type: ignore[arg-type]
    elif how == "two axes":
        return CodedLinks(row_a.reshape(1, -1), row_b, probability)
    return None if how == "none" else CodedLinks(row_a, row_b, probability)


@pytest.mark.parametrize(
    "how",
    [
        "none",
        "row beyond the file",
        "negative row",
        "order",
        "row twice",
        "fewer",
        "not a number",
        "above one",
        "one more likely",
        "another kind",
        "two axes",
    ],
)
def test_links_by_rows_of_codes_that_cannot_be_are_refused(resolved: Resolved, how: str) -> None:
    with pytest.raises(TrystError) as caught:
        answered(resolved, spoilt(resolved.coded, how))
    assert caught.value.code is ErrorCode.UPLOAD_CORRUPT


def test_probabilities_as_they_are_would_be_refused(resolved: Resolved) -> None:
    """A resolver that forgets to aggregate hands over the join: Carole does not take it."""
    own = resolved.linkage.pairs.link_probability[resolved.linkage.links]
    with pytest.raises(TrystError, match="means of the links' groups"):
        answered(resolved, replace(resolved.coded, probability=np.sort(own)))


def test_where_nothing_is_assessed_no_rows_of_codes_are_taken(resolved: Resolved) -> None:
    content = pack_answer(resolved.linkage, resolved.order, {}, resolved.coded)
    with pytest.raises(TrystError, match="nothing is assessed"):
        unpack_answer(content, *resolved.rows)
    assert unpack_answer(pack_answer(resolved.linkage, resolved.order, {}), *resolved.rows).coded is None
