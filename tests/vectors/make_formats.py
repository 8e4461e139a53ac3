"""Make `formats.json`: bytes of every format that is stored or sent, and what a reader finds in them.

Run from the checkout's root with

    python -m tests.vectors.make_formats

It adds what is missing and changes nothing that is there: bytes that a release has written stay as they are, and a new
version of a format is a new entry.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from cryptography.hazmat.primitives.asymmetric.ec import SECP384R1, derive_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM1024PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from gemel.carole.assessment.released_counts import CountedTable, CountedVariable, ReleasedCounts, pack, unpack
from gemel.carole.store.backup import Manifest as BackupManifest
from gemel.common.audit.checkpoint import Checkpoint
from gemel.common.audit.entry import AuditEntry, canonical
from gemel.common.audit.signed_note import Cosignature
from gemel.common.audit.statements import (
    CustodianDecline,
    FileStatement,
    HandOver,
    ResolverResult,
    RestorationDecision,
    StewardDecision,
    TakeOver,
)
from gemel.common.keys.check import canary_part
from gemel.common.keys.derivation import Seed
from gemel.common.keys.epochs import approval_parts, sign_new_epoch
from gemel.common.keys.identity import Identity, IdentityKey, SigningPurpose
from gemel.common.keys.key_wrapper import VaultPlace
from gemel.common.keys.noise import NoiseKey
from gemel.common.keys.pkcs11_wrapper import _identifier as pkcs11_identifier
from gemel.common.keys.sealing import SealContext, open_sealed, seal
from gemel.common.keys.sealing_key import ApprovedKey, DefaultKey, SealingKey
from gemel.common.keys.suite import Suite
from gemel.common.keys.transit_wrapper import _identifier as transit_identifier
from gemel.common.keys.vault import Vault, WrappingKeys
from gemel.common.parties import PARTIES, ComputeParty, Role, Side
from gemel.common.pki import EnrolmentRequest, Member, Members
from gemel.common.pki.certified_names import CertifiedNames, PinnedKey
from gemel.common.signatures.custodian_shares import ShareSecrets, add_share, leave_third_share
from gemel.common.signatures.intervals import Interval
from gemel.common.signatures.layout import SEAL_BYTES, FieldLayout, Layout, SetLayout, VariableLayout
from gemel.common.signatures.party_sets import SharedUpload, open_words, seal_words
from gemel.common.wire.chunks import Chunk
from gemel.common.wire.granted_variables import ID, VALUES, Expected, VariablesContext, open_variables, seal_variables
from gemel.common.wire.manifest import Manifest, manifest_from_wire, manifest_to_wire
from gemel.common.wire.named_rows import NamedRowsContext, SharedRows, open_rows, seal_row_share
from gemel.common.wire.resolved_share import ResolvedShare, open_share, seal_share
from gemel.common.wire.row_handles import (
    CODES_ROWS,
    HANDLES,
    About,
    RowHandlesRequest,
    open_row_handles,
    seal_row_handles,
)
from gemel.common.wire.share_headers import HeaderAbout, open_header, seal_header
from gemel.coordinator.client.log_memory import FileMemory
from gemel.custodian.agreement.agreement import Agreement
from gemel.custodian.agreement.agreement_messages import Offer, Terms, read_confirmation, read_offer
from gemel.custodian.agreement.key_exchange import Ephemeral
from gemel.custodian.agreement.seed_file import load_seed_file, seed_text
from gemel.protos.linkage.v1 import contribution_pb2, transfer_pb2

PATH = Path(__file__).with_name("formats.json")

ALICE_KEY = IdentityKey(Ed25519PrivateKey.from_private_bytes(b"a" * 32))
ALICE = Identity(ALICE_KEY)
BOB = Identity(IdentityKey(Ed25519PrivateKey.from_private_bytes(b"b" * 32)))


def _sealing_key(letter: bytes) -> DefaultKey:
    return DefaultKey(MLKEM768PrivateKey.from_seed_bytes(letter * 64), X25519PrivateKey.from_private_bytes(letter * 32))


READER = SealingKey(_sealing_key(b"r"))
RENEWED_READER = SealingKey(_sealing_key(b"R"), READER.newest)
APPROVED_READER = SealingKey(
    ApprovedKey(MLKEM1024PrivateKey.from_seed_bytes(b"P" * 64), derive_private_key(0x50 << 256, SECP384R1())),
    RENEWED_READER.newest,
)
WRAPPING = WrappingKeys((b"w" * 32,))
SEED = Seed(bytes(range(32)))
DIGEST, RUN = bytes(range(32, 64)), "0123456789abcdef" * 2
CONTEXT = SealContext("golden", RUN, "alice")
APPROVED_CONTEXT = replace(CONTEXT, suite=Suite.APPROVED)
ABOUT = About("golden", RUN, Side.ALICE, DIGEST, bytes(32), "coordinator", READER.public)
NAMED_ROWS = NamedRowsContext("golden", RUN, b"n" * 16, Side.ALICE, DIGEST, "ab" * 16, "alice", READER.public)
SHARED_SET = SetLayout("born", 2, (FieldLayout("surname", 128, 0, "shared"),), ("born",), tags=("names",))
SHARED_UPLOAD = SharedUpload("golden", Side.ALICE, "ab" * 16)
SECRETS = ShareSecrets((b"0" * 32, b"1" * 32, b"2" * 32))
SHARED = HeaderAbout(
    "golden", Side.ALICE, DIGEST, 2, SHARED_UPLOAD.upload, Layout((SHARED_SET,), 2), "coordinator",
    ComputeParty.COORDINATOR,
)  # fmt: skip
SEEN = Checkpoint(RUN, 5, DIGEST, 1_800_000_000_000, bytes(64))
HANDED = HandOver("golden", "alice", "bob", SEEN, "she leaves")
COUNTED = ReleasedCounts(
    "c0",
    6,
    (
        CountedTable(
            (CountedVariable("sex", 2, False), CountedVariable("illness", 2, True)),
            "conventional",
            5,
            np.array([[3, 0, 1], [0, 2, 0]]),
        ),
    ),
    (("region", "town"),),
)
TERMS = Terms("golden", DIGEST, 1)
NAMES = CertifiedNames(("5a" * 32,), "alice.hospital.example", "spiffe://hospital.example/gemel/alice")
MEMBERS = Members(
    Member(
        name,
        role,
        NAMES if name == "alice" else PinnedKey("5b" * 32, key * 64),
        Identity(IdentityKey(Ed25519PrivateKey.from_private_bytes(key.encode() * 32))).public,
        APPROVED_READER.public if name == "bob" else _sealing_key(key.encode()).public,
    )
    for key, (name, role) in zip("123456", (PARTIES | {"institute": Role.ANALYST}).items(), strict=True)
)
VARIABLES = VariablesContext("golden", RUN, Side.ALICE, DIGEST, "bob")
COLUMNS = pl.DataFrame({ID: ["00" * 8, "ab" * 8], "income": ["3100", None], "region": ["north", "south"]})


def _agreed(suite: Suite = Suite.DEFAULT) -> tuple[Agreement, bytes, bytes]:
    """Alice's part in an agreement that has ended, and Bob's messages."""
    keys: list[Any] = [X25519PrivateKey.from_private_bytes(letter * 32) for letter in (b"A", b"B")]
    if suite is Suite.APPROVED:
        keys = [derive_private_key(number << 256, SECP384R1()) for number in (0x41, 0x42)]
    alice = Agreement(TERMS, Side.ALICE, ALICE, BOB.public, suite=suite, _ephemeral=Ephemeral(keys[0]))
    bob = Agreement(TERMS, Side.BOB, BOB, ALICE.public, suite=suite, _ephemeral=Ephemeral(keys[1]))
    bob.accept_offer(alice.offer)
    alice.accept_offer(bob.offer)
    alice.confirm(DIGEST)
    confirmation = bob.confirm(DIGEST)
    alice.accept_confirmation(confirmation)
    return alice, bob.offer, confirmation


def _layouts() -> dict[str, Layout]:
    """By the kind of contribution that has it."""
    fields = (FieldLayout("surname", 128, 3), FieldLayout("sex", 64, 2))
    variables = (VariableLayout("age", 5),)
    samples, codes = SetLayout("+samples", 1000, fields, (), ()), SetLayout("+codes", 4, (), (), variables)
    rule = SetLayout("born", 4, fields, ("born", "names"), ())
    fixed = (FieldLayout("surname", 128, 1), FieldLayout("sex", 64, 0, "fixed"))
    cut = [SetLayout("born", 1 + number, fixed, ("born", "names"), (), Interval(number, 2)) for number in range(2)]
    shared = (FieldLayout("surname", 128, 0, "shared"), FieldLayout("sex", 64, 0, "fixed"))
    of_rule = SetLayout("born", 4, shared, ("born",), (), tags=("names",))
    withheld = (FieldLayout("surname", 128, 0, "withheld"), FieldLayout("sex", 64, 0, "shared"))
    of_names = SetLayout("names", 3, withheld, ("names",), (), tags=("born",))
    sampled = tuple(replace(field, content="shared") for field in shared)
    return {
        "one set": Layout((SetLayout("", 4, fields, ("born",), ()),)),
        "one set with known records": Layout(
            (
                SetLayout("", 4, fields, ("born",), variables),
                SetLayout("+training", 20, (), (), variables),
                SetLayout("+joint", 5, (), (), variables),
            )
        ),
        "in blocks": Layout((rule, samples), 4),
        "in intervals with codes": Layout((*cut, samples, codes), 4),
        "shared": Layout((of_rule, of_names, SetLayout("+samples", 1000, sampled, (), (), tags=())), 4),
    }


def _manifest(kind: str) -> bytes:
    seeds = (b"carole", b"coordinator", b"steward") if kind == "shared" else ()
    manifest = Manifest("golden", Side.BOB, 2, DIGEST, b"checkval", _layouts()[kind], seeds)
    return manifest_to_wire(manifest).SerializeToString(deterministic=True)


def _read_manifest(content: bytes) -> object:
    read = manifest_from_wire(contribution_pb2.Manifest.FromString(content), 1 << 30, 1 << 20)
    sets = [
        {
            "rule": part.rule,
            "rows": part.rows,
            "fields": [[each.name, each.bits, each.distinct, each.content] for each in part.fields],
            "blocks": list(part.blocks),
            "variables": [[each.name, each.categories] for each in part.variables],
            **({} if part.tags is None else {"tags": list(part.tags)}),
            **({"interval": list(part.interval)} if part.interval.of > 1 else {}),
        }
        for part in read.layout.sets
    ]
    seeds = [[each.hex() for each in read.sealed_seeds]] if read.sealed_seeds else []
    return [read.project, read.side, read.epoch, read.encoding_digest.hex(), sets, read.layout.records, *seeds]


def _saved(save: Callable[[Path], Any]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        save(Path(folder) / "file")
        return (Path(folder) / "file").read_bytes()


def _loaded(content: bytes, load: Callable[[Path], Any]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(content)
        path.chmod(0o600)
        return load(path)


DECISION = RestorationDecision(
    "golden",
    6,
    Checkpoint.sign(ALICE, RUN, 5, DIGEST, 1_800_000_000_000),
    Checkpoint.sign(ALICE, RUN, 9, DIGEST, 1_800_000_000_001),
    accept=True,
    runs={RUN: DIGEST},
)


def _remember(path: Path) -> None:
    memory = FileMemory(path)
    memory.see(DECISION.restored)
    memory.see(Checkpoint.sign(ALICE, RUN, 9, DIGEST, 1_800_100_000_000))
    memory.set_aside(6, 5)
    memory.note_released("golden", RUN, DIGEST)


def _remembered(path: Path) -> object:
    memory, lost = FileMemory(path), FileMemory(path).lost(6)
    sizes = [each.size for each in memory.seen()]
    return [sizes, lost and lost.size, {run: root.hex() for run, root in memory.released("golden").items()}]


def _checkpoint(content: bytes) -> object:
    checkpoint = Checkpoint.from_text(content.decode(), "golden")
    checkpoint.verify(ALICE.public)
    return [checkpoint.log, checkpoint.size, checkpoint.root.hex(), checkpoint.at]


def _handles(content: bytes) -> object:
    return {name: items.tolist() for name, items in open_row_handles(READER, ALICE.public, ABOUT, content).items()}


def _rows(content: bytes) -> object:
    read = RowHandlesRequest.unpack(content)
    return [read.upload, read.rows.tolist()]


def _sealed_words() -> bytes:
    """A set of two rows: the digests of their blocks, and their share, sealed."""
    digests = np.array([5, 7], dtype=np.uint64)
    buffer = np.zeros(2 * 4 * 8 + SEAL_BYTES, dtype=np.uint8)
    words = buffer[:-SEAL_BYTES].view(np.uint64).reshape(2, 4)
    words[:] = [[1, 2, 3, 4], [5, 6, 7, 2**64 - 1]]
    leave_third_share(words, SECRETS, 3)
    seal_words(buffer, SECRETS.by_share[2], 3, SHARED_UPLOAD.associated(SHARED_SET, 3, digests))
    return digests.astype("<u8").tobytes() + buffer.tobytes()


def _opened_words(content: bytes) -> object:
    digests = np.frombuffer(content[:16], dtype="<u8")
    associated = SHARED_UPLOAD.associated(SHARED_SET, 3, digests)
    words = open_words(memoryview(content)[16:], SECRETS.by_share[2], 3, associated, "golden")
    for share in (0, 1):
        add_share(words, SECRETS.by_share[share], share, 3)
    return [digests.tolist(), words.tolist()]


def _seeds(content: bytes) -> object:
    read = open_header(READER, ALICE.public, SHARED, content)
    return [read.upload.upload, read.secrets.first.hex(), read.secrets.second.hex(), read.secrets.commitments.hex()]


def _shared_rows() -> bytes:
    """Three shares whose exclusive or is the numbers 3, 0 and 7 of Alice's rows."""
    shares = np.array([[9, 8, 7], [1, 2, 3], [9 ^ 1 ^ 3, 8 ^ 2 ^ 0, 7 ^ 3 ^ 7]], dtype=np.uint32)
    first, second, third = (seal_row_share(BOB, own, NAMED_ROWS, shares[own], shares[own.next]) for own in ComputeParty)
    return SharedRows(NAMED_ROWS.upload, NAMED_ROWS.session, (first, second, third)).pack()


