"""What a service shows of itself, put together: its metrics, the record of its calls, and the endpoint."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram, Info, ProcessCollector, disable_created_metrics

from gemel.common.errors import ErrorCode
from gemel.common.observability.settings import Observability
from gemel.serving.call_recorder import Call, CallRecorder, Observer, log_call
from gemel.serving.endpoint import Endpoint
from gemel.serving.readiness import Readiness

# Metrics of a server's calls: how many, of which role, how they ended, how long they took. No member is named.

SECONDS = (0.005, 0.02, 0.1, 0.5, 2.0, 6.0, 30.0)
"""Bounds of the histogram: a custodian's poll may wait 5 s, a stream a minute."""

UNKNOWN = "unknown"
"""The role of a caller that is no member."""

DENIALS = {
    ErrorCode.NOT_ADMITTED: "not admitted",
    ErrorCode.SIGNATURE: "signature",
    ErrorCode.DEADLINE_MISSING: "no deadline",
    ErrorCode.MALFORMED: "malformed",
    ErrorCode.TOO_MANY_CALLS: "too many calls",
}
"""Errors that are denials, and the reason as a label."""
_STRANGER = "unknown caller"


class CallMetrics:
    """Counts calls; every value begins at 0 with the process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # when each method was first called: a third more lines for nothing
        self._seconds = Histogram(
            "gemel_rpc_seconds",
            "Calls by method, role of the caller and gRPC status, and how long they took.",
            ["method", "role", "status"],
            buckets=SECONDS,
            registry=registry,
        )
        self._received = Counter("gemel_rpc_received_bytes", "Bytes of requests.", ["method"], registry=registry)
        self._sent = Counter("gemel_rpc_sent_bytes", "Bytes of responses.", ["method"], registry=registry)
        self._denied = Counter("gemel_rpc_denied", "Calls that were denied.", ["reason"], registry=registry)
        for reason in (*DENIALS.values(), _STRANGER):
            self._denied.labels(reason)

    def __call__(self, call: Call) -> None:
        role = UNKNOWN if call.member is None else str(call.member.role)
        self._seconds.labels(call.method, role, call.status).observe(call.seconds)
        self._received.labels(call.method).inc(call.received)
        self._sent.labels(call.method).inc(call.sent)
        if call.error in DENIALS:
            self._denied.labels(_STRANGER if call.member is None else DENIALS[call.error]).inc()


class Observation:
    """The metrics and probes of one service; served once it is started, where the configuration has an address. The
    service adds its own metrics to `registry`; `recorder` is for its server. `versions` are labels of `gemel_info`."""

    def __init__(
        self, settings: Observability, readiness: Readiness, versions: Mapping[str, str], *, callers_requests: bool
    ) -> None:
        self._settings = settings
        self.readiness = readiness
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        shown = Info("gemel", "Versions of what two installations must have alike.", registry=self.registry)
        shown.info(dict(versions))
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
        """Begin to serve. Raises CONFIGURATION if the address cannot be listened on."""
        if self._settings.listen:
            self._endpoint = Endpoint(self._settings.listen, self.registry, self.readiness)

    def stop(self) -> None:
        if self._endpoint is not None:
            self._endpoint.close()
            self._endpoint = None
