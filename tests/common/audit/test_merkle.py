"""The log's tree, and a custodian's statement about its file."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.store import log_tree
from gemel.common.audit import merkle
from gemel.common.audit.statements import MAX_ORIGIN, MAX_RECORDS, FileStatement, check_contributed
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, IdentityKey
from tests.carole.refusals import refusal

# Roots of RFC 6962's published test leaves, as hexadecimal content, by size.
LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]


def tree_of(leaves):
    tree = log_tree.Tree()
    for leaf in leaves:
        tree.append(leaf)
    return tree


def root_of(leaves):
    """The root by its definition, the recursion as the RFC writes it."""
    if not leaves:
        return merkle.EMPTY_ROOT
    if len(leaves) == 1:
        return leaves[0]
    split = 1 << (len(leaves) - 1).bit_length() - 1
    return merkle.node_hash(root_of(leaves[:split]), root_of(leaves[split:]))


def leaves_of(count, salt=b""):
    return [merkle.leaf_hash(salt + number.to_bytes(4, "big")) for number in range(count)]


def test_known_roots():
    leaves = [merkle.leaf_hash(bytes.fromhex(text)) for text in LEAVES]
    assert tree_of([]).root == hashlib.sha256(b"").digest()
    assert leaves[0].hex() == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
    assert tree_of(leaves).root.hex() == "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"


@pytest.mark.parametrize("size", range(66))
def test_root_is_its_definition(size):
    leaves = leaves_of(size)
    tree = tree_of(leaves)
    assert tree.root == root_of(leaves)
    assert all(tree.root_at(part) == root_of(leaves[:part]) for part in range(size + 1))


def test_every_inclusion_proof_up_to_40_leaves():
    leaves = leaves_of(40)
    tree = tree_of(leaves)
    for size in range(1, 41):
        claimed = tree.root_at(size)
        for index in range(size):
            proof = log_tree.inclusion_proof(index, size, tree.node)
            assert merkle.verify_inclusion(leaves[index], index, size, proof, claimed)
            for wrong in {(index + 1) % size, (index * 7 + 3) % size} - {index}:
                assert not merkle.verify_inclusion(leaves[index], wrong, size, proof, claimed)
                assert not merkle.verify_inclusion(leaves[wrong], index, size, proof, claimed)


def test_every_consistency_proof_up_to_40_leaves():
    tree = tree_of(leaves_of(40))
    other = tree_of(leaves_of(40, b"other"))
    for new in range(41):
        for old in range(new + 1):
            proof = log_tree.consistency_proof(old, new, tree.node)
            assert merkle.verify_consistency(old, new, tree.root_at(old), tree.root_at(new), proof)
            if old:
                assert not merkle.verify_consistency(old, new, other.root_at(old), tree.root_at(new), proof)
                forged = log_tree.consistency_proof(old, new, other.node)
                assert not merkle.verify_consistency(old, new, tree.root_at(old), other.root_at(new), forged)


@given(st.integers(1, 300), st.data())
def test_a_changed_leaf_breaks_consistency_from_there_on(size, data):
    changed = data.draw(st.integers(0, size - 1))
    old = data.draw(st.integers(changed + 1, size))
    leaves = leaves_of(size)
    honest = tree_of(leaves)
    leaves[changed] = merkle.leaf_hash(b"edited")
    edited = tree_of(leaves)
    proof = log_tree.consistency_proof(old, size, edited.node)
    assert not merkle.verify_consistency(old, size, honest.root_at(old), edited.root, proof)


@given(st.integers(1, 200), st.data())
def test_a_tampered_proof_is_refused(size, data):
    leaves = leaves_of(size)
    tree = tree_of(leaves)
    index = data.draw(st.integers(0, size - 1))
    proof = log_tree.inclusion_proof(index, size, tree.node)
    assert len(proof) <= size.bit_length()
    assert not merkle.verify_inclusion(leaves[index], index, size, [*proof, bytes(32)], tree.root)
    if proof:
        place = data.draw(st.integers(0, len(proof) - 1))
        worse = [*proof]
        worse[place] = bytes([worse[place][0] ^ 1]) + worse[place][1:]
        assert not merkle.verify_inclusion(leaves[index], index, size, worse, tree.root)
        assert not merkle.verify_inclusion(leaves[index], index, size, proof[:-1], tree.root)
        assert not merkle.verify_inclusion(leaves[index], index, size, [*proof[:-1], proof[-1][:31]], tree.root)


def test_what_does_not_exist_has_no_proof():
    tree = tree_of(leaves_of(3))
    with pytest.raises(ValueError, match="leaf 3 is not among 3"):
        log_tree.inclusion_proof(3, 3, tree.node)
    with pytest.raises(ValueError, match="does not begin"):
        log_tree.consistency_proof(4, 3, tree.node)
    assert not merkle.verify_inclusion(leaves_of(3)[0], 3, 3, [], tree.root)
    assert not merkle.verify_consistency(4, 3, tree.root, tree.root, [])
    assert not merkle.verify_consistency(2, 3, tree.root_at(2), tree.root, [])


STATED = FileStatement(2_000, "patient register, May")
DIGEST = b"\1" * 32


def test_a_signature_is_for_one_statement_project_and_specification() -> None:
    identity = Identity(IdentityKey.create())
    signature = STATED.sign(identity, "births", DIGEST)
    STATED.verify(identity.public, signature, "births", DIGEST)
    for changed, project, digest in (
        (replace(STATED, records=2_001), "births", DIGEST),
        (replace(STATED, origin="patient register, June"), "births", DIGEST),
        (STATED, "deaths", DIGEST),
        (STATED, "births", b"\2" * 32),
    ):
        with refusal(ErrorCode.SIGNATURE):
            changed.verify(identity.public, signature, project, digest)


@pytest.mark.parametrize(
    ("records", "origin"), [(-1, ""), (MAX_RECORDS + 1, ""), (1, "x" * (MAX_ORIGIN + 1)), (1, "a\nb"), (1, "\x1b[31m")]
)
def test_what_is_out_of_bounds_is_no_statement(records: int, origin: str) -> None:
    with refusal(ErrorCode.PARAMETER):
        FileStatement(records, origin)


@pytest.mark.parametrize("contributed", [1_900, 2_000, 2_100])
def test_a_file_may_change_a_little(contributed: int) -> None:
    check_contributed(2_000, contributed, "here")


@pytest.mark.parametrize("contributed", [0, 1_899, 2_101, 2_800])
def test_other_numbers_are_refused(contributed: int) -> None:
    with pytest.raises(GemelError, match="2,000, within 5%") as caught:
        check_contributed(2_000, contributed, "here")
    assert f"{contributed:,} records" in str(caught.value)


def test_small_files_may_differ_by_a_few() -> None:
    check_contributed(3, 13, "here")
    with pytest.raises(GemelError):
        check_contributed(3, 14, "here")
