"""Linking padded blocks: the links of records as without dummies, and nothing by which Carole could distinguish
them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.modes import Linked, judged, people
from gemel.carole.engine import Linkage, Resources, compare, conclude
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.inputs.files import contribution_of
from gemel.carole.engine.linkage.local import check_pairs
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.resolution.padded import conclude_padded, without
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.specified import plan_of
from gemel.common.errors import GemelError
from gemel.common.keys.noise import NoiseKey
from gemel.common.parties import Side
from gemel.common.specification.model.blocking import Padding
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.records import Encoded, encode_records
from tests.carole.engine.progress import quiet
from tests.carole.engine.test_block_keyed import SEED

N = 800


def compared(padding: Padding | None) -> tuple[LinkagePlan, Candidates, KeptPairs, list[np.ndarray], dict]:
    spec, files = people(N, 0.2, 3)
    # Blocks of a beginning of the surname: so large that some dummies are taken for near pairs.
    names = next(rule for rule in spec.blocking if rule.name == "names")
    wide = names.model_copy(update={"keys": tuple(key.model_copy(update={"prefix": 3}) for key in names.keys[:1])})
    rules = tuple(wide if rule is names else rule for rule in spec.blocking)
    spec = spec.model_copy(update={"mode": "block_keyed", "padding": padding, "blocking": rules})
    made: dict[Side, Encoded] = {
        side: encode_records(clean(files[side], spec, side).columns, spec, SEED, 1, noise=NoiseKey(bytes(range(32))))
        for side in Side
    }
    plan = plan_of(spec)
    parts = [contribution_of(encoded.sets, N) for encoded in made.values()]
    found, kept = compare(parts[0], parts[1], plan, Resources(2 << 30, 2), quiet)
    rows = [
        encoded.order[row].astype(np.int32)
        for encoded, row in zip(made.values(), (kept.row_a, kept.row_b), strict=True)
    ]
    return plan, found, kept, rows, files


@pytest.fixture(scope="module")
def padded() -> tuple:
    return compared("powers_of_two")


@pytest.fixture(scope="module")
def plain() -> tuple:
    return compared(None)


def links_of(linkage: Linkage) -> set[tuple[int, int]]:
    at = linkage.links
    return set(zip(linkage.pairs.row_a[at].tolist(), linkage.pairs.row_b[at].tolist(), strict=True))


def test_links_are_as_without_padding(padded: tuple, plain: tuple) -> None:
    plan, found, _, rows, _ = plain
    before, _ = conclude(found, *rows, plan, quiet)
    plan, found, _, rows, _ = padded
    assert max(int(row.max()) for row in rows) >= N
    linkage, whole, _ = conclude_padded(found, *rows, (N, N), replace(plan, draws=2), quiet)
    drawn: list[set[tuple[int, int, int]]] = []
    assert links_of(whole) == links_of(linkage)
    assert linkage.draws is not None
    assert whole.draws is not None
    for part in (linkage, whole):
        at = part.draws.pair
        rows = zip(part.draws.draw.tolist(), part.pairs.row_a[at].tolist(), part.pairs.row_b[at].tolist(), strict=True)
        drawn.append(set(rows))
    assert drawn[0] == drawn[1]
    assert max(map(max, links_of(linkage))) < N
    assert len(links_of(linkage) ^ links_of(before)) <= 8
    assert len(links_of(before)) > 0.45 * N


def test_every_pair_is_reported_alike_to_carole(padded: tuple) -> None:
    plan, found, _, rows, _ = padded
    linkage, whole, order = conclude_padded(found, *rows, (N, N), plan, quiet)
    assert order.tolist() == list(range(len(rows[0])))
    real = (rows[0] < N) & (rows[1] < N)
    assert np.count_nonzero(~real) > 0
    # Weight and match probability are the pattern's, whoever the records are.
    for name in ("weight", "match_probability"):
        value = np.full(len(found.patterns.count), np.nan)
        value[found.pattern] = getattr(whole.pairs, name)
        assert (value[found.pattern] == getattr(whole.pairs, name)).all()
    link = whole.pairs.link_probability
    assert ((link >= 0) & (link <= 1)).all()
    assert np.unique(link[~real]).size > 1
    # Records' pairs have the numbers that the documents are made of.
    assert np.sort(link[real]) == pytest.approx(np.sort(linkage.pairs.link_probability))
    assert "pairs_with_dummies" in {warning.code for warning in linkage.warnings}


def test_pairs_of_dummies_are_removed_from_the_counts(padded: tuple) -> None:
    _, found, _, rows, _ = padded
    real = (rows[0] < N) & (rows[1] < N)
    left = without(found, real)
    assert left.patterns.n_pairs == found.patterns.n_pairs - int(np.count_nonzero(~real))
    assert (left.patterns.count > 0).all()
    assert (left.patterns.gamma[left.pattern] == found.patterns.gamma[found.pattern[real]]).all()
    assert (left.patterns.mask[left.pattern] == found.patterns.mask[found.pattern[real]]).all()
    # What is left of a pattern all of whose pairs were kept are the kept pairs of records.
    assert (
        (np.bincount(left.pattern, minlength=len(left.patterns.count))[left.selected]).tolist()
        == left.patterns.count[left.selected].tolist()
    )


def test_without_dummies_nothing_changes(plain: tuple) -> None:
    plan, found, _, rows, files = plain
    expected, order = conclude(found, *rows, plan, quiet)
    linkage, whole, places = conclude_padded(found, *rows, (N, N), plan, quiet)
    assert whole is linkage
    assert (places == order).all()
    assert links_of(linkage) == links_of(expected)
    linked = Linked(linkage, np.array(sorted(links_of(linkage))), 0.0)
    assert judged(linked, files, "person")[0] > 0.95


def test_more_pairs_than_the_records_have_are_refused() -> None:
    check_pairs(100, 10, 10)
    with pytest.raises(GemelError, match="pad less, block more finely"):
        check_pairs(101, 10, 10)
