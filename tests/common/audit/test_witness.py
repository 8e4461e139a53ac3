"""Checkpoints of the log: signed notes that other programs read, and witnesses that a fork does not deceive."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from gemel.carole.store.log_tree import Tree, consistency_proof
from gemel.common.audit import AuditEntry, Checkpoint, Witness
from gemel.common.audit.entry import canonical, new_salt
from gemel.common.audit.signed_note import CheckpointNote, Cosignature, NoteLine, key_id, note_text, notes_in, origin
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, IdentityKey, PublicIdentity
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


NOTARY, ALICE = (Identity(IdentityKey(Ed25519PrivateKey.from_private_bytes(key * 32))) for key in (b"c", b"a"))
NOTED_LOG, ROOT = "ab" * 16, hashlib.sha256(b"root").digest()
MADE = Checkpoint.sign(NOTARY, NOTED_LOG, 5, ROOT, 1_800_000_000_000).noted(NOTARY)
COSIGNED = Cosignature.make(ALICE, 1_800_000_123, NOTED_LOG, 5, ROOT)


def parts(line: str) -> tuple[str, bytes]:
    dash, name, content = line.split(" ")
    assert dash == "—"
    return name, base64.b64decode(content)


def test_the_bytes_are_those_of_the_specification() -> None:
    """Read here by the words of the specification alone."""
    content = MADE.to_text(COSIGNED.line(NOTED_LOG, "alice", ALICE.public))
    text, _, signatures = content.partition("\n\n")
    assert text.split("\n") == [f"gemel-audit/{NOTED_LOG}", "5", base64.b64encode(ROOT).decode()]
    assert content.endswith("\n")
    first, _, witness = signatures.splitlines()
    name, signed = parts(first)
    carole, alice = NOTARY.public.raw, ALICE.public.raw
    assert name == origin(NOTED_LOG)
    assert signed[:4] == hashlib.sha256(name.encode() + b"\n\x01" + carole).digest()[:4]
    Ed25519PublicKey.from_public_bytes(carole).verify(signed[4:], (text + "\n").encode())
    name, signed = parts(witness)
    assert name == f"{origin(NOTED_LOG)}/alice"
    assert signed[:4] == hashlib.sha256(name.encode() + b"\n\x04" + alice).digest()[:4]
    at = int.from_bytes(signed[4:12], "big")
    message = f"cosignature/v1\ntime {at}\n{text}\n"
    Ed25519PublicKey.from_public_bytes(alice).verify(signed[12:], message.encode())
    assert at == 1_800_000_123


def test_a_note_of_another_implementation_verifies() -> None:
    """Key, text and signature of the example in the documentation of Go's package sumdb/note."""
    key = base64.b64decode("ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
    text = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
    line = "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="
    name, signed = parts(line)
    signer = PublicIdentity(key[1:])
    assert signed[:4] == key_id(name, key[:1], signer) == bytes.fromhex("c74f20a3")
    assert signer.is_text_signed(signed[4:], text)
    assert not signer.is_text_signed(signed[4:], text[:-1])
    assert str(NoteLine(name, signed)) == line


def test_there_and_back_with_and_without_the_standard_signature() -> None:
    for made in (MADE, replace(MADE, note=b"")):
        assert Checkpoint.from_text(made.to_text(), "file") == made
        made.verify(NOTARY.public)
    with_witness = MADE.to_text(COSIGNED.line(NOTED_LOG, "alice", ALICE.public))
    assert Checkpoint.from_text(with_witness, "file") == MADE


def test_a_note_that_another_program_has_kept_is_evidence() -> None:
    """Other programs may keep none but the standard signature."""
    lines = MADE.to_text().splitlines(keepends=True)
    read = Checkpoint.from_text("".join(lines[:5]), "file")
    assert (read.size, read.root, read.signature) == (5, ROOT, b"")
    read.verify(NOTARY.public)
    with pytest.raises(GemelError):
        read.verify(ALICE.public)


def test_notes_one_after_another_are_separated() -> None:
    own = replace(MADE, note=b"")
    other = Checkpoint.sign(NOTARY, NOTED_LOG, 6, ROOT, 1).noted(NOTARY)
    made = [own, MADE, own, own, other, MADE]
    for between in ("", "\n", "\n\n"):
        content = between.join(each.to_text().rstrip("\n") + "\n" for each in made)
        assert [Checkpoint.from_text(text, "file") for text in notes_in(content)] == made
    assert list(notes_in("\n \n")) == []


@pytest.mark.parametrize(
    "changed",
    [
        replace(MADE, size=6),
        replace(MADE, root=bytes(32)),
        replace(MADE, log="cd" * 16),
        replace(MADE, signature=b"", size=6),
        replace(MADE, signature=b"", log="cd" * 16),
        replace(MADE, note=bytes(68)),
        replace(MADE, note=MADE.note[:4] + bytes(64)),
        replace(MADE, note=bytes(4) + MADE.note[4:]),
        MADE.noted(ALICE),
    ],
)
def test_either_signature_over_other_things_is_refused(changed: Checkpoint) -> None:
    with refusal(ErrorCode.SIGNATURE):
        changed.verify(NOTARY.public)


def test_a_checkpoint_without_a_signature_is_none() -> None:
    for bare in (replace(MADE, signature=b"", note=b""), replace(MADE, note=MADE.note[:67])):
        with refusal(ErrorCode.AUDIT):
            bare.verify(NOTARY.public)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "x",
        "{}",
        '{"log":"a","size":true,"root":"","at":1}',
        note_text(NOTED_LOG, 5, ROOT),
        MADE.to_text().replace("\n5\n", "\n05\n"),
        MADE.to_text().replace("\n5\n", "\n-5\n"),
        MADE.to_text().replace("\n5\n", "\n" + "9" * 17 + "\n"),
        MADE.to_text().replace("gemel-audit/", "example.com/"),
        MADE.to_text().replace("— ", "- "),
        MADE.to_text().replace("=\n\n", "=\nextension\n\n"),
        note_text(NOTED_LOG, 5, ROOT) + "\n" + "— name AAAA\n" * 65,
        note_text(NOTED_LOG, 5, ROOT) + "\n— name " + "A" * 1000 + "\n",
        note_text(NOTED_LOG, 5, ROOT) + "\n— name AAA\n",
        note_text(NOTED_LOG, 5, ROOT) + f"\n{COSIGNED.line(NOTED_LOG, 'alice', ALICE.public)}\n",
        note_text(NOTED_LOG, 5, ROOT).replace("=\n", "A\n") + "\n— name AAAA\n",
    ],
)
def test_a_text_that_is_no_checkpoint_is_refused(content: str) -> None:
    with refusal(ErrorCode.AUDIT) as caught:
        Checkpoint.from_text(content, "kept")
    assert "kept" in str(caught.value)


