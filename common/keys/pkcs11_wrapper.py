"""Wrapping keys in a token of hardware, by PKCS#11: they are made there, used there, and never leave it."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from typing import Any

from gemel.common.keys.framing import frame
from gemel.common.keys.key_wrapper import KEY_BYTES, KEY_ID_BYTES, NONCE_BYTES, TAG_BYTES, WRAPPING, unusable
from gemel.common.keys.pkcs11_token import Pkcs11Token


class Pkcs11Wrapper:
    """A `KeyWrapper` on a token, once it is `checked`."""

    def __init__(self, token: Pkcs11Token, keys: Sequence[str]) -> None:
        self._token = token
        self._pkcs11 = token.library
        self._labels = {_identifier(token.label, label): label for label in keys}
        self._newest = keys[-1]
        self.current_id = _identifier(token.label, self._newest)

    def checked(self) -> Pkcs11Wrapper:
        """Itself, with every key looked at. Raises VAULT if the token or a key is not there, the PIN is wrong, or a key
        could leave the token."""
        for label in self._labels.values():
            self._check(label)
        return self

    def knows(self, identifier: bytes) -> bool:
        return identifier in self._labels

    def wrap(self, key: bytes, associated: bytes) -> bytes:
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed: bytes | None = self._use("encrypt", self.current_id, key, nonce, associated)
        if sealed is None or len(sealed) != KEY_BYTES + TAG_BYTES:
            raise self._token.fault("the token does not encrypt by AES-GCM", "another result")
        return nonce + sealed

    def unwrap(self, identifier: bytes, sealed: bytes, associated: bytes) -> bytes | None:
        """The data key that `wrap` sealed; None if it was changed or belongs elsewhere."""
        return self._use("decrypt", identifier, sealed[NONCE_BYTES:], sealed[:NONCE_BYTES], associated)

    def create(self) -> None:
        """Make the current key on the token, which it never leaves. Raises EXISTS if there is one of this label; VAULT
        if the token does not make it."""
        of, kind = self._pkcs11, self._pkcs11.Attribute
        attributes = {
            kind.SENSITIVE: True, kind.EXTRACTABLE: False, kind.ENCRYPT: True, kind.DECRYPT: True,
            kind.WRAP: False, kind.UNWRAP: False,
        }  # fmt: skip

        def make(session: Any) -> None:
            session.generate_key(of.KeyType.AES, 8 * KEY_BYTES, label=self._newest, store=True, template=attributes)

        self._token.make(self._newest, of.ObjectClass.SECRET_KEY, make)

    def _use(self, operation: str, identifier: bytes, content: bytes, nonce: bytes, associated: bytes) -> bytes | None:
        """Encrypt or decrypt on the token; None if it refuses the content."""
        of = self._pkcs11
        parameters = of.GCMParams(nonce, associated, 8 * TAG_BYTES)

        def work(session: Any) -> bytes | None:
            key = self._key(session, self._labels[identifier])
            try:
                done = getattr(key, operation)(content, mechanism=of.Mechanism.AES_GCM, mechanism_param=parameters)
            except (of.exceptions.EncryptedDataInvalid, of.exceptions.EncryptedDataLenRange):
                return None
            except of.exceptions.GeneralError:
                # So SoftHSM, and others, refuse a tag. A token that fails altogether fails to encrypt too.
                if operation == "decrypt":
                    return None
                raise self._token.fault("the token failed", "GeneralError") from None
            return bytes(done)

        return self._token.use(work)

    def _key(self, session: Any, label: str) -> Any:
        of = self._pkcs11
        return session.get_key(object_class=of.ObjectClass.SECRET_KEY, key_type=of.KeyType.AES, label=label)

    def _check(self, label: str) -> None:
        def work(session: Any) -> tuple[bool, int]:
            key = self._key(session, label)
            return self._token.may_leave(key), 8 * key[self._pkcs11.Attribute.VALUE_LEN]

        may_leave, bits = self._token.look(label, work)
        if may_leave or bits != 8 * KEY_BYTES:
            what = "a wrapping key is of AES-256, sensitive and not extractable"
            got = f"{bits} bits, {'which can leave the token' if may_leave else 'not extractable'}"
            raise unusable(what, f"{self._token.label}, key {label}", got, f"make one by `{WRAPPING.command}`")


def _identifier(token: str, label: str) -> bytes:
    """The identifier of a key, from its token and label: neither may be used again for another key."""
    return hashlib.sha256(frame(b"gemel pkcs11 key 1", token.encode(), label.encode())).digest()[:KEY_ID_BYTES]
