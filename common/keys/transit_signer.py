"""An identity in a vault on the network, which signs for those whose token lets them.

An identity is *one version* of a key there: who it is must not change when the vault's key is rotated.
"""

from __future__ import annotations

import base64

from gemel.common.keys.key_file import PUBLIC_BYTES
from gemel.common.keys.key_place import IDENTITY, VaultPlace, unusable
from gemel.common.keys.transit_engine import TransitEngine

KIND = "ed25519"


class TransitSigner:
    """A `Signer` in a vault, once it is `checked`.

    Parameters
    ----------
    place
        Where its key is, of type `KIND`.
    version
        Of the key.

    Raises
    ------
    GemelError
        MODULE_MISSING if the extra ``vault`` is not installed.
    """

    def __init__(self, place: VaultPlace, version: int) -> None:
        self._engine = TransitEngine(place, IDENTITY)
        self._version = version
        self.public = b""

    def checked(self) -> TransitSigner:
        """Itself, with the key looked at.

        Raises
        ------
        GemelError
            As `TransitEngine.key`; VAULT if the key has no such version.
        """
        versions = self._engine.key(KIND).get("keys")
        found = versions.get(str(self._version)) if isinstance(versions, dict) else None
        if not isinstance(found, dict):
            raise unusable(
                "the key has no such version",
                self._engine.where,
                f"none of number {self._version}",
                "check `version` under `identity` in the configuration, and the key's oldest version in the vault",
            )
        public = _bytes(str(found.get("public_key")))
        if len(public) != PUBLIC_BYTES:
            raise self._engine.misread("a public key of another length")
        self.public = public
        return self

    def sign(self, message: bytes) -> bytes:
        """The signature of `message`, made in the vault."""
        text = base64.b64encode(message).decode("ascii")
        made = self._engine.request("sign_data", hash_input=text, key_version=self._version)
        return _bytes(str(made.get("signature")).removeprefix(f"vault:v{self._version}:"))

    def create(self) -> None:
        """Make the key, if the vault has none of this name."""
        self._engine.create(KIND)


def _bytes(text: str) -> bytes:
    """What is written in base 64; nothing if it is something else."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""
