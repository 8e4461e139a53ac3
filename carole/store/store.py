"""The whole store: opened, recovered after a crash, closed."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

from tryst.carole.store import audit
from tryst.carole.store.artifacts import Artifacts
from tryst.carole.store.blobs import Blobs
from tryst.carole.store.changes import Changes
from tryst.carole.store.database import Database
from tryst.carole.store.encrypted_payloads import Clock, EncryptedPayloads
from tryst.carole.store.monitoring import Monitoring
from tryst.carole.store.registry import Registry
from tryst.carole.store.results import Results
from tryst.carole.store.retention import Retention
from tryst.carole.store.runs import Runs
from tryst.carole.store.uploads import Uploads
from tryst.common.keys.identity import Identity
from tryst.common.keys.vault import Vault


def milliseconds() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Store:
    """All of Carole's stored data.

    Parameters
    ----------
    url
        Of the database: ``sqlite:///path`` or ``postgresql+psycopg://...``.
    folder
        For encrypted chunks.
    vault
        Wraps their keys.
    identity
        Signs the audit log's checkpoints.
    clock
        Milliseconds since 1970; tests give their own.

    Attributes
    ----------
    projects, uploads, runs, results, artifacts, retention, audit, monitoring
        The parts.

    Raises
    ------
    TrystError
        CONFIGURATION, DATABASE.
    """

    def __init__(self, url: str, folder: Path, vault: Vault, identity: Identity, clock: Clock = milliseconds) -> None:
        self._database = Database(url, partial(audit.seal, identity=identity, clock=clock))
        self._blobs = Blobs(folder)
        self._payloads = EncryptedPayloads(self._blobs, vault)
        changes = Changes(self._database, self._payloads, clock)
        self.uploads = Uploads(self._database, self._payloads, changes)
        self.results = Results(self._database, self._payloads, changes)
        self.artifacts = Artifacts(self._database, self._payloads, changes)
        self.runs = Runs(self._database, changes, self.results, self.artifacts, clock)
        self.projects = Registry(self._database, changes, clock)
        self.retention = Retention(self._database, changes, clock)
        self.audit = audit.Log(self._database)
        self.monitoring = Monitoring(self._database, url, folder, clock)

    def recover(self) -> int:
        """Lock the store for this process and remove files left by a crash; returns their number.

        Call once, before anything is served or any run taken. Runs of former workers are freed first: a worker that
        outlived its Carole can then no longer name the files that are removed here.

        Raises
        ------
        TrystError
            BUSY if another Carole uses the store.
        """
        self._blobs.claim()
        self.runs.abandon()
        with self._database.write() as connection:
            self._payloads.rewrap(connection)
        with self._database.read() as connection:
            return self._payloads.sweep(connection)

    def close(self) -> None:
        """Close the database and unlock the store."""
        self._database.close()
        self._blobs.release()
