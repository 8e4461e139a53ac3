"""Entries, checkpoints, and what a witness refuses: every way to change a log that it has seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gemel.common.audit import AuditEntry, Checkpoint, Tree, Witness, consistency_proof
from gemel.common.audit.entry import canonical, new_salt
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, IdentityKey
from tests.carole.refusals import refusal

CAROLE = Identity(IdentityKey.create())
LOG = "ab" * 16


def entries(count, start=1):
    return [
        AuditEntry(number, 1_000 + number, "p", "amber", "approve", canonical({"n": number}), new_salt())
        for number in range(start, start + count)
    ]


def tree_of(log):
    tree = Tree()
    for entry in log:
        tree.append(entry.leaf)
    return tree


def checkpoint(tree, size=None, log=LOG, at=5):
    size = tree.size if size is None else size
    return Checkpoint.sign(CAROLE, log, size, tree.root_at(size), at)


def witness_of(tree, size):
    return Witness(CAROLE.public).believe(checkpoint(tree, size), [])


@pytest.mark.parametrize("change", ["sequence", "at", "project", "actor", "action", "text", "salt"])
def test_every_part_of_an_entry_is_in_its_hash(change):
    entry = entries(1)[0]
    values = {"sequence": 2, "at": 7, "salt": new_salt()}
    assert replace(entry, **{change: values.get(change, "other")}).leaf != entry.leaf


def test_equal_entries_have_unequal_hashes():
    first = entries(1)[0]
    assert replace(first, salt=new_salt()).leaf != first.leaf


def test_canonical_details():
    assert canonical({"b": 1, "a": "ü"}) == '{"a":"\\u00fc","b":1}'
    with pytest.raises(ValueError, match="Out of range"):
        canonical({"a": float("nan")})


def test_text_there_and_back():
    there = checkpoint(tree_of(entries(3)))
    assert Checkpoint.from_text(there.to_text(), "file") == there


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"log": 1}', "null", '{"log":"a","size":true,"root":"","at":1}'])
def test_text_that_is_no_checkpoint(text):
    with refusal(ErrorCode.AUDIT) as caught:
        Checkpoint.from_text(text, "kept.json")
    assert "kept.json" in str(caught.value)


def test_a_log_that_grows_is_believed():
    tree = tree_of(entries(20))
    witness = Witness(CAROLE.public)
    for size in (0, 1, 4, 4, 7, 20):
        witness = witness.believe(checkpoint(tree, size), consistency_proof(witness.size, size, tree.node))
        assert witness.size == size


def test_a_signature_of_another_or_over_other_things():
    tree = tree_of(entries(3))
    good = checkpoint(tree)
    witness = Witness(CAROLE.public)
    for bad in (
        replace(good, size=2),
        replace(good, root=bytes(32)),
        replace(good, at=6),
        replace(good, log="cd" * 16),
        Checkpoint.sign(Identity(IdentityKey.create()), LOG, 3, tree.root, 5),
    ):
        with refusal(ErrorCode.SIGNATURE):
            witness.believe(bad, [])


def rewritten(how):
    """The log of twelve entries of which ten were seen, changed."""
    log = entries(12)
    seen = witness_of(tree_of(log), 10)
    if how == "edited":
        log[3] = replace(log[3], actor="mallory")
    elif how == "deleted":
        del log[3]
    elif how == "reordered":
        log[3], log[4] = log[4], log[3]
    elif how == "cut":
        log = log[:9]
    elif how == "forked":
        log = [*log[:9], *entries(3, start=10)]
    return seen, tree_of(log)


@pytest.mark.parametrize("how", ["edited", "deleted", "reordered", "cut", "forked"])
def test_a_rewritten_log_is_refused_though_it_is_signed(how):
    seen, tree = rewritten(how)
    shown = checkpoint(tree)
    proof = consistency_proof(seen.size, shown.size, tree.node) if shown.size >= seen.size else []
    with refusal(ErrorCode.AUDIT) as caught:
        seen.believe(shown, proof)
    assert caught.value.remedy


def test_an_untouched_log_passes_the_same_way():
    seen, tree = rewritten("not at all")
    assert seen.believe(checkpoint(tree), consistency_proof(10, 12, tree.node)).size == 12


def test_a_restarted_log():
    tree = tree_of(entries(5))
    with pytest.raises(GemelError, match="restarted"):
        witness_of(tree, 3).believe(checkpoint(tree, log="cd" * 16), consistency_proof(3, 5, tree.node))


def test_two_readers_find_a_fork():
    log = entries(10)
    one = tree_of(log)
    two = tree_of([*log[:6], *entries(4, start=7)])
    alice = witness_of(one, 8)
    alice.compare(checkpoint(one, 5), consistency_proof(5, 8, one.node), "Bob")
    alice.compare(checkpoint(one, 10), consistency_proof(8, 10, one.node), "Bob")
    alice.compare(checkpoint(two, 6), consistency_proof(6, 8, one.node), "Bob")  # before the fork nothing differs
    for size in (7, 8, 10):
        small, large = sorted((8, size))
        for tree in (one, two):
            with pytest.raises(GemelError, match="another audit log"):
                alice.compare(checkpoint(two, size), consistency_proof(small, large, tree.node), "Bob")
