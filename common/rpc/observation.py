"""What a service shows of itself, put together: its metrics, the record of its calls, and the endpoint."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Info, ProcessCollector

from gemel.common.observability.endpoint import Endpoint
from gemel.common.observability.readiness import Readiness
from gemel.common.observability.settings import Observability
from gemel.common.rpc.call_metrics import CallMetrics
from gemel.common.rpc.call_recorder import CallRecorder, Observer, log_call


class Observation:
    """The metrics and probes of one service; served once it is started, where the configuration has an address.

    Parameters
    ----------
    versions
        Shown as labels of `gemel_info`.
    callers_requests
        As `CallRecorder` takes it.

    Attributes
    ----------
    registry
        To which the service adds its own metrics.
    recorder
        For the service's server.
    readiness
        The checks.
    """

    def __init__(
        self, settings: Observability, readiness: Readiness, versions: Mapping[str, str], *, callers_requests: bool
    ) -> None:
        self._settings = settings
        self.readiness = readiness
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        Info("gemel", "Versions of what two installations must have alike.", registry=self.registry).info(
            dict(versions)
        )
        logs: list[Observer] = [log_call] if settings.access_log else []
        self.recorder = CallRecorder(
            CallMetrics(self.registry), *logs, callers_requests=callers_requests, label_members=settings.label_projects
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
        GemelError
            CONFIGURATION if the address cannot be listened on.
        """
        if self._settings.listen:
            self._endpoint = Endpoint(self._settings.listen, self.registry, self.readiness)

    def stop(self) -> None:
        """Stop serving."""
        if self._endpoint is not None:
            self._endpoint.close()
            self._endpoint = None
