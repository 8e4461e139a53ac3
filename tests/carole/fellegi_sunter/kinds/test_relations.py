"""What part of a kind is one person: beliefs that sum to one, and what more evidence does to the part."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logit

from gemel.carole.fellegi_sunter.kinds.changes import CHANGED, EXCHANGED, Changes
from gemel.carole.fellegi_sunter.kinds.pair_kinds import STRANGERS, Kinds
from gemel.carole.fellegi_sunter.kinds.relations import DISTINCT, Exclusion, log_kin, relations
from gemel.carole.fellegi_sunter.settings import FieldLevels
from gemel.risk.models.graphs import mask_of, members

PEOPLE = [
    FieldLevels("given", 2, describes="name"),
    FieldLevels("born", 2, describes="birth"),
    FieldLevels("sex", 2, describes="trait"),
    FieldLevels("surname", 2, describes="family"),
    FieldLevels("street", 2, describes="household"),
    FieldLevels("town", 2, describes="household"),
]
U = np.array([0.01, 0.001, 0.5, 0.004, 0.002, 0.1])
WHOLE = (1 << 6) - 1
MOVED, FAMILY, TWINS, COUSINS = (mask_of(q) for q in ((0, 1, 2, 3), (3, 4, 5), (1, 2, 3, 4, 5), (0, 2, 3, 5)))
DESCRIBES = st.sampled_from(["name", "birth", "trait", "family", "household"])


def log_changed(missing, fields):
    changes = Changes.of(fields)
    return changes.log_changed(missing, changes.believed)


@given(st.lists(DESCRIBES, min_size=1, max_size=8))
def test_what_a_person_changed_is_one_of_all_sets(describes):
    fields = [FieldLevels(f"f{q}", 2, describes=each) for q, each in enumerate(describes)]
    assert sum(math.exp(log_changed(some, fields)) for some in range(1 << len(fields))) == pytest.approx(1)


def test_fields_of_a_household_change_together_and_further_comparisons_do_not_count():
    only = math.exp(log_changed(mask_of((4, 5)), PEOPLE))
    assert only > math.exp(log_changed(mask_of((4,)), PEOPLE))
    rest = math.prod(1 - CHANGED[field.describes] for field in PEOPLE[:4]) * (1 - EXCHANGED)
    moves = sum(math.exp(log_changed(some, PEOPLE)) for some in (mask_of((4,)), mask_of((5,)), mask_of((4, 5))))
    assert moves == pytest.approx(CHANGED["household"] * rest)
    further = [*PEOPLE, FieldLevels("exchange", 2, exception=True, of=(0, 3)), FieldLevels("constant", 1)]
    assert log_changed(mask_of((4, 5, 6, 7)), further) == log_changed(mask_of((4, 5)), PEOPLE)


def test_the_parts_of_a_date_change_together():
    apart = [*PEOPLE, *(FieldLevels(part, 2, describes="birth") for part in ("day", "month", "year"))]
    together = [replace(field, part_of="birth") if q > 5 else field for q, field in enumerate(apart)]
    all_three = mask_of((6, 7, 8))
    assert log_changed(all_three, together) > log_changed(all_three, apart) + math.log(1000)
    # Of the whole date of birth, and of another date, there is more.
    assert len(Changes.of(together).units) == len(Changes.of(PEOPLE).units) + 1


def test_kin_share_what_a_family_has():
    log_u = np.log(U)
    assert log_kin(FAMILY, PEOPLE, log_u) > log_kin(TWINS, PEOPLE, log_u) > log_kin(TWINS | 1, PEOPLE, log_u)
    assert log_kin(mask_of((0, 1, 2)), PEOPLE, log_u) < log_kin(TWINS | 1, PEOPLE, log_u)


def test_a_part_of_a_date_is_shared_by_more_kin_than_a_whole_one():
    parts = [*PEOPLE, FieldLevels("born in", 2, describes="birth")]
    year = mask_of((3, 4, 5, 6))
    common, rare = (np.append(np.log(U), math.log(u)) for u in (0.02, DISTINCT / 2))
    assert log_kin(year, parts, common) > log_kin(year, parts, rare) == log_kin(TWINS, PEOPLE, np.log(U))


def related(
    pairs,
    exclusion=None,
    n_records=(5000, 4000),
    most=None,
    expected_matches=None,
    fields=PEOPLE,
    absent=(),
    open_fields=(),
):
    """The relations of kinds of these sizes, by the sets that they share; strangers agree as `U`."""
    kinds = Kinds((STRANGERS, *pairs), np.array([float(n_records[0]) * n_records[1], *pairs.values()]))
    log_top = np.zeros((len(kinds), len(fields) + 1))
    for k, shared in enumerate(kinds.shared):
        shown = shared & ~open_fields[k] if open_fields else shared
        log_top[k, 1:] = [math.log(U[q]) if q in set(members(shown)) else 0.0 for q in range(len(fields))]
        log_top[k, 0] = log_top[k, 1:].sum()
    unseen = Exclusion.unknown(len(kinds))
    return relations(
        kinds, fields, log_top, n_records, unseen if exclusion is None else exclusion,
        most=min(n_records) if most is None else most, expected_matches=expected_matches, absent=absent,
        open_fields=open_fields,
    )  # fmt: skip


def excluded(k, n_kinds, pairs, excluded, at_random=0.3):
    each = np.zeros((3, n_kinds))
    each[:, k] = pairs, excluded, at_random
    return Exclusion(*each, np.ones(n_kinds))


@given(
    sizes=st.dictionaries(st.integers(8, WHOLE), st.floats(1e-9, 1e7), min_size=1, max_size=6),
    expected=st.sampled_from([None, 0.5, 1000.0]),
    most=st.floats(1, 1e7),
    n_records=st.tuples(st.integers(1, 10**6), st.integers(1, 10**6)),
    share=st.floats(0, 1),
    at_random=st.floats(0, 1),
    people=st.floats(1e-3, 1),
)
def test_parts_are_parts(sizes, expected, most, n_records, share, at_random, people):
    n = len(sizes) + 1
    seen = Exclusion(np.full(n, 50.0), np.full(n, 50.0 * share), np.full(n, at_random), np.full(n, people))
    found = related(sizes, seen, n_records, most, expected)
    assert ((found.one_person >= 0) & (found.one_person <= 1)).all()
    assert ((found.doubt >= 0) & (found.doubt <= 0.5 + 1e-9)).all()
    assert np.isin(found.by_chance, (0.0, 1.0)).all()
    assert found.one_person[0] == 0
    assert found.by_chance[0] == 1
    assert 0 < found.matches < np.inf
    assert ((found.drawn >= 0) & (found.drawn <= 1)).all()
    assert all(0 < rate < 1 for rate in found.rates)


def test_everything_shared_is_one_person_and_a_family_is_not():
    found = related({WHOLE: 2000.0, MOVED: 250.0, FAMILY: 4000.0})
    assert found.one_person[1] > 0.99
    assert found.one_person[2] > 0.9
    assert found.one_person[3] < 0.01
    assert found.matches == pytest.approx(2500, rel=0.3)


def test_strangers_who_agree_in_everything_are_as_many_as_the_law_has_and_somewhat_more():
    number, spread = related({WHOLE: 2000.0, MOVED: 250.0}).coincidences
    by_law, rarest = 2e7 * U.prod(), 2e7 * U.min()
    assert by_law < number < math.sqrt(by_law * rarest)
    assert 0.3 < spread < math.log(rarest / by_law)


def test_pairs_that_meet_more_are_less_of_one_person_and_those_that_never_do_are_more():
    kinds = {WHOLE: 300.0, COUSINS: 30.0}
    parts = [related(kinds, excluded(2, 3, 30.0, meeting)).one_person[2] for meeting in (0.0, 3.0, 9.0, 20.0)]
    assert parts == sorted(parts, reverse=True)
    unknown = related(kinds).one_person[2]
    assert parts[-1] < unknown - 0.02
    assert parts[0] > unknown + 0.02


def test_relatives_meet_as_often_as_those_who_share_nearly_the_same():
    """Where all of a family are there, a kind that meets less often than others of two people is partly one person."""
    kinds = Kinds((STRANGERS, WHOLE, FAMILY, TWINS, MOVED), np.full(5, 100.0))
    pairs, at_random = np.array([0.0, 100.0, 100.0, 100.0, 0.0]), np.array([0.0, 0.3, 0.3, 0.3, 0.0])
    seen = Exclusion(pairs, np.array([0.0, 3.0, 95.0, 30.0, 0.0]), at_random, np.ones(5))
    found = seen.levelled(kinds, np.array([0.0, 1.0, 0.0, 0.5, 0.0]))
    assert 0.6 < found.at_random[3] < 0.99
    # What others tell is of no kind far from them, nor of one in which no pairs were seen, and never its own.
    assert found.at_random[[0, 4]].tolist() == [0.0, 0.0]
    far = replace(seen, excluded=np.array([0.0, 3.0, 30.0, 30.0, 0.0])).levelled(kinds, np.zeros(5))
    assert far.at_random[3] < found.at_random[3]
    alone = Exclusion(np.eye(5)[3] * 100.0, np.eye(5)[3] * 99.0, at_random, np.ones(5)).levelled(kinds, np.zeros(5))
    assert alone.at_random[3] == pytest.approx(0.3, abs=0.1)
    nothing = Exclusion.unknown(5)
    assert nothing.levelled(kinds, np.zeros(5)).columns[2].tolist() == [0.0] * 5


def test_a_few_who_moved_may_be_of_the_same_sex_all_the_same():
    """Unless there are more of them; and of brother and sister sex does tell."""
    moved, siblings = mask_of((0, 1, 3)), mask_of((1, 3, 4, 5))
    few, more, kin = (related({WHOLE: 50.0, s: n}).one_person[2] for s, n in ((moved, 4), (moved, 6), (siblings, 4)))
    assert few > more
    assert kin < 0.3


def test_a_few_whose_names_were_exchanged_may_be_of_the_same_sex_all_the_same():
    exchanged = mask_of((1, 4, 5))
    few, more = (related({WHOLE: 500.0, exchanged: n}).one_person[2] for n in (4, 6))
    assert few > 1.3 * more


def test_more_pairs_that_tell_the_same_leave_less_doubt():
    kinds = {WHOLE: 300.0, TWINS: 30.0}
    doubts = [related(kinds, excluded(2, 3, float(n), 0.6 * n, 0.6)).doubt[2] for n in (5, 20, 80)]
    assert doubts == sorted(doubts, reverse=True)
    assert doubts[-1] < 0.7 * doubts[0]


def test_there_are_no_more_people_than_records_of_the_smaller_file():
    """Five times as many pairs share everything as there are records."""
    kinds, n_records = {WHOLE: 1000.0}, (200, 5000)
    bounded = related(kinds, n_records=n_records)
    assert bounded.one_person[1] <= 0.21
    assert bounded.matches <= 200
    assert related(kinds, n_records=n_records, most=20_000).one_person[1] > 0.9


def test_expected_matches_are_heard():
    few, free, many = (related({WHOLE: 1000.0}, expected_matches=n).matches for n in (300.0, None, 3000.0))
    assert few < free - 50 < free + 50 < many


def test_strangers_who_coincide_are_left_to_their_law():
    """As many pairs share sex and town as strangers do by chance."""
    shared = mask_of((2, 5))
    found = related({WHOLE: 1000.0, shared: 1e6})
    assert found.by_chance.tolist() == [1, 0, 1]
    assert found.one_person[2] < 1e-3


def test_what_a_field_describes_decides():
    """The same pairs without address: movers where it is a household's, two people where it is a birth's."""
    birth = [replace(field, describes="birth" if q in (4, 5) else "household") for q, field in enumerate(PEOPLE)]
    sizes = {WHOLE: 1000.0, MOVED: 200.0}
    assert related(sizes).one_person[2] > related(sizes, fields=birth).one_person[2] + 0.2


def test_traits_alone_tell_of_no_family():
    assert log_kin(mask_of((2,)), PEOPLE, np.log(U)) == -math.inf
    traits = [replace(field, describes="trait") for field in PEOPLE]
    assert related({WHOLE: 100.0}, fields=traits).one_person[1] > 0.99


def test_the_parts_of_a_date_are_one_thing_that_twins_share():
    date = [FieldLevels(part, 2, describes="birth", part_of="birth") for part in ("day", "month", "year")]
    parts = [PEOPLE[0], *date, *PEOPLE[2:]]
    log_u = np.log([0.01, 0.03, 0.08, 0.02, 0.5, 0.004, 0.002, 0.1])
    of_whole = np.log([0.01, 0.03 * 0.08 * 0.02, 0.5, 0.004, 0.002, 0.1])
    assert log_kin(mask_of((1, 2, 3, 5, 6, 7)), parts, log_u) == log_kin(mask_of((1, 3, 4, 5)), PEOPLE, of_whole)


def test_a_hundred_copies_of_one_pair_are_one_pair():
    """Of one person's hundred copies with another's record, nothing follows that would follow from a hundred people."""
    n = 3
    copies = Exclusion(np.zeros(n), np.zeros(n), np.zeros(n), np.array([1.0, 1.0, 0.01]))
    one, hundred, of_one = (
        related({WHOLE: 300.0, TWINS: pairs}, seen).one_person[2]
        for pairs, seen in ((1.0, None), (100.0, None), (100.0, copies))
    )
    assert abs(of_one - one) < 0.02 < abs(hundred - one)


def test_twins_exclude_each_other_as_one_person_does_and_a_family_does_not():
    """A hundred pairs of which none meets tell little of those who share a birth, and much of others."""

    def told(shared):
        kinds = {WHOLE: 10.0, shared: 100.0}
        return [related(kinds, seen).one_person[2] for seen in (None, excluded(2, 3, 100.0, 0.0, 0.85))]

    (twins, alone), (family, apart) = told(TWINS), told(FAMILY)
    assert logit(alone) - logit(twins) < math.log(2) + 0.1
    assert logit(apart) - logit(family) > math.log(5)


def test_of_fields_that_nothing_shows_nothing_follows():
    """Twins one of whose names is nowhere filled in count as those of whom it is not compared."""
    sharing, lacking = mask_of((0, 1, 3, 4, 5)), mask_of((1, 3, 4, 5))
    hidden, absent = (
        related({WHOLE: 300.0, shared: 20.0}, open_fields=(0, 0, 1)).one_person[2] for shared in (sharing, lacking)
    )
    assert hidden == pytest.approx(absent)
    assert related({WHOLE: 300.0, sharing: 20.0}).one_person[2] != pytest.approx(hidden, abs=0.1)
