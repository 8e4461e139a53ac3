"""Wrapping keys in a token of hardware, by PKCS#11: they are made there, used there, and never leave it.

The module is the vendor's library; SoftHSM's is one in software, for tests. A session is opened once and used by one
thread at a time. A token that was away is opened again at the next use.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys.framing import frame
from tryst.common.keys.key_wrapper import KEY_BYTES, KEY_ID_BYTES, NONCE_BYTES, TAG_BYTES, unusable
from tryst.common.missing_module import missing_module


class Pkcs11Wrapper:
    """A `KeyWrapper` on a token, once it is `checked`.

    Parameters
    ----------
    module
        The library that speaks to the token.
    token
        Its label.
    keys
        Labels of AES-256 keys on it, in the order they came into use; the last is the current one.
    pin
        Of the token's user.

    Raises
    ------
    TrystError
        MODULE_MISSING if the extra ``pkcs11`` is not installed.
    """

    def __init__(self, module: Path, token: str, keys: Sequence[str], pin: str) -> None:
        self._module, self._token, self._pin = module, token, pin
        self._labels = {_identifier(token, label): label for label in keys}
        self._newest = keys[-1]
        self.current_id = _identifier(token, self._newest)
        self._lock = threading.Lock()
        self._pkcs11 = _library()
        self._session: Any = None

    def __repr__(self) -> str:
        return f"Pkcs11Wrapper({str(self._module)!r}, {self._token!r})"

    def checked(self) -> Pkcs11Wrapper:
        """Itself, with every key looked at.

        Raises
        ------
        TrystError
            VAULT if the token or a key is not there, the PIN is wrong, or a key could leave the token.
        """
        with self._lock:
            for label in self._labels.values():
                self._check(label)
        return self

    def knows(self, identifier: bytes) -> bool:
        """Whether the key with this identifier is configured."""
        return identifier in self._labels

    def wrap(self, key: bytes, associated: bytes) -> bytes:
        """A data key sealed under the current key, on the token."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed: bytes | None = self._use("encrypt", self.current_id, key, nonce, associated)
        if sealed is None or len(sealed) != KEY_BYTES + TAG_BYTES:
            raise self._fault("the token does not encrypt by AES-GCM", "another result")
        return nonce + sealed

    def unwrap(self, identifier: bytes, sealed: bytes, associated: bytes) -> bytes | None:
        """The data key that `wrap` sealed; None if it was changed or belongs elsewhere."""
        return self._use("decrypt", identifier, sealed[NONCE_BYTES:], sealed[:NONCE_BYTES], associated)

    def create(self) -> None:
        """Make the current key on the token, which it never leaves.

        Raises
        ------
        TrystError
            EXISTS if there is one of this label; VAULT if the token does not make it.
        """
        of, kind = self._pkcs11, self._pkcs11.Attribute
        attributes = {
            kind.SENSITIVE: True, kind.EXTRACTABLE: False, kind.ENCRYPT: True, kind.DECRYPT: True,
            kind.WRAP: False, kind.UNWRAP: False,
        }  # fmt: skip
        with self._lock:
            try:
                writing = self._open(rw=True)
                if any(writing.get_objects({kind.CLASS: of.ObjectClass.SECRET_KEY, kind.LABEL: self._newest})):
                    raise TrystError(ErrorCode.EXISTS, "the token has a key of this label", where=self._newest)
                writing.generate_key(of.KeyType.AES, 8 * KEY_BYTES, label=self._newest, store=True, template=attributes)
                writing.close()
            except of.PKCS11Error as error:
                raise self._fault("the token did not make the key", type(error).__name__) from None

    def _use(self, operation: str, identifier: bytes, content: bytes, nonce: bytes, associated: bytes) -> bytes | None:
        """Encrypt or decrypt on the token; None if it refuses the content. Once more if its session is over."""
        of = self._pkcs11
        parameters = of.GCMParams(nonce, associated, 8 * TAG_BYTES)
        with self._lock:
            for attempt in (1, 2):
                try:
                    if self._session is None:
                        self._session = self._open()
                    key = self._key(self._labels[identifier])
                    done = getattr(key, operation)(content, mechanism=of.Mechanism.AES_GCM, mechanism_param=parameters)
                    return bytes(done)
                except (of.exceptions.EncryptedDataInvalid, of.exceptions.EncryptedDataLenRange):
                    return None
                except of.exceptions.GeneralError:
                    # So SoftHSM, and others, refuse a tag. A token that fails altogether fails to encrypt too.
                    if operation == "decrypt":
                        return None
                    raise self._fault("the token failed", "GeneralError") from None
                except of.PKCS11Error as error:
                    self._session = None
                    if attempt == 2:
                        raise self._away(type(error).__name__) from None
        raise AssertionError("the loop returns or raises")

    def _open(self, *, rw: bool = False) -> Any:
        of = self._pkcs11
        token = of.lib(str(self._module)).get_token(token_label=self._token)
        try:
            return token.open(user_pin=self._pin, rw=rw)
        except of.exceptions.UserAlreadyLoggedIn:
            # A login is of the process: another session of it has made one.
            return token.open(rw=rw)

    def _key(self, label: str) -> Any:
        of = self._pkcs11
        return self._session.get_key(object_class=of.ObjectClass.SECRET_KEY, key_type=of.KeyType.AES, label=label)

    def _check(self, label: str) -> None:
        """Refuse a key that is not there, or that could leave the token."""
        of = self._pkcs11
        try:
            if self._session is None:
                self._session = self._open()
            key = self._key(label)
            may_leave = key[of.Attribute.EXTRACTABLE] or not key[of.Attribute.SENSITIVE]
            bits = 8 * key[of.Attribute.VALUE_LEN]
        except of.PKCS11Error as error:
            raise self._fault(f"the key {label} cannot be used", type(error).__name__) from None
        if may_leave or bits != 8 * KEY_BYTES:
            raise unusable(
                "a wrapping key is of AES-256, sensitive and not extractable",
                f"{self._token}, key {label}",
                f"{bits} bits, {'which can leave the token' if may_leave else 'not extractable'}",
                "make one by `tryst party wrapping-key`",
            )

    def _fault(self, what: str, got: str) -> TrystError:
        remedy = "check module, token, label and PIN under `wrapping` in the configuration, and that the token is there"
        return unusable(what, f"token {self._token}", got, remedy)

    def _away(self, got: str) -> TrystError:
        return TrystError(
            ErrorCode.UNAVAILABLE,
            "the token of the wrapping keys does not answer",
            where=f"token {self._token}",
            got=got,
            remedy="check that it is connected and its service runs",
        )


def _identifier(token: str, label: str) -> bytes:
    """The identifier of a key, from its token and label: neither may be used again for another key."""
    return hashlib.sha256(frame(b"tryst pkcs11 key 1", token.encode(), label.encode())).digest()[:KEY_ID_BYTES]


def _library() -> Any:
    try:
        import pkcs11
    except ModuleNotFoundError as error:
        raise missing_module(error) from None
    return pkcs11
