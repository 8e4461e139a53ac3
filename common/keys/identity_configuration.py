"""Where a party's identity is: by default in the file `identity.key`; or on a token, or in a vault."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, Field, model_validator

from gemel.common.configuration import Configuration
from gemel.common.keys.identity import Identity
from gemel.common.keys.identity_key import IdentityKey
from gemel.common.keys.key_place import IDENTITY, Name, TokenPlace, VaultPlace, not_configured
from gemel.common.keys.pkcs11_signer import Pkcs11Signer
from gemel.common.keys.pkcs11_token import Pkcs11Token
from gemel.common.keys.signing_purpose import SigningPurpose
from gemel.common.keys.transit_signer import TransitSigner


class Pkcs11Identity(TokenPlace):
    """An identity on a token of hardware."""

    key: Name
    """The label of its two halves."""

    @property
    def signer(self) -> Pkcs11Signer:
        """The signer, unchecked."""
        return Pkcs11Signer(Pkcs11Token(self, IDENTITY), self.key)


class VaultIdentity(VaultPlace):
    """An identity in the transit engine of a vault."""

    version: Annotated[int, Field(ge=1)] = 1
    """Of the key. A rotation in the vault makes another, which is another identity."""

    @property
    def signer(self) -> TransitSigner:
        """The signer, unchecked."""
        return TransitSigner(self, self.version)


class IdentityConfiguration(Configuration):
    """Where the identity is, if not in the file."""

    pkcs11: Pkcs11Identity | None = None
    vault: VaultIdentity | None = None

    @model_validator(mode="after")
    def _one(self) -> IdentityConfiguration:
        if (self.pkcs11 is None) == (self.vault is None):
            raise ValueError("expected either pkcs11 or vault")
        return self

    @property
    def signer(self) -> Pkcs11Signer | TransitSigner:
        """The one that is configured, unchecked."""
        chosen = self.pkcs11 or self.vault
        assert chosen is not None  # noqa: S101 - the model has checked it
        return chosen.signer


class IdentitySection(Configuration):
    """A party's configuration, as far as it is of its identity."""

    model_config = ConfigDict(extra="ignore")

    identity: IdentityConfiguration | None = None


def open_identity(configured: IdentityConfiguration | None, file: Path) -> Identity:
    """A party's own identity.

    Parameters
    ----------
    configured
        None: that in the file. Otherwise the file is not looked at.
    file
        ``identity.key``.

    Raises
    ------
    GemelError
        CONFIGURATION, VAULT or UNAVAILABLE if it cannot be used.
    """
    return Identity(IdentityKey.load(file) if configured is None else configured.signer.checked())


def check_identity(configured: IdentityConfiguration | None, file: Path, identity: Identity) -> None:
    """Whether the identity can sign now and after a restart; parameters and errors as `open_identity`."""
    if configured is None:
        # It is in memory; what is checked is whether a restart could read it.
        IdentityKey.load(file)
    else:
        identity.sign(SigningPurpose.READINESS)


def create_identity(configured: IdentityConfiguration | None) -> Identity:
    """Make the configured identity on its token or in its vault.

    Raises
    ------
    GemelError
        CONFIGURATION if neither is configured; EXISTS if the token has the key.
    """
    if configured is None:
        raise not_configured(IDENTITY)
    signer = configured.signer
    signer.create()
    return Identity(signer.checked())
