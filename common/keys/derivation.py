"""Every key of a project, derived from the one seed that Alice and Bob share.

A key is HKDF-SHA256 [1]_ of the seed with the project's name as salt, for a purpose written out in full:
version, purpose, encoding digest, key domain, rule and epoch, each behind its length. Two keys are
therefore equal only if all of these are; custodians who clean or tokenise differently, or who hold
different seeds, have no signatures in common.

References
----------
.. [1] Krawczyk and Eronen, HMAC-based Extract-and-Expand Key Derivation Function (HKDF), RFC 5869, 2010.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NoReturn, Self

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from gemel.common.errors import parameter
from gemel.common.keys.framing import frame
from gemel.common.keys.suite import Suite

SEED_BYTES = 32
KEY_BYTES = 32
DIGEST_BYTES = 32

_VERSION = b"gemel keys 1"


class Purpose(StrEnum):
    """The purpose of a derived key. Its name is part of its keys: append only, never rename."""

    SIGNATURE = "signature"
    """The two keys under which a field's tokens are signed."""
    TOKEN = "token"  # noqa: S105 - the name of a purpose
    """Hash of tokens too long to be their own code."""
    BLOCKING = "blocking"
    """Digest of a row's blocking key."""
    TAG = "tag"
    """Tag by which a row of one blocking rule shows, within its block, its key under another rule."""
    SAMPLE = "sample"
    """The two keys under which a group of a sample of a field's values is signed, for chance agreement."""
    CHECK = "check"
    """Key-check value: shows that two seeds differ."""
    CANARY = "canary"
    """MAC over the signatures of public test records: shows that two encoders differ."""
    CATEGORY = "category"
    """The relabelling of a variable's categories."""
    SALT = "salt"
    """Digest of the attribute that a field is salted by."""


class HiddenSecret:
    """Secret bytes: never shown, and protected from being pickled or logged by accident."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        self._secret = bytes(secret)

    @classmethod
    def generate(cls) -> Self:
        return cls(secrets.token_bytes(KEY_BYTES))

    def reveal(self) -> bytes:
        """The secret itself, to be stored where only its owner can read it."""
        return self._secret

    def __repr__(self) -> str:
        return f"{type(self).__name__}(hidden)"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} must not be pickled; derive the keys that are needed")


class Seed(HiddenSecret):
    """The secret that Alice and Bob share with no other party: 32 random bytes, compared in constant time.

    Raises PARAMETER if it is not 32 bytes, or all bytes are equal.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, secret: bytes) -> None:
        if len(secret) != SEED_BYTES or len(set(secret)) == 1:
            what = f"a seed is {SEED_BYTES} random bytes"
            got = f"{len(secret)} bytes" if len(secret) != SEED_BYTES else "the same byte throughout"
            raise parameter("seed", what, got, "agree a seed through the service, or exchange a seed file made by it")
        super().__init__(secret)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Seed):
            return NotImplemented
        return hmac.compare_digest(self._secret, other._secret)


@dataclass(frozen=True)
class FieldKeys:
    """The two AES-256 keys of a field: `k1` encrypts the token, `k2` makes its random values, both by its suite."""

    k1: bytes = field(repr=False)
    k2: bytes = field(repr=False)
    suite: Suite = Suite.DEFAULT


def derive(
    seed: Seed,
    project: str,
    purpose: Purpose,
    encoding_digest: bytes,
    domain: str = "",
    rule: str = "",
    epoch: int = 1,
    suite: Suite = Suite.DEFAULT,
) -> FieldKeys:
    """Derive the pair of independent keys of a field (its key domain) under a rule, 32 bytes each.

    The encoding digest (32 bytes) is of everything in the specification that decides how records become signatures; the
    domain is "" for a key of no field, the rule "" in open mode, the epoch the number of the seed agreement, from 1.
    The suite, by which the keys are used, does not enter them by itself, but by the encoding digest.
    """
    both = _expand(seed, project, purpose, encoding_digest, domain, rule, epoch, 2 * KEY_BYTES)
    return FieldKeys(both[:KEY_BYTES], both[KEY_BYTES:], suite)


def derive_key(
    seed: Seed, project: str, purpose: Purpose, encoding_digest: bytes, domain: str = "", rule: str = "", epoch: int = 1
) -> bytes:
    """Derive one key of 32 bytes; the parameters and errors are those of `derive`."""
    return _expand(seed, project, purpose, encoding_digest, domain, rule, epoch, KEY_BYTES)


def _expand(
    seed: Seed, project: str, purpose: Purpose, encoding_digest: bytes, domain: str, rule: str, epoch: int, length: int
) -> bytes:
    if len(encoding_digest) != DIGEST_BYTES:
        raise parameter(
            "key derivation", f"the encoding digest must have {DIGEST_BYTES} bytes", f"{len(encoding_digest)} bytes"
        )
    if not 0 <= epoch < 2**32:
        raise parameter("key derivation", "the epoch must be a number from 0 to 2^32 - 1", str(epoch))
    parts = (purpose.value.encode(), encoding_digest, domain.encode(), rule.encode(), epoch.to_bytes(4, "big"))
    hkdf = HKDF(algorithm=SHA256(), length=length, salt=project.encode(), info=frame(_VERSION, *parts))
    return hkdf.derive(seed.reveal())
