"""Whose digits each member types: who refuses, whoever lies. On the table alone, no command runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest

from gemel.common.parties import CUSTODIANS, Role
from gemel.common.pki.members import Members
from gemel.party.comparison import TYPES, read_to, readers_of
from tests.common.pki.test_members import entries, text_of


def _members() -> Members:
    """Of every role that several may have, two."""
    further = {"coordinator2": Role.COORDINATOR, "steward2": Role.STEWARD, "analyst": Role.ANALYST}
    names = {"analyst2": Role.ANALYST, **further}
    first = entries()
    more = [{**each, "name": name, "role": role} for each, (name, role) in zip(entries(), names.items(), strict=False)]
    return Members.parse(text_of([*first, *more]))


MEMBERS = _members()
NAMES = [each.name for each in MEMBERS]


def _typed(name: str) -> set[str]:
    return {each.name for each in read_to(MEMBERS, name)}


def _refuse(lists: dict[str, str]) -> set[str]:
    """The honest members who are read digits of another list than their own; `lists` has each one's."""
    return {name for name in lists for other in _typed(name) & lists.keys() if lists[other] != lists[name]}


def test_every_role_has_its_calls() -> None:
    assert set(TYPES) == set(Role)
    assert {each.role for each in MEMBERS} == set(Role)


@pytest.mark.parametrize("invented", NAMES)
def test_no_member_is_vouched_for_by_a_coordinator_alone(invented: str) -> None:
    """All others have a list with keys made for `invented`; the true one has the right list, and is called."""
    for coordinator in MEMBERS.with_role(Role.COORDINATOR):
        liars = {coordinator.name} - {invented}
        lists = {name: "right" if name == invented else "false" for name in NAMES if name not in liars}
        refusing = _refuse(lists) - {invented}
        assert refusing >= {each.name for each in MEMBERS if each.role in CUSTODIANS} - {invented}


@pytest.mark.parametrize("custodian", ["alice", "bob"])
def test_all_who_are_honest_have_one_list_as_long_as_one_custodian_is(custodian: str) -> None:
    """However the others collude, and whichever of two lists each honest member has been sent."""
    other = {"alice": "bob", "bob": "alice"}[custodian]
    rest = [name for name in NAMES if name not in (custodian, other)]
    for liars in _subsets(rest):
        honest = [custodian, *(name for name in rest if name not in liars)]
        for false in _subsets(honest):
            lists = {name: "false" if name in false else "right" for name in honest}
            if len(set(lists.values())) == 2:
                assert custodian in _refuse(lists)


def test_both_custodians_together_can_deceive_the_others() -> None:
    """What the table does not hold against, and the threat model says: no records but theirs are in it."""
    assert _refuse({"carole": "false", "steward": "right"}) == set()
    # With the first alone the other custodian refuses; with the second no one is deceived.
    assert _refuse({"bob": "right", "carole": "false", "steward": "right"}) == {"bob"}
    assert _refuse({"alice": "right", "carole": "false", "steward": "right"}) == {"alice", "carole"}


def test_a_member_reads_out_to_those_who_type_its_digits() -> None:
    for name in NAMES:
        assert name not in _typed(name)
        assert {each.name for each in readers_of(MEMBERS, name)} == {who for who in NAMES if name in _typed(who)}
    assert [each.name for each in read_to(MEMBERS, "bob")][:3] == ["alice", "carole", "coordinator"]


def _subsets(names: list[str]) -> Iterable[tuple[str, ...]]:
    return itertools.chain.from_iterable(itertools.combinations(names, size) for size in range(len(names) + 1))
