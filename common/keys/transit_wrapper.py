"""Wrapping keys in a vault on the network: the transit engine of HashiCorp Vault, or of OpenBao, which speaks the same.

The key stays in the vault, which encrypts and decrypts for those whose token lets them. Its versions are wrapping keys
of their own, with an identifier each: `vault write -f transit/keys/NAME/rotate` makes a new one, which counts from the
next start on.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from pathlib import Path
from typing import Any

from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys.framing import frame
from tryst.common.keys.key_wrapper import KEY_ID_BYTES, SEALED_BYTES, unusable
from tryst.common.keys.private_files import read_private
from tryst.common.missing_module import missing_module

TIMEOUT_SECONDS = 10


class TransitWrapper:
    """A `KeyWrapper` in a vault, once it is `checked`.

    Parameters
    ----------
    address
        ``https://host:port``.
    key
        Name of a key of type ``aes256-gcm96``.
    token_file
        The vault's token, in a file that only its owner may read. It is read again at each call, so that an agent may
        renew it.
    authorities
        Certificates, PEM, that the vault's own must be issued by; None: those of the machine.
    mount
        Where the transit engine is mounted.
    namespace
        Of the vault, where it has several.

    Raises
    ------
    TrystError
        MODULE_MISSING if the extra ``vault`` is not installed.
    """

    def __init__(
        self,
        address: str,
        key: str,
        token_file: Path,
        authorities: Path | None = None,
        mount: str = "transit",
        namespace: str | None = None,
    ) -> None:
        self._hvac = _library()
        self._where = f"{address}, {mount}/keys/{key}"
        self._key, self._token_file = key, token_file
        verify = True if authorities is None else str(authorities)
        self._client = self._hvac.Client(address, verify=verify, namespace=namespace, timeout=TIMEOUT_SECONDS)
        self._transit = self._client.secrets.transit
        self._mount, self._namespace = mount, namespace or ""
        self._versions: dict[bytes, int] = {}
        self._current = 0
        self.current_id = b""

    def checked(self) -> TransitWrapper:
        """Itself, with the key looked at and its versions known.

        Raises
        ------
        TrystError
            UNAVAILABLE if the vault does not answer; VAULT if it refuses the token, or the key is not there, of another
            type or exportable.
        """
        found = self._request(lambda: self._transit.read_key(self._key, mount_point=self._mount))["data"]
        if found.get("type") != "aes256-gcm96" or found.get("exportable") or found.get("derived"):
            raise unusable(
                "a wrapping key is of type aes256-gcm96, not derived and not exportable",
                self._where,
                str(found.get("type"))[:40],
                "make one by `tryst party wrapping-key`",
            )
        self._current = int(found["latest_version"])
        self._versions = {self._identifier(version): version for version in range(1, self._current + 1)}
        self.current_id = self._identifier(self._current)
        return self

    def knows(self, identifier: bytes) -> bool:
        """Whether the version with this identifier was there at the start."""
        return identifier in self._versions

    def wrap(self, key: bytes, associated: bytes) -> bytes:
        """A data key sealed under the current version, in the vault."""
        answer = self._request(
            lambda: self._transit.encrypt_data(
                self._key,
                plaintext=_text(key),
                associated_data=_text(associated),
                key_version=self._current,
                mount_point=self._mount,
            )
        )
        sealed = _sealed(answer["data"]["ciphertext"], self._current)
        if sealed is None:
            raise unusable("the vault answers in another form", self._where, "another ciphertext", "check its version")
        return sealed

    def unwrap(self, identifier: bytes, sealed: bytes, associated: bytes) -> bytes | None:
        """The data key that `wrap` sealed; None if it was changed or belongs elsewhere."""
        version = self._versions[identifier]
        try:
            answer = self._request(
                lambda: self._transit.decrypt_data(
                    self._key,
                    ciphertext=f"vault:v{version}:{_text(sealed)}",
                    associated_data=_text(associated),
                    mount_point=self._mount,
                ),
                refused=True,
            )
        except self._hvac.exceptions.InvalidRequest:
            return None
        return base64.b64decode(answer["data"]["plaintext"])

    def create(self) -> None:
        """Make the key, if the vault has none of this name."""
        self._request(lambda: self._transit.create_key(self._key, key_type="aes256-gcm96", mount_point=self._mount))

    def _identifier(self, version: int) -> bytes:
        """Of a version, from names and not from the address, which may change."""
        parts = (b"tryst transit key 1", self._namespace.encode(), self._mount.encode(), self._key.encode())
        return hashlib.sha256(frame(*parts, str(version).encode())).digest()[:KEY_ID_BYTES]

    def _request(self, call: Any, *, refused: bool = False) -> Any:
        """Call the vault with the token of now; with `refused`, a refusal of the content is the caller's to read."""
        of = self._hvac.exceptions
        self._client.token = read_private(self._token_file, "the vault's token").decode("ascii", "replace").strip()
        try:
            return call()
        except (of.Forbidden, of.Unauthorized):
            raise unusable(
                "the vault refuses its token", self._where, "permission denied", "renew the token, or widen its policy"
            ) from None
        except of.InvalidPath:
            raise unusable(
                "the vault has no such key", self._where, "none", "make it by `tryst party wrapping-key`"
            ) from None
        except of.InvalidRequest as error:
            if refused:
                raise
            raise unusable("the vault refuses the request", self._where, type(error).__name__, "see its log") from None
        except (of.VaultError, OSError) as error:
            # What a client of HTTP raises when there is no answer is an OSError, too.
            raise TrystError(
                ErrorCode.UNAVAILABLE,
                "the vault of the wrapping keys does not answer",
                where=self._where,
                got=type(error).__name__,
                remedy="check that it runs, is unsealed and is reachable from here",
            ) from None


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _sealed(ciphertext: str, version: int) -> bytes | None:
    """The bytes of ``vault:v1:...``: nonce, ciphertext and tag, as everywhere else."""
    prefix = f"vault:v{version}:"
    try:
        sealed = base64.b64decode(ciphertext.removeprefix(prefix), validate=True)
    except binascii.Error:
        return None
    return sealed if ciphertext.startswith(prefix) and len(sealed) == SEALED_BYTES else None


def _library() -> Any:
    try:
        import hvac
    except ModuleNotFoundError as error:
        raise missing_module(error) from None
    return hvac
