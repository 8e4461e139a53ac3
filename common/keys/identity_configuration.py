"""Where a party's identity is: by default in the file `identity.key`; or on a token, or in a vault."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from gemel.common.keys.identity import PUBLIC_BYTES, Identity, IdentityKey, SigningPurpose
from gemel.common.keys.key_wrapper import IDENTITY, KeyPlace, Name, TokenPlace, VaultPlace, unusable
from gemel.common.keys.pkcs11_token import Pkcs11Token
from gemel.common.keys.transit_engine import TransitEngine, decoded, encoded

# An identity on a token of hardware, by PKCS#11: it is made there, signs there by EdDSA, and never leaves it.

_ED25519 = bytes.fromhex("06032b6570")
"""The curve's object identifier in DER, as a token takes it."""

_OCTETS = bytes([4, PUBLIC_BYTES])
"""What is before a public key, as an octet string in DER; some tokens leave it out."""


class Pkcs11Signer:
    """A `Signer` on a token, once it is `checked`."""

    def __init__(self, token: Pkcs11Token, key: str) -> None:
        self._token, self._key = token, key
        self._pkcs11 = token.library
        self.public = b""

    def checked(self) -> Pkcs11Signer:
        """Itself, with both halves looked at. Raises VAULT if the token or the key is not there, the PIN is wrong, or
        the key could leave the token."""
        attribute = self._pkcs11.Attribute

        def work(session: Any) -> tuple[bool, bytes]:
            private, public = self._half(session, "PRIVATE_KEY"), self._half(session, "PUBLIC_KEY")
            return self._token.may_leave(private), bytes(public[attribute.EC_POINT])

        may_leave, point = self._token.look(self._key, work)
        public = point.removeprefix(_OCTETS) if len(point) == len(_OCTETS) + PUBLIC_BYTES else point
        if may_leave or len(public) != PUBLIC_BYTES:
            what = "an identity is of Ed25519, sensitive and not extractable"
            got = "a key that can leave the token" if may_leave else "a public key of another form"
            raise unusable(what, f"{self._token.label}, key {self._key}", got, f"make one by `{IDENTITY.command}`")
        self.public = public
        return self

    def sign(self, message: bytes) -> bytes:
        mechanism = self._pkcs11.Mechanism.EDDSA
        return self._token.use(
            lambda session: bytes(self._half(session, "PRIVATE_KEY").sign(message, mechanism=mechanism))
        )

    def create(self) -> None:
        """Make the key on the token, which it never leaves. Raises EXISTS if there is one of this label; VAULT if the
        token does not make it."""
        of, kind = self._pkcs11, self._pkcs11.Attribute
        private = {kind.SENSITIVE: True, kind.EXTRACTABLE: False, kind.SIGN: True, kind.DERIVE: False}

        def make(session: Any) -> None:
            curve = session.create_domain_parameters(of.KeyType.EC_EDWARDS, {kind.EC_PARAMS: _ED25519}, local=True)
            curve.generate_keypair(
                mechanism=of.Mechanism.EC_EDWARDS_KEY_PAIR_GEN, label=self._key, store=True, private_template=private
            )

        self._token.make(self._key, of.ObjectClass.PRIVATE_KEY, make)

    def _half(self, session: Any, half: str) -> Any:
        of = self._pkcs11
        return session.get_key(
            object_class=getattr(of.ObjectClass, half), key_type=of.KeyType.EC_EDWARDS, label=self._key
        )


# An identity in a vault on the network, which signs for those whose token lets them.
#
# An identity is *one version* of a key there: who it is must not change when the vault's key is rotated.

KIND = "ed25519"


class TransitSigner:
    """A `Signer` in a vault, once it is `checked`."""

    def __init__(self, place: VaultPlace, version: int) -> None:
        self._engine = TransitEngine(place, IDENTITY)
        self._version = version
        self.public = b""

    def checked(self) -> TransitSigner:
        """Itself, with the key looked at. Raises as `TransitEngine.key`; VAULT if the key has no such version."""
        versions = self._engine.key(KIND).get("keys")
        found = versions.get(str(self._version)) if isinstance(versions, dict) else None
        if not isinstance(found, dict):
            remedy = "check `version` under `identity` in the configuration, and the key's oldest version in the vault"
            raise unusable("the key has no such version", self._engine.where, f"none of number {self._version}", remedy)
        public = decoded(str(found.get("public_key")))
        if len(public) != PUBLIC_BYTES:
            raise self._engine.misread("a public key of another length")
        self.public = public
        return self

    def sign(self, message: bytes) -> bytes:
        made = self._engine.request("sign_data", hash_input=encoded(message), key_version=self._version)
        return decoded(str(made.get("signature")).removeprefix(f"vault:v{self._version}:"))

    def create(self) -> None:
        self._engine.create(KIND)


class Pkcs11Identity(TokenPlace):
    """An identity on a token of hardware."""

    key: Name
    """The label of its two halves."""

    @property
    def signer(self) -> Pkcs11Signer:
        return Pkcs11Signer(Pkcs11Token(self, IDENTITY), self.key)


class VaultIdentity(VaultPlace):
    """An identity in the transit engine of a vault."""

    version: Annotated[int, Field(ge=1)] = 1
    """Of the key. A rotation in the vault makes another, which is another identity."""

    @property
    def signer(self) -> TransitSigner:
        return TransitSigner(self, self.version)


class IdentityConfiguration(KeyPlace[Pkcs11Identity, VaultIdentity]):
    """Where the identity is, if not in the file."""


def open_identity(configured: IdentityConfiguration | None, file: Path) -> Identity:
    """A party's own identity: the configured one, or where none is configured that in the file ``identity.key``. Raises
    CONFIGURATION, VAULT or UNAVAILABLE if it cannot be used."""
    return Identity(IdentityKey.load(file) if configured is None else configured.chosen.signer.checked())


def check_identity(configured: IdentityConfiguration | None, file: Path, identity: Identity) -> None:
    """Whether the identity can sign now and after a restart; parameters and errors as `open_identity`."""
    if configured is None:
        # It is in memory; what is checked is whether a restart could read it.
        IdentityKey.load(file)
    else:
        identity.sign(SigningPurpose.READINESS)
