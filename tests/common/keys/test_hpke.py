"""The library's HPKE and KEM against published vectors, by way of RFC 9180's key schedule written out here.

The schedule is compared with RFC 9180, the KEM with the vector of its draft; `tests/vectors/hpke.json` names both. With
the published ciphertext and secret of the KEM the schedule makes a whole HPKE message, which the library must open; and
so a whole sealed message is made from nothing but hashes and AES-GCM.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ec import ECDH, SECP384R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from gemel.common.keys.framing import frame
from gemel.common.keys.sealing import SealContext, hpke_suite, open_sealed
from gemel.common.keys.sealing_key import ApprovedKey, DefaultKey, SealingKey
from gemel.common.keys.suite import Suite as Suites
from tests.vectors.make_formats import PATH

XWING, RFC9180 = json.loads(Path(PATH.with_name("hpke.json")).read_text(encoding="utf-8")).values()
MLKEM768_X25519, MLKEM1024_P384, HKDF_SHA256, HKDF_SHA384, AES_256_GCM = 0x647A, 0x51, 1, 2, 2


def schedule(
    secret: bytes, ids: tuple[int, int, int], info: bytes, key_bytes: int, name: str = "sha256"
) -> tuple[bytes, bytes]:
    """Key and base nonce of base mode, RFC 9180 section 5.1."""
    suite = b"HPKE" + b"".join(number.to_bytes(2, "big") for number in ids)

    def extract(salt: bytes, label: bytes, keying: bytes) -> bytes:
        return hmac.digest(salt or bytes(hashlib.new(name).digest_size), b"HPKE-v1" + suite + label + keying, name)

    def expand(pseudorandom: bytes, label: bytes, length: int) -> bytes:
        labelled = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + context
        return hmac.digest(pseudorandom, labelled + b"\x01", name)[:length]

    context = b"\0" + extract(b"", b"psk_id_hash", b"") + extract(b"", b"info_hash", info)
    shared = extract(secret, b"secret", b"")
    return expand(shared, b"key", key_bytes), expand(shared, b"base_nonce", 12)


def published_key() -> DefaultKey:
    expanded = hashlib.shake_256(bytes.fromhex(XWING["seed"])).digest(96)
    return DefaultKey(
        MLKEM768PrivateKey.from_seed_bytes(expanded[:64]), X25519PrivateKey.from_private_bytes(expanded[64:])
    )


def test_the_schedule_is_that_of_the_rfc() -> None:
    vector = {name: bytes.fromhex(text) for name, text in RFC9180.items() if isinstance(text, str)}
    ids = RFC9180["kem"], RFC9180["kdf"], RFC9180["aead"]
    key, nonce = schedule(vector["shared_secret"], ids, vector["info"], 16)
    assert (key, nonce) == (vector["key"], vector["base_nonce"])
    assert AESGCM(key).encrypt(nonce, vector["pt"], vector["aad"]) == vector["ct"]
    # The library's call has no associated data; so the message is made again without.
    sealed = vector["enc"] + AESGCM(key).encrypt(nonce, vector["pt"], b"")
    private = X25519PrivateKey.from_private_bytes(vector["skRm"])
    suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
    assert suite.decrypt(sealed, private, info=vector["info"]) == vector["pt"]


def test_the_default_kem_is_that_of_the_draft() -> None:
    """And with it ML-KEM-768: key generation from a seed, and decapsulation."""
    key, sealed = published_key(), bytes.fromhex(XWING["ct"])
    by_lattice = key.mlkem.decapsulate(sealed[:1088])
    by_curve = key.x25519.exchange(X25519PublicKey.from_public_bytes(sealed[1088:]))
    joined = by_lattice + by_curve + sealed[1088:] + key.public.raw[1184:] + rb"\.//^" + b"\\"
    assert hashlib.sha3_256(joined).hexdigest() == XWING["ss"]


def test_the_library_opens_a_message_made_from_the_published_ciphertext() -> None:
    ids = MLKEM768_X25519, HKDF_SHA256, AES_256_GCM
    key, nonce = schedule(bytes.fromhex(XWING["ss"]), ids, b"info", 32)
    sealed = bytes.fromhex(XWING["ct"]) + AESGCM(key).encrypt(nonce, b"content", b"")
    assert hpke_suite(Suites.DEFAULT).decrypt(sealed, published_key().private, info=b"info") == b"content"


def test_a_message_of_the_approved_suite_is_as_its_drafts_have_it() -> None:
    """Opened with ML-KEM, ECDH, hashes and AES-GCM alone; the KEM's number and combiner are written out here."""
    key = ApprovedKey.create()
    sealed = hpke_suite(Suites.APPROVED).encrypt(b"content", key.public.hpke, info=b"info")
    ciphertext, point, rest = sealed[:1568], sealed[1568:1665], sealed[1665:]
    by_curve = key.p384.exchange(ECDH(), EllipticCurvePublicKey.from_encoded_point(SECP384R1(), point))
    joined = key.mlkem.decapsulate(ciphertext) + by_curve + point + key.public.raw[1568:] + b"MLKEM1024-P384"
    ids = MLKEM1024_P384, HKDF_SHA384, AES_256_GCM
    opening, nonce = schedule(hashlib.sha3_256(joined).digest(), ids, b"info", 32, "sha384")
    assert AESGCM(opening).decrypt(nonce, rest, b"") == b"content"


def test_a_sealed_message_is_as_documented() -> None:
    """Made by the definition, from the published ciphertext; two chunks."""
    context = SealContext("febrl4", "run-1", "alice")
    info = frame(b"gemel sealing 1", b"febrl4", b"run-1", b"alice")
    key, nonce = schedule(bytes.fromhex(XWING["ss"]), (MLKEM768_X25519, HKDF_SHA256, AES_256_GCM), info, 32)
    content_key = bytes(range(32))
    header = b"gemel sealed 1\n" + bytes.fromhex(XWING["ct"]) + AESGCM(key).encrypt(nonce, content_key, b"")
    content = bytes(65536) + b"the end"
    first = AESGCM(content_key).encrypt(bytes(12), content[:65536], info)
    last = AESGCM(content_key).encrypt(bytes(10) + b"\1\1", content[65536:], info)
    assert b"".join(open_sealed(SealingKey(published_key()), context, [header, first, last])) == content
