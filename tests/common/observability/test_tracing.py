"""Spans: with OpenTelemetry's own exporter into memory, in a process whose provider is the test's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gemel.common.errors import ErrorCode
from gemel.common.observability.tracing import begin_tracing
from tests.carole.refusals import refusal

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import json
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)

from gemel.carole.service.worker import Stages
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.observability.tracing import begin_span, fail_span

for error in (GemelError(ErrorCode.SOURCE, "planted", got="planted"), KeyError("planted")):
    span = begin_span("step contribute", request="0" * 16)
    fail_span(span, error)
    span.end()
for project in ("", "births"):
    stages = Stages("1" * 32, project)
    for stage in ("read", "read", "compare", "read"):
        stages.enter(stage)
    seconds = stages.end()
    assert list(seconds) == ["read", "compare"] and min(seconds.values()) >= 0, seconds
    assert stages.end() == seconds
print(json.dumps([
    {"name": span.name, "status": span.status.description, "parent": span.parent, **span.attributes}
    for span in exporter.get_finished_spans()
]))
"""


def test_spans_hold_names_ids_and_codes_and_no_text() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "planted" not in done.stdout
    common = {"status": None, "parent": None, "gemel.run": "1" * 32}
    stages = [{"name": f"run {stage}", **common} for stage in ("read", "compare", "read")]
    step = {"name": "step contribute", "parent": None, "gemel.request": "0" * 16}
    assert json.loads(done.stdout) == [
        {**step, "status": "SOURCE"},
        {**step, "status": "KeyError"},
        *stages,
        *({**stage, "gemel.project": "births"} for stage in stages),
    ]


def test_without_an_endpoint_nothing_is_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)  # it would not be found
    begin_tracing("carole")


def test_an_endpoint_without_the_exporter_names_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with refusal(ErrorCode.CONFIGURATION, r"pip install '\.\[tracing\]'"):
        begin_tracing("carole")


def test_with_an_endpoint_spans_reach_a_collector() -> None:
    """A collector of the test's own: an HTTP server that takes one request."""
    program = """
import http.server, sys, threading
received = []
class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        received.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_): ...
server = http.server.HTTPServer(("127.0.0.1", 0), Collector)
threading.Thread(target=server.serve_forever, daemon=True).start()
import os
os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{server.server_port}"
os.environ["OTEL_EXPORTER_OTLP_COMPRESSION"] = "none"
from opentelemetry import trace
from gemel.common.observability.tracing import begin_span, begin_tracing
begin_tracing("worker")
begin_span("run compare", run="2" * 32).end()
trace.get_tracer_provider().shutdown()
(path, body), = received
assert path == "/v1/traces", path
assert b"run compare" in body and b"gemel-worker" in body, body
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
