"""Spans by OpenTelemetry's API: of calls, of a custodian's steps, of the stages of a run.

Without an SDK they cost next to nothing and go nowhere. With the extra ``tracing`` they are exported where
OpenTelemetry's own environment variables say; without ``OTEL_EXPORTER_OTLP_ENDPOINT`` (or its form for traces) nothing
is exported. A span holds names of methods, steps and stages, times, roles and statuses; never a record's value, and a
project's or member's name only where the configuration has ``label_projects``. No trace context crosses the wire:
what belongs together is joined by the request's and the run's id.
"""

from __future__ import annotations

import os
from typing import Literal

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.missing_module import installing

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_KINDS = {"server": SpanKind.SERVER, "client": SpanKind.CLIENT, "internal": SpanKind.INTERNAL}


def begin_tracing(process: str) -> None:
    """Export spans if an endpoint is configured; called once, when a service (alice, bob, carole, worker) starts.
    Raises CONFIGURATION if an endpoint is configured and the extra ``tracing`` is not installed."""
    if not any(os.environ.get(name) for name in _ENDPOINTS):
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError:
        what = "spans are to be exported, and the exporter is not installed"
        where = next(name for name in _ENDPOINTS if os.environ.get(name))
        remedy = f"unset the variable, or {installing('tracing')}"
        raise GemelError(ErrorCode.CONFIGURATION, what, where=where, remedy=remedy) from None
    provider = TracerProvider(resource=Resource.create({"service.name": f"gemel-{process}"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def begin_span(
    name: str, *, kind: Literal["server", "client", "internal"] = "internal", request: str = "", run: str = ""
) -> Span:
    """Begin a span; whoever began it ends it. It has no parent, since none may come from another thread. Spans are
    joined by the ids of request and run."""
    given = {"gemel.request": request, "gemel.run": run}
    attributes = {key: value for key, value in given.items() if value}
    return trace.get_tracer("gemel").start_span(name, kind=_KINDS[kind], attributes=attributes)


def fail_span(span: Span, error: BaseException) -> None:
    """Note an error by its code or type; its text, which may hold a value, stays out."""
    name = error.code.name if isinstance(error, GemelError) else type(error).__name__
    span.set_status(Status(StatusCode.ERROR, name))
