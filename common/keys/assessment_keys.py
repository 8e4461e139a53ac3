"""Throw-away keys and random numbers of an assessment, which repeat; never keys of a project.

A custodian's file is encoded under keys of its own to see what Carole could learn of it, and that encoding is thrown
away. Keys drawn afresh would make the verdict a draw too, and near a limit whoever tries again would pass in the end.
So they are derived: in a custodian's service from its own secret and the specification, so that no other party can
choose a specification by the draw; in a draft from a number that the draft states.

Everything here is derived under a version of its own: from it nothing follows about the keys of a project, and no
input gives a project's keys.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from gemel.common.keys.derivation import KEY_BYTES, Seed
from gemel.common.keys.framing import frame
from gemel.common.keys.noise import NoiseKey

_VERSION = b"gemel assessment 1"


class AssessmentKeys:
    """What an assessment draws its keys and numbers from; made by `of_number` or `of_custodian`."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        self._secret = bytes(secret)

    @classmethod
    def of_number(cls, number: int) -> AssessmentKeys:
        """Those of a number that anyone may know: nothing that they sign leaves the machine."""
        return cls(_derived(str(number).encode(), b"", b"number"))

    @classmethod
    def of_custodian(cls, own: NoiseKey, specification_digest: bytes) -> AssessmentKeys:
        """Those of a custodian and a specification: each time the same, and to be derived by no party without `own`.

        Parameters
        ----------
        own
            The custodian's own key.
        specification_digest
            32 bytes, of the specification that is assessed.
        """
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

    def __repr__(self) -> str:
        return "AssessmentKeys(hidden)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("keys of an assessment must not be pickled; derive what is needed")


def _derived(secret: bytes, salt: bytes, *purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=salt, info=frame(_VERSION, *purpose)).derive(secret)
