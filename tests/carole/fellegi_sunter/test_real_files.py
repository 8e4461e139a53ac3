"""Quality on files with known truth, from signatures to the program's own decision, nothing tuned to the truth.

brl_sim: 1000 originals and 1000 duplicates with one or two errors each; every original has its duplicate.
"""

import csv

import numpy as np
import polars as pl
import pytest

from gemel.carole.engine import FieldPlan, LinkagePlan, Resources, link
from gemel.carole.evaluation.link_quality import best_threshold, matching_pairs, number_of_matches, quality
from gemel.carole.fellegi_sunter.kinds.estimation import fit_joint
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.carole.fellegi_sunter.link_rule import assigned
from gemel.carole.fellegi_sunter.model import PatternCounts
from gemel.common.keys.derivation import Seed
from gemel.common.parties import Side
from gemel.common.specification import load_specification
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.records import encode_records
from tests.specifications import heading

SPECIFICATION = (
    heading("brl", alice="rec-id", bob="rec-id")
    + """
fields:
  - {name: gender, kind: category}
  - {name: gname, kind: name}
  - {name: fname, kind: name}
  - {name: postcode, kind: code}
  - {name: age, kind: category}
  - {name: occup, kind: category}
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
"""
)


def linked(a, b):
    """Link two lists of rows; the linkage, and the person behind each row of the two sets."""
    specification = load_specification(SPECIFICATION, "test")
    columns = [field.name for field in specification.fields]
    sets, persons = [], []
    for rows, side in ((a, Side.ALICE), (b, Side.BOB)):
        frame = pl.DataFrame({name: [row[name] or None for row in rows] for name in ["rec-id", *columns]})
        cleaned = clean(frame, specification, side)
        made = encode_records(cleaned.columns, specification, Seed(bytes(range(32))), 1, shuffle=np.arange)
        signed, order = made.sets[0], made.order
        sets.append(signed)
        persons.append(np.array([int(row["rec-id"].split("-")[1]) for row in rows])[order])
    plan = LinkagePlan(tuple(FieldPlan(f.name, f.bits, tuple(f.bounds)) for f in specification.fields))
    return link(sets[0], sets[1], plan, Resources(1 << 30, 1), lambda stage, done: None), persons


def files(shared, errors, dataset):
    path = shared / "data" / "brl_sim" / f"percdups50_nerrors{errors}_dataset{dataset}.csv"
    with path.open() as file:
        rows = list(csv.DictReader(file))
    return [[row for row in rows if row["rec-id"].endswith(end)] for end in ("-org", "-dup-0")]


@pytest.mark.parametrize(("errors", "minimum"), [(1, 0.999), (2, 0.99)])
@pytest.mark.parametrize("dataset", [0, 1])
def test_where_every_record_has_a_match(shared, errors, minimum, dataset):
    linkage, (person_a, person_b) = linked(*files(shared, errors, dataset))
    n_matches = number_of_matches(person_a, person_b)
    match = matching_pairs(person_a, person_b, linkage.pairs.row_a, linkage.pairs.row_b)
    assert n_matches == 1000
    assert quality(match[linkage.links], n_matches).f1 >= minimum
    # One-to-one is better than the best threshold on pairwise probabilities, chosen with the truth.
    _, hindsight = best_threshold(linkage.pairs.match_probability, match, n_matches)
    assert quality(match[linkage.links], n_matches).f1 >= hindsight.f1


def test_links_are_not_forced_where_only_some_have_a_match(shared):
    """Random parts of both files, some 420 of 600 in common: no more links than matches, nearly."""
    rng = np.random.default_rng(7)
    a, b = files(shared, 1, 0)
    a, b = ([rows[i] for i in rng.choice(1000, n, replace=False)] for rows, n in ((a, 700), (b, 600)))
    linkage, (person_a, person_b) = linked(a, b)
    n_matches = number_of_matches(person_a, person_b)
    match = matching_pairs(person_a, person_b, linkage.pairs.row_a, linkage.pairs.row_b)
    found = quality(match[linkage.links], n_matches)
    assert found.f1 > 0.99
    assert found.links == pytest.approx(n_matches, rel=0.02)
    assert linkage.pairs.link_probability.sum() == pytest.approx(n_matches, rel=0.02)


@pytest.mark.parametrize("common", [0, 15, 300])
def test_estimates_under_one_to_one_link_few_matches_and_none(shared, common):
    """500 by 500 with two errors a record, few or many in common: the pairwise fit latches on gender and given name."""
    a, b = files(shared, 2, 1)
    person = np.random.default_rng(1).permutation(sorted({row["rec-id"].split("-")[1] for row in a}))
    in_a, in_b = set(person[:500]), set(person[500 - common : 1000 - common])
    a = [row for row in a if row["rec-id"].split("-")[1] in in_a]
    b = [row for row in b if row["rec-id"].split("-")[1] in in_b]
    linkage, (person_a, person_b) = linked(a, b)
    pairs, scored = linkage.pairs, linkage.patterns
    match = matching_pairs(person_a, person_b, pairs.row_a, pairs.row_b)
    assert number_of_matches(person_a, person_b) == common
    counts = PatternCounts(scored.gamma, scored.mask, scored.count)
    kept = LinkPosterior("one_to_one", pairs.row_a, pairs.row_b, 500, 500), pairs.pattern
    model, _, posterior = fit_joint(linkage.model, counts, "none", pairs=kept)
    links = assigned(pairs.row_a, pairs.row_b, posterior.probability, 0.5, "one_to_one")
    found = quality(match[links], common)
    assert found.links - found.true_links <= 5
    assert found.recall >= 0.98
    assert model.expected_matches == pytest.approx(common, abs=6)
