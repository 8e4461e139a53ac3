"""The endpoint of metrics and probes, and its settings."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest
import yaml
from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.parser import text_string_to_metric_families
from pydantic import ValidationError

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.observability.settings import Observability, host_and_port, local, section
from gemel.serving import endpoint as module
from gemel.serving.endpoint import MAX_CONNECTIONS, Endpoint
from gemel.serving.readiness import Readiness, State
from tests.carole.refusals import refusal


class Checks:
    """Checks that a test fails, and hangs."""

    def __init__(self) -> None:
        self.broken = False
        self.may_end = threading.Event()
        self.may_end.set()

    def disk(self) -> None:
        self.may_end.wait(60)

    def database(self) -> None:
        if self.broken:
            raise GemelError(ErrorCode.DATABASE, "the database failed", where="/srv/secret/path")


@pytest.fixture
def checks() -> Checks:
    return Checks()


@pytest.fixture
def endpoint(checks: Checks, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setattr("gemel.serving.readiness.REMEMBERED_SECONDS", 0.0)
    monkeypatch.setattr("gemel.serving.readiness.PATIENCE_SECONDS", 0.3)
    registry = CollectorRegistry()
    Gauge("known", "A value.", registry=registry).set(7)
    served = Endpoint("127.0.0.1:0", registry, Readiness({"database": checks.database, "disk": checks.disk}))
    yield served
    checks.may_end.set()
    served.close()


def get(endpoint: Endpoint, path: str, method: str = "GET") -> tuple[int, bytes]:
    connection = HTTPConnection(*host_and_port(endpoint.address), timeout=30)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_metrics_are_what_prometheus_reads(endpoint: Endpoint) -> None:
    status, text = get(endpoint, "/metrics")
    assert status == 200
    (family,) = text_string_to_metric_families(text.decode())
    assert [(sample.name, sample.value) for sample in family.samples] == [("known", 7.0)]


def test_the_probes(endpoint: Endpoint, checks: Checks) -> None:
    assert get(endpoint, "/livez") == (200, b'{"live": true}')
    assert get(endpoint, "/readyz") == (200, b'{"ready": true, "checks": {"database": "ok", "disk": "ok"}}')
    checks.broken = True
    status, text = get(endpoint, "/readyz")
    # Neither a path nor a reason: whoever may probe need not know where things are.
    assert (status, text) == (503, b'{"ready": false, "checks": {"database": "failed", "disk": "ok"}}')
    assert get(endpoint, "/livez")[0] == 200
    checks.broken = False
    assert get(endpoint, "/readyz")[0] == 200


def test_a_check_that_hangs_hangs_no_probe_and_is_not_started_again(endpoint: Endpoint, checks: Checks) -> None:
    checks.may_end.clear()
    before = threading.active_count()
    for _ in range(4):
        status, text = get(endpoint, "/readyz")
        assert status == 503
        assert json.loads(text)["checks"] == {"database": "ok", "disk": State.NO_ANSWER}
    assert sum(thread.name == "recent" for thread in threading.enumerate()) == 1
    assert threading.active_count() <= before + 3
    assert get(endpoint, "/livez")[0] == 200
    checks.may_end.set()
    while get(endpoint, "/readyz")[0] != 200:
        pass


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "CONNECT", "nonsense"])
def test_nothing_but_get(endpoint: Endpoint, method: str) -> None:
    assert get(endpoint, "/metrics", method)[0] == 501


@pytest.mark.parametrize("path", ["/", "/metricss", "/readyz/", "/livez?x", "/../etc/passwd", "//metrics/..", "/debug"])
def test_nothing_but_three_pages(endpoint: Endpoint, path: str) -> None:
    assert get(endpoint, path)[0] == 404


def test_silent_and_many_connections_are_closed_and_the_next_is_served(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CONNECTION_SECONDS", 1.0)
    address = host_and_port(endpoint.address)
    silent = [socket.create_connection(address, timeout=30) for _ in range(MAX_CONNECTIONS)]
    for connection in silent:
        connection.sendall(b"GET /metrics HTTP/1.0\r\nX: ")  # and no end
    further = socket.create_connection(address, timeout=30)
    with further, contextlib.suppress(ConnectionResetError):
        # One above the number: closed at once, without a byte.
        assert further.recv(1) == b""
    for connection in silent:
        # Slowly sent bytes do not prolong it.
        assert connection.recv(1) == b""
        connection.close()
    assert get(endpoint, "/livez")[0] == 200


def test_an_address_in_use_is_reported(endpoint: Endpoint) -> None:
    with refusal(ErrorCode.CONFIGURATION, r"observability\.listen: cannot listen on this address") as caught:
        Endpoint(endpoint.address, CollectorRegistry(), Readiness({}))
    assert endpoint.address in str(caught.value)


def test_a_page_is_computed_once_for_many_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    from gemel.serving.readiness import Recent

    computed = []

    def compute() -> int:
        computed.append(1)
        return len(computed)

    recent = Recent(compute, 3600.0)
    results: list[int | None] = []
    readers = [threading.Thread(target=lambda: results.append(recent())) for _ in range(20)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert results == [1] * 20


@pytest.mark.parametrize("listen", ["", "127.0.0.1:9464", "127.8.8.8:0", "[::1]:9464"])
def test_none_or_this_machine_alone(listen: str) -> None:
    assert Observability(listen=listen).listen == listen


@pytest.mark.parametrize("listen", ["0.0.0.0:9464", "10.0.0.3:9464", "192.0.2.1:9464", "[::]:9464", "[2001:db8::1]:1"])
def test_another_address_is_refused_unless_it_is_allowed(listen: str) -> None:
    with pytest.raises(ValidationError, match="must be a loopback address"):
        Observability(listen=listen)
    assert Observability(listen=listen, allow_remote=True).listen == listen


@pytest.mark.parametrize("listen", ["localhost:9464", "9464", "127.0.0.1", "127.0.0.1:99999", "127.0.0.256:1", "::1:5"])
def test_only_an_address_and_a_port_are_taken(listen: str) -> None:
    """No name: a file on the machine decides what it means."""
    with pytest.raises(ValidationError, match="expected IP:port"):
        Observability(listen=listen, allow_remote=True)


@pytest.mark.parametrize(("listen", "remote"), [("", False), ("127.0.0.1:9464", False), ("0.0.0.0:1", True)])
def test_the_template_is_the_section(listen: str, remote: bool) -> None:
    (found,) = yaml.safe_load(section(listen, allow_remote=remote)).values()
    expected = Observability(listen=listen, allow_remote=remote)
    assert Observability(**found) == expected
    # What is new by default shows nothing to others and names no one.
    assert not expected.label_projects
    assert not expected.share_request_ids


def test_one_port_per_party() -> None:
    ports = {host_and_port(local(party)) for party in ("carole", "alice", "bob")}
    assert {host for host, _ in ports} == {"127.0.0.1"}
    assert len(ports) == 3
