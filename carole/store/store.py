"""The whole store: opened, recovered after a crash, closed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gemel.carole.store import audit
from gemel.carole.store.changes import Changes
from gemel.carole.store.clock_guard import ClockGuard
from gemel.carole.store.database import Database
from gemel.carole.store.monitoring import Monitoring
from gemel.carole.store.outbox import Outbox
from gemel.carole.store.payloads.blobs import Blobs
from gemel.carole.store.payloads.encrypted_payloads import EncryptedPayloads
from gemel.carole.store.provision import StorePlace, require_pair
from gemel.carole.store.registry import Registry
from gemel.carole.store.releases import Releases
from gemel.carole.store.restoring import Restorations
from gemel.carole.store.results import Artifacts, GrantedVariables, Results
from gemel.carole.store.retention import Retention, Sweeping, Swept, forget_writers
from gemel.carole.store.runs import Runs
from gemel.carole.store.tenure import Renewal, Standing
from gemel.carole.store.uploads import Uploads
from gemel.common.keys.vault import Vault


class Store:
    """All of Carole's stored data.

    `holder`: the name under which a worker writes: its Carole's. `apply`: applies an operation of
    `projects.operations` to a project and keeps its outcome. `sweep`: destroys keys and removes files that nothing
    reaches; also while others write. Raises CONFIGURATION, DATABASE.
    """

    def __init__(self, place: StorePlace, vault: Vault, *, holder: str = "") -> None:
        clock = place.clock
        self._database = Database(place.url, partial(audit.seal, identity=place.identity, clock=clock))
        self._database.holder = holder
        self._renewal: Renewal | None = None
        self._blobs = Blobs(place.blobs)
        self._payloads = EncryptedPayloads(self._blobs, vault)
        changes = Changes(self._database, self._payloads, clock)
        self.apply = changes.apply
        self.uploads = Uploads(changes)
        self.results = Results(changes)
        self.releases = Releases(self._database, self._payloads)
        self.artifacts = Artifacts(changes)
        self.variables = GrantedVariables(changes)
        self.runs = Runs(changes)
        self.projects = Registry(changes)
        self.clock_guard = ClockGuard(self._database, clock)
        self.retention = Retention(changes)
        self.sweep = Sweeping(changes).sweep
        self.audit = audit.Log(self._database)
        self.restorations = Restorations(changes)
        self.outbox = Outbox(self._database, clock)
        self.monitoring = Monitoring(self._database, place.url, self._blobs, clock)

    @property
    def holder(self) -> str:
        """The name under which this process may write (see `tenure`)."""
        return self._database.holder

    def recover(self, report: Callable[[Standing], None] = lambda standing: None) -> Swept:
        """Take hold of the store and sweep what a crash has left.

        Call once, before anything is served or any run taken. Nothing is changed before it is certain that database and
        blobs belong together and that no other Carole uses them. Runs of former workers are freed first: a worker that
        outlived its Carole can then no longer name the files that are removed here. Raises BUSY if another Carole uses
        the store; DATABASE if database and blobs are not of one store, or the database is older than the blobs.
        `report`: called from a thread when the database can no longer be reached, when it can again, and when another
        Carole has taken over.
        """
        self._blobs.claim()
        try:
            with self._database.read() as connection:
                require_pair(connection, self._blobs)
            self._database.hold(self._blobs.place)
        except BaseException:
            self._blobs.release()
            raise
        self.clock_guard.advance()
        self._renewal = Renewal(self._renew, report)
        self._renewal.start()
        self.runs.abandon()
        with self._database.write() as connection:
            self._payloads.rewrap(connection)
            forget_writers(connection)
        return self.sweep()

    def _renew(self) -> bool:
        held = self._database.renew()
        if held:
            self.clock_guard.advance()
        return held

    def close(self) -> None:
        """End the tenure, close the database and unlock the store."""
        if self._renewal is not None:
            self._renewal.stop()
        self._database.close(release=self._renewal is not None)
        self._blobs.release()
