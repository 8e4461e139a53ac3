"""The key of a custodian's own noise, from which the randomised response of its signatures is derived.

It is the custodian's alone: the other custodian, who could undo noise derived from the seed, must not have it. It stays
the same for as long as signatures are sent: noise drawn again for every upload would average out over many.
"""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from gemel.common.errors import parameter
from gemel.common.keys.derivation import KEY_BYTES, FieldKeys, HiddenSecret, Seed
from gemel.common.keys.framing import frame
from gemel.common.keys.suite import Suite

NOISE_KEY_BYTES = 32

_VERSION = b"gemel noise 1"


class NoiseKey(HiddenSecret):
    """The secret that a custodian's noise comes from, 32 random bytes; never sent, never shown.

    Raises PARAMETER if it is not 32 bytes.
    """

    __slots__ = ()

    def __init__(self, secret: bytes) -> None:
        if len(secret) != NOISE_KEY_BYTES:
            raise parameter("noise key", f"a noise key is {NOISE_KEY_BYTES} random bytes", f"{len(secret)} bytes")
        super().__init__(secret)

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


_ASSESSMENT_KEYS_VERSION = b"gemel assessment 1"


class AssessmentKeys(HiddenSecret):
    """What an assessment draws its keys and numbers from; made by `of_number` or `of_custodian`."""

    __slots__ = ()

    @classmethod
    def of_number(cls, number: int) -> AssessmentKeys:
        """Those of a number that anyone may know: nothing that they sign leaves the machine."""
        return cls(_derived(str(number).encode(), b"", b"number"))

    @classmethod
    def of_custodian(cls, own: NoiseKey, specification_digest: bytes) -> AssessmentKeys:
        """Those of a custodian and a specification: each time the same, and to be derived by no party without `own`."""
        return cls(_derived(own.reveal(), specification_digest, b"custodian"))

    def throw_away_seed(self, part: str) -> Seed:
        """A seed to sign the records with for one part of an assessment, never to send what it signs."""
        return Seed(_derived(self._secret, b"", b"seed", part.encode()))

    def throw_away_noise(self, part: str) -> NoiseKey:
        """A noise key for one part of an assessment, never to send what it made."""
        return NoiseKey(_derived(self._secret, b"", b"noise", part.encode()))

    def generator(self, part: str) -> np.random.Generator:
        """Random numbers for one part of an assessment, from their beginning at every call."""
        return np.random.default_rng(int.from_bytes(_derived(self._secret, b"", b"draws", part.encode()), "big"))


def _derived(secret: bytes, salt: bytes, *purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=salt, info=frame(_ASSESSMENT_KEYS_VERSION, *purpose)).derive(
        secret
    )
