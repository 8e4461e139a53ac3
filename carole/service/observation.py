"""What Carole shows of herself: the recorder of her calls, her metrics, and the endpoint that serves them."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Info, ProcessCollector

from tryst.carole.service.metrics import CaroleMetrics
from tryst.carole.service.supervisor import Supervisor
from tryst.carole.store import Store
from tryst.common.keys.wrapping import WrappingKeys
from tryst.common.observability.certificates import certificate_ends
from tryst.common.observability.endpoint import Endpoint
from tryst.common.observability.readiness import Readiness
from tryst.common.observability.settings import Observability
from tryst.common.pki.folders import PartyFolder
from tryst.common.pki.members import Members
from tryst.common.rpc.call_metrics import CallMetrics
from tryst.common.rpc.call_recorder import CallRecorder, log_call
from tryst.common.versions import STORE, WIRE


class Observation:
    """The metrics of one Carole; served once it is started, where the configuration has an address.

    Parameters
    ----------
    folder
        Of her keys.
    """

    def __init__(
        self, settings: Observability, store: Store, supervisor: Supervisor, members: Members, folder: PartyFolder
    ) -> None:
        self._settings = settings
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        Info("tryst", "Versions of the wire and of the store.", registry=self._registry).info(
            {"wire": WIRE, "store": str(STORE)}
        )
        self._readiness = Readiness(
            {
                "database": store.monitoring.check_database,
                "blobs": store.monitoring.check_blobs,
                "keys": lambda: _check_keys(folder),
            }
        )
        self._registry.register(
            CaroleMetrics(
                store.monitoring,
                self._readiness,
                members,
                lambda: (supervisor.alive, supervisor.starts),
                certificate_ends(folder),
                label_projects=settings.label_projects,
            )
        )
        observers = [CallMetrics(self._registry), *([log_call] if settings.access_log else [])]
        self.recorder = CallRecorder(
            observers, callers_requests=settings.share_request_ids, label_members=settings.label_projects
        )
        self._endpoint: Endpoint | None = None

    @property
    def address(self) -> str:
        """Where the endpoint listens; empty if there is none."""
        return "" if self._endpoint is None else self._endpoint.address

    def start(self) -> None:
        """Begin to serve.

        Raises
        ------
        TrystError
            CONFIGURATION if the address cannot be listened on.
        """
        if self._settings.listen:
            self._endpoint = Endpoint(self._settings.listen, self._registry, self._readiness)

    def stop(self) -> None:
        """Stop serving."""
        if self._endpoint is not None:
            self._endpoint.close()
            self._endpoint = None


def _check_keys(folder: PartyFolder) -> None:
    """Refuse wrapping keys that could not be read at a restart."""
    WrappingKeys.load(folder.wrapping)
