"""Metrics of a server's calls: how many, of which role, how they ended, how long they took. No member is named."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics

from gemel.common.errors import ErrorCode
from gemel.common.rpc.call_recorder import Call

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
    """Counts calls; every value begins at 0 with the process.

    Parameters
    ----------
    registry
        What the metrics become part of.
    """

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
        """Count a call."""
        role = UNKNOWN if call.member is None else str(call.member.role)
        self._seconds.labels(call.method, role, call.status).observe(call.seconds)
        self._received.labels(call.method).inc(call.received)
        self._sent.labels(call.method).inc(call.sent)
        if call.error in DENIALS:
            self._denied.labels(_STRANGER if call.member is None else DENIALS[call.error]).inc()