def _named_rows(content: bytes) -> object:
    read = SharedRows.unpack(content)
    rows = open_rows(READER, (BOB.public,) * 3, NAMED_ROWS, read.parts, 8)
    return [read.upload, read.session.hex(), rows.tolist()]


def _resolved(content: bytes) -> object:
    read = open_share(READER, CONTEXT, content, b"request", 6)
    drawn = None if read.draw is None or read.drawn is None else [read.draw.tolist(), read.drawn.tolist()]
    return [read.pair.tolist(), read.probability.tolist(), read.linked.tolist(), drawn, read.ids]


def _transit() -> bytes:
    return transit_identifier(VaultPlace(address="https://vault", key="carole", token_file=Path("token")), 1)


def _members(members: Members) -> object:
    return {each.name: [each.role, str(each.certificate), each.sealing.fingerprint] for each in members}


def _request(key: SealingKey) -> bytes:
    return EnrolmentRequest("alice", Role.CUSTODIAN_A, ALICE.public, key.public, NAMES).signed(ALICE).encode()


def _chunk(content: bytes) -> object:
    chunk = Chunk.of(transfer_pb2.Chunk.FromString(content))
    return [chunk.index, chunk.count, chunk.root.hex(), chunk.sha256.hex(), chunk.data.hex()]


