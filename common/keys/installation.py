"""Whether this installation can do what a suite of algorithms needs, found before anything is signed or sent."""

from __future__ import annotations

from cryptography.exceptions import InternalError, UnsupportedAlgorithm

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.sealing import hpke_suite
from gemel.common.keys.sealing_key import ALGORITHMS, new_key
from gemel.common.keys.suite import Suite


def require_suite(suite: Suite, where: str) -> None:
    """Refuse a suite whose keys cannot be made and used here; less than a millisecond."""
    try:
        key = new_key(suite)
        hpke_suite(suite).encrypt(b"", key.public.hpke, info=b"")
    except (UnsupportedAlgorithm, InternalError):
        what = f"the cryptographic library of this installation has no {ALGORITHMS[suite]} or cannot seal by them"
        got = f"a specification with `cryptography: {suite}`"
        remedy = "install Gemel with a library that has them (docs/fips.md), or decline the specification"
        raise GemelError(ErrorCode.CONFIGURATION, what, where=where, got=got, remedy=remedy) from None
