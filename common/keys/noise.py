"""The key of a custodian's own noise, from which the randomised response of its signatures is derived.

It is the custodian's alone: the other custodian, who could undo noise derived from the seed, must not have it. It stays
the same for as long as signatures are sent: noise drawn again for every upload would average out over many.
"""

from __future__ import annotations

import secrets
from typing import NoReturn

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from gemel.common.errors import parameter
from gemel.common.keys.derivation import KEY_BYTES, FieldKeys
from gemel.common.keys.framing import frame
from gemel.common.keys.suite import Suite

NOISE_KEY_BYTES = 32

_VERSION = b"gemel noise 1"


class NoiseKey:
    """The secret that a custodian's noise comes from, 32 random bytes; never sent, never shown.

    Raises
    ------
    GemelError
        PARAMETER if it is not 32 bytes.
    """

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        if len(secret) != NOISE_KEY_BYTES:
            raise parameter("noise key", f"a noise key is {NOISE_KEY_BYTES} random bytes", f"{len(secret)} bytes")
        self._secret = bytes(secret)

    @classmethod
    def generate(cls) -> NoiseKey:
        """Make a new key from the operating system's random source: a custodian's, or a throw-away one for a trial."""
        return cls(secrets.token_bytes(NOISE_KEY_BYTES))

    def reveal(self) -> bytes:
        """Return the secret itself, to be stored where only its owner can read it."""
        return self._secret

    def derive(self, project: str, domain: str, suite: Suite = Suite.DEFAULT) -> FieldKeys:
        """Derive the two keys of the noise of one key domain of a project.

        Fields of one key domain share them, because equal values have equal signatures there: two independent noises on
        one signature would be two observations of it. Each suite has keys of its own: one key is used by one algorithm.
        """
        named = () if suite is Suite.DEFAULT else (suite.value.encode(),)
        info = frame(_VERSION, domain.encode(), *named)
        hkdf = HKDF(algorithm=SHA256(), length=2 * KEY_BYTES, salt=project.encode(), info=info)
        both = hkdf.derive(self._secret)
        return FieldKeys(both[:KEY_BYTES], both[KEY_BYTES:], suite)

    def __repr__(self) -> str:
        return "NoiseKey(hidden)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a noise key must not be pickled; derive the keys that are needed")
