"""An identity on a token of hardware, by PKCS#11: it is made there, signs there by EdDSA, and never leaves it."""

from __future__ import annotations

from typing import Any

from gemel.common.keys.key_file import PUBLIC_BYTES
from gemel.common.keys.key_place import IDENTITY, unusable
from gemel.common.keys.pkcs11_token import Pkcs11Token

_ED25519 = bytes.fromhex("06032b6570")
"""The curve's object identifier in DER, as a token takes it."""

_OCTETS = bytes([4, PUBLIC_BYTES])
"""What is before a public key, as an octet string in DER; some tokens leave it out."""


class Pkcs11Signer:
    """A `Signer` on a token, once it is `checked`.

    Parameters
    ----------
    token
        Where the key is.
    key
        Label of its two halves.
    """

    def __init__(self, token: Pkcs11Token, key: str) -> None:
        self._token, self._key = token, key
        self._pkcs11 = token.library
        self.public = b""

    def checked(self) -> Pkcs11Signer:
        """Itself, with both halves looked at.

        Raises
        ------
        GemelError
            VAULT if the token or the key is not there, the PIN is wrong, or the key could leave the token.
        """
        attribute = self._pkcs11.Attribute

        def work(session: Any) -> tuple[bool, bytes]:
            private, public = self._half(session, "PRIVATE_KEY"), self._half(session, "PUBLIC_KEY")
            return self._token.may_leave(private), bytes(public[attribute.EC_POINT])

        may_leave, point = self._token.look(self._key, work)
        public = point.removeprefix(_OCTETS) if len(point) == len(_OCTETS) + PUBLIC_BYTES else point
        if may_leave or len(public) != PUBLIC_BYTES:
            raise unusable(
                "an identity is of Ed25519, sensitive and not extractable",
                f"{self._token.label}, key {self._key}",
                "a key that can leave the token" if may_leave else "a public key of another form",
                f"make one by `{IDENTITY.command}`",
            )
        self.public = public
        return self

    def sign(self, message: bytes) -> bytes:
        """The signature of `message`, made on the token."""
        mechanism = self._pkcs11.Mechanism.EDDSA
        return self._token.use(
            lambda session: bytes(self._half(session, "PRIVATE_KEY").sign(message, mechanism=mechanism))
        )

    def create(self) -> None:
        """Make the key on the token, which it never leaves.

        Raises
        ------
        GemelError
            EXISTS if there is one of this label; VAULT if the token does not make it.
        """
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