def test_a_cosignature_of_another_or_over_other_things_is_refused() -> None:
    COSIGNED.verify(ALICE.public, NOTED_LOG, 5, ROOT)
    for cosignature, witness, size in (
        (COSIGNED, NOTARY.public, 5),
        (COSIGNED, ALICE.public, 6),
        (replace(COSIGNED, at=COSIGNED.at + 1), ALICE.public, 5),
        (replace(COSIGNED, at=2**63), ALICE.public, 5),
        (replace(COSIGNED, signature=b""), ALICE.public, 5),
    ):
        with refusal(ErrorCode.SIGNATURE):
            cosignature.verify(witness, NOTED_LOG, size, ROOT)


def test_unknown_signatures_are_left_and_kept() -> None:
    line = NoteLine("witness.example.com/w1", bytes(76))
    content = MADE.to_text(line)
    assert Checkpoint.from_text(content, "file") == MADE
    assert CheckpointNote.read(content, "file").lines[-1] == line
    assert str(CheckpointNote.read(content, "file")) == content


def test_a_text_is_never_signed_that_could_be_a_purpose() -> None:
    with pytest.raises(ValueError, match="begins with a letter"):
        NOTARY.sign_text("\x00\x00\x00\x11gemel signature 1")
    framed = NOTARY.sign("audit-checkpoint", b"x")
    assert not NOTARY.public.is_text_signed(framed, "x")
