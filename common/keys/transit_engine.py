"""Keys in a vault on the network: the transit engine of HashiCorp Vault, or of OpenBao, which speaks the same.

A key stays in the vault, which works with it for those whose token lets them.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.key_wrapper import KeyUse, VaultPlace, unusable
from gemel.common.keys.private_files import read_private
from gemel.common.missing_module import missing_module

TIMEOUT_SECONDS = 10


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def decoded(text: str) -> bytes:
    """What is written in base 64; nothing if it is something else."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""


class TransitEngine:
    """One key of an engine."""

    def __init__(self, place: VaultPlace, use: KeyUse) -> None:
        self._hvac = _library()
        self._place, self._use = place, use
        self.where = f"{place.address}, {place.mount}/keys/{place.key}"
        verify = True if place.authorities is None else str(place.authorities)
        self._client = self._hvac.Client(
            place.address,
            verify=verify,
            namespace=place.namespace,
            timeout=TIMEOUT_SECONDS,
            allow_redirects=False,  # the vault's token would go wherever an answer points to
        )

    def key(self, kind: str) -> Mapping[str, Any]:
        """What the vault states of the key, which must be of this type, not derived, and have no way out of the vault.

        Raises UNAVAILABLE if the vault does not answer; VAULT if it refuses the token, or the key is not there, of
        another type or exportable.
        """
        found: Mapping[str, Any] = self.request("read_key")
        open_ways = [way for way in ("exportable", "derived", "allow_plaintext_backup") if found.get(way)]
        if found.get("type") != kind or open_ways:
            what = f"the key of the {self._use.keys} is of type {kind}, not derived, and has no way out of the vault"
            got = ", ".join([str(found.get("type"))[:40], *open_ways])
            raise unusable(what, self.where, got, f"make one by `{self._use.command}`")
        return found

    def create(self, kind: str) -> None:
        self.request("create_key", key_type=kind)

    def request(self, method: str, *, refused: bool = False, **arguments: object) -> Any:
        """Call a method of ``hvac``'s transit for the key, with the token of now; the data of its answer, empty if it
        has none.

        Raises UNAVAILABLE if the vault does not answer; VAULT for what it refuses, but None where `refused` says that a
        refusal of the content is the caller's to read.
        """
        of = self._hvac.exceptions
        token = read_private(self._place.token_file, "the vault's token").decode("ascii", "replace").strip()
        self._client.token = token
        call = getattr(self._client.secrets.transit, method)
        try:
            answer = call(self._place.key, mount_point=self._place.mount, **arguments)
        except (of.Forbidden, of.Unauthorized):
            what, remedy = "the vault refuses its token", "renew the token, or widen its policy"
            raise unusable(what, self.where, "permission denied", remedy) from None
        except of.InvalidPath:
            remedy = f"make it by `{self._use.command}`"
            raise unusable("the vault has no such key", self.where, "none", remedy) from None
        except of.InvalidRequest as error:
            if refused:
                return None
            raise unusable("the vault refuses the request", self.where, type(error).__name__, "see its log") from None
        except (of.VaultError, OSError) as error:
            # What a client of HTTP raises when there is no answer is an OSError, too.
            what = f"the vault of the {self._use.keys} does not answer"
            got = type(error).__name__
            remedy = "check that it runs, is unsealed and is reachable from here"
            raise GemelError(ErrorCode.UNAVAILABLE, what, where=self.where, got=got, remedy=remedy) from None
        # To make a key answers nothing in some versions; what is no vault answers anything.
        data = answer.get("data") if isinstance(answer, dict) else None
        return data if isinstance(data, dict) else {}

    def misread(self, got: str) -> GemelError:
        return unusable("the vault answers in another form", self.where, got, "check its version")


def _library() -> Any:
    try:
        import hvac
    except ModuleNotFoundError as error:
        raise missing_module(error) from None
    return hvac