def _counted(released: ReleasedCounts) -> object:
    tables = [[vars(v) for v in table.variables] + [table.counts.tolist()] for table in released.tables]
    return [released.coding, released.records, tables, [list(names) for names in released.left_out]]


def _offer(read: Offer) -> object:
    return [read.suite, read.ephemeral.hex(), len(read.encapsulation)]


def _state(content: bytes) -> object:
    agreed = Agreement.resume(content, ALICE, BOB.public)
    return [agreed.is_agreed, len(agreed.seed.reveal()), agreed.terms.project]


def _hex(content: bytes) -> object:
    return content.hex()


Format = tuple[Callable[[], bytes], Callable[[bytes], object]]
"""How it is written, and what its reader finds."""

FIXED: Mapping[str, Format] = {
    "identity.key": (lambda: _saved(ALICE_KEY.save), lambda content: _loaded(content, IdentityKey.load).public.hex()),
    "sealing.key": (lambda: _saved(READER.save), lambda content: _loaded(content, SealingKey.load).public.hex),
    "sealing.key, renewed": (
        lambda: _saved(RENEWED_READER.save),
        lambda content: [each.fingerprint for each in _loaded(content, SealingKey.load).publics],
    ),
    "sealing.key, approved": (
        lambda: _saved(APPROVED_READER.save),
        lambda content: [each.fingerprint for each in _loaded(content, SealingKey.load).publics],
    ),
    "wrapping.key": (
        lambda: _saved(WRAPPING.save),
        lambda content: _loaded(content, WrappingKeys.load).current_id.hex(),
    ),
    "seed file": (
        lambda: seed_text(SEED, "golden").encode(),
        lambda content: _loaded(content, lambda path: load_seed_file(path, "golden")).reveal().hex(),
    ),
    "noise keys": (lambda: NoiseKey(b"n" * 32).derive("golden", "surname").k1, _hex),
    "identifier of a wrapping key: PKCS#11": (lambda: pkcs11_identifier("token", "label"), _hex),
    "identifier of a wrapping key: vault": (_transit, _hex),
    "audit entry": (
        lambda: (
            AuditEntry(3, 1_800_000_000_000, "p", "alice", "approve", canonical({"b": 1, "a": "ü"}), b"s" * 16).leaf
        ),
        _hex,
    ),
    "checkpoint": (lambda: Checkpoint.sign(ALICE, RUN, 5, DIGEST, 1_800_000_000_000).to_text().encode(), _checkpoint),
    "checkpoint: signed note": (
        lambda: Checkpoint.sign(ALICE, RUN, 5, DIGEST, 1_800_000_000_000).noted(ALICE).to_text().encode(),
        _checkpoint,
    ),
    "checkpoint: cosignature": (
        lambda: str(Cosignature.make(BOB, 1_800_000_000, RUN, 5, DIGEST).line(RUN, "bob", BOB.public)).encode(),
        lambda content: content.decode(),
    ),
    "memory of a coordinator or steward": (lambda: _saved(_remember), lambda content: _loaded(content, _remembered)),
    "decision on a restored log": (lambda: DECISION.sign(ALICE), _hex),
    "resolver's signature": (lambda: ResolverResult("golden", RUN, DIGEST).sign(ALICE), _hex),
    "steward's decision": (lambda: StewardDecision("golden", RUN, DIGEST, True, "agreed").sign(ALICE), _hex),
    "custodian's refusal": (lambda: CustodianDecline("golden", DIGEST, "not agreed").sign(ALICE), _hex),
    "file that a custodian states": (
        lambda: FileStatement(2_000, "patient register").sign(ALICE, "golden", DIGEST),
        _hex,
    ),
    "new epoch": (lambda: sign_new_epoch(ALICE, "golden", DIGEST, 2, "not the same"), _hex),
    "project handed over": (lambda: HANDED.sign(ALICE), _hex),
    "project taken over": (lambda: TakeOver("golden", "alice", "bob", SEEN, b"signature").sign(BOB), _hex),
    "approval in a later epoch": (
        lambda: ALICE.sign(SigningPurpose.APPROVAL, *approval_parts("golden", DIGEST, 2)),
        _hex,
    ),
    "membership list": (lambda: MEMBERS.dump().encode(), lambda content: _members(Members.parse(content.decode()))),
    "enrolment request": (
        lambda: _request(READER),
        lambda content: str(EnrolmentRequest.parse(content.decode()).certificate),
    ),
    "enrolment request, approved": (
        lambda: _request(APPROVED_READER),
        lambda content: EnrolmentRequest.parse(content.decode()).sealing.fingerprint,
    ),
    "noise keys, approved": (lambda: NoiseKey(b"n" * 32).derive("golden", "surname", Suite.APPROVED).k1, _hex),
    "part of a canary": (lambda: canary_part(SEED, "golden", DIGEST, 2, "the signatures", b"content"), _hex),
    **{f"manifest, {kind}": ((lambda kind=kind: _manifest(kind)), _read_manifest) for kind in _layouts()},
    "sealed words": (_sealed_words, _opened_words),
    "chunk": (lambda: Chunk(1, 3, DIGEST, bytes(32), b"data").message().SerializeToString(), _chunk),
    "counts of a release": (lambda: pack(COUNTED), lambda content: _counted(unpack(content))),
    "backup's manifest": (
        lambda: json.dumps(asdict(BackupManifest(RUN, 7, 1_800_000_000_000, 2))).encode(),
        lambda content: asdict(BackupManifest(**json.loads(content))),
    ),
    **{
        f"signature: {purpose}": (
            (lambda purpose=purpose: ALICE.sign(purpose, b"one", b"two")),
            (lambda content, purpose=purpose: ALICE.public.is_signed(content, purpose, b"one", b"two")),
        )
        for purpose in SigningPurpose
    },
}
"""Formats whose bytes follow from their content."""

