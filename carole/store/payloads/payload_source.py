"""What a process other than Carole's reads payloads by: the blobs of her store, and wrapping keys.

It provides itself with them before references to payloads reach it (`provide`).
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from gemel.carole.store.payloads.blobs import Blobs
from gemel.carole.store.payloads.encrypted_payloads import EncryptedPayloads, subject_of
from gemel.carole.store.payloads.payload_reader import PayloadReader
from gemel.carole.store.payloads.payload_reference import PayloadReference
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.vault import DataKey, Vault

MAX_KEYS = 16
"""Data keys that a process keeps unwrapped between two units: those of eight runs' contributions."""


class PayloadSource:
    """What this process reads payloads by.

    Parameters
    ----------
    blobs
        The store's; nothing is written, and they are not claimed.
    vault
        Unwraps their keys.
    """

    def __init__(self, blobs: Blobs, vault: Vault) -> None:
        self._blobs = blobs
        self._vault = vault
        self._payloads = EncryptedPayloads(blobs, vault)
        self._guard = threading.Lock()
        self._keys: OrderedDict[bytes, DataKey] = OrderedDict()

    def reader(self, reference: PayloadReference) -> PayloadReader:
        """A reader of the referenced chunks.

        Raises
        ------
        GemelError
            VAULT if the wrapping key is not here; UNAVAILABLE if what has it does not answer.
        """
        return PayloadReader(
            self._payloads,
            self._key(reference),
            reference.payload,
            reference.chunks,
            reference.total_bytes,
            reference.where,
            first=reference.first,
        )

    def require(self, reference: PayloadReference) -> None:
        """Refuse a payload whose key does not unwrap here, or whose store's blobs are not these.

        Raises
        ------
        GemelError
            As `reader`; DATABASE for other blobs, or where they cannot be reached.
        """
        self._key(reference)
        self._blobs.require(reference.store)

    def forget(self) -> None:
        """Keep no data key any longer."""
        with self._guard:
            self._keys.clear()

    def _key(self, reference: PayloadReference) -> DataKey:
        with self._guard:
            key = self._keys.get(reference.wrapped_key)
            if key is None or key.subject != subject_of(reference.payload):
                key = self._vault.unwrap(subject_of(reference.payload), reference.wrapped_key)
                self._keys[reference.wrapped_key] = key
            self._keys.move_to_end(reference.wrapped_key)
            while len(self._keys) > MAX_KEYS:
                self._keys.popitem(last=False)
            return key


_provided: list[PayloadSource] = []


def provide(source: PayloadSource) -> None:
    """Let references that reach this process be read by `source`; once, before the first of them."""
    _provided[:] = [source]


def provided() -> PayloadSource:
    """What this process reads references by.

    Raises
    ------
    GemelError
        CONFIGURATION if it has nothing to read them by.
    """
    if not _provided:
        raise GemelError(
            ErrorCode.CONFIGURATION,
            "this process has no wrapping key and no blobs: it was not started as a worker of Carole's",
            where="worker",
            remedy="start workers by `gemel carole worker`, and nothing else at this scheduler",
        )
    return _provided[0]