DRAWN: Mapping[str, Format] = {
    "seed agreement: offer": (lambda: _agreed()[1], lambda content: _offer(read_offer(content, BOB.public, "golden"))),
    "seed agreement: confirmation": (
        lambda: _agreed()[2],
        lambda content: read_confirmation(content, BOB.public, "golden").canary.hex(),
    ),
    "seed agreement: state": (lambda: _agreed()[0].export(), _state),
    "seed agreement: offer, approved": (
        lambda: _agreed(Suite.APPROVED)[1],
        lambda content: _offer(read_offer(content, BOB.public, "golden", Suite.APPROVED)),
    ),
    "seed agreement: confirmation, approved": (
        lambda: _agreed(Suite.APPROVED)[2],
        lambda content: read_confirmation(content, BOB.public, "golden", Suite.APPROVED).canary.hex(),
    ),
    "seed agreement: state, approved": (lambda: _agreed(Suite.APPROVED)[0].export(), _state),
    "sealed message": (
        lambda: b"".join(seal(READER.public, CONTEXT, [b"content"])),
        lambda content: b"".join(open_sealed(READER, CONTEXT, [content])).decode(),
    ),
    "sealed message, approved": (
        lambda: b"".join(seal(APPROVED_READER.public, APPROVED_CONTEXT, [b"content"])),
        lambda content: b"".join(open_sealed(APPROVED_READER, APPROVED_CONTEXT, [content])).decode(),
    ),
    "wrapped key and encrypted chunk": (
        lambda: Vault(WRAPPING).protect("subject", b"content"),
        lambda content: Vault(WRAPPING).reveal("subject", content).decode(),
    ),
    "request for handles": (lambda: RowHandlesRequest(RUN, np.array([3, 0, 7], dtype=np.uint32)).pack(), _rows),
    "handles": (
        lambda: seal_row_handles(ALICE, ABOUT, {HANDLES: np.array([0, 1, 0]), CODES_ROWS: np.array([4, 5])}),
        _handles,
    ),
    "seeds of shares": (lambda: seal_header(ALICE, SHARED, READER.public, SECRETS.of(SHARED.party)), _seeds),
    "shared rows": (_shared_rows, _named_rows),
    "granted columns": (
        lambda: b"".join(seal_variables(ALICE, READER.public, VARIABLES, {VALUES: COLUMNS})),
        lambda content: open_variables(
            READER, ALICE.public, VARIABLES, [content], Expected(COLUMNS.columns[1:], COLUMNS[ID])
        )[VALUES].to_dict(as_series=False),
    ),
    "resolver's share": (
        lambda: seal_share(
            READER.public,
            CONTEXT,
            ResolvedShare(
                hashlib.sha256(b"request").digest(),
                DIGEST,
                np.array([0, 2, 5], dtype=np.uint32),
                np.array([0.5, 0.968, 1.0]),
                np.array([False, True, True]),
                np.array([0, 0, 1], dtype=np.uint32),
                np.array([1, 2, 0], dtype=np.uint32),
            ),
        ),
        _resolved,
    ),
}
"""Formats with something drawn in them: other bytes every time."""

FORMATS = {**FIXED, **DRAWN}


def add(known: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The golden bytes with those of further formats."""
    for name in names:
        if name not in known:
            write, read = FORMATS[name]
            content = write()
            known[name] = {"bytes": content.hex(), "read": read(content)}
    return known


if __name__ == "__main__":
    golden = json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else {}
    PATH.write_text(json.dumps(add(golden, FORMATS), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
