"""A service's trust: files that are read again, and certificates of an organisation's own PKI."""

from __future__ import annotations

import shutil
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509
from structlog.testing import capture_logs

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import PARTIES, Role
from gemel.common.pki import Authority, Members, PartyFolder, assemble, certify, checked, enrol
from gemel.common.pki.certificates import Validity, server_name
from gemel.common.pki.certified_names import CertifiedNames
from gemel.common.pki.enrolment_requests import load_enrolment_request
from gemel.common.rpc.client import Connection
from gemel.common.rpc.tls import TlsFiles, channel_credentials
from gemel.common.rpc.trust import Trust, TrustWatch
from gemel.coordinator.client.terminal import show_ending
from gemel.coordinator.provisioning import Provisioned, provision
from gemel.protos.linkage.v1 import coordination_pb2, coordination_pb2_grpc, project_pb2
from gemel.serving.server import RunningServer, caller, start_server
from tests.carole.refusals import refusal
from tests.common.pki.own_pki import OwnPki

LINKER = server_name(Role.LINKER)


class Coordination(coordination_pb2_grpc.CoordinationServicer):
    """Answers with the caller's name; a stream goes on while the test lets it."""

    def __init__(self) -> None:
        self.go_on = threading.Semaphore(0)

    def GetProject(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        return coordination_pb2.GetProjectResponse(specification=caller(context).name)

    def WatchRun(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:  # noqa: N802
        while True:
            self.go_on.acquire()
            yield project_pb2.RunStatus(run="on")


@pytest.fixture
def parties(tmp_path: Path) -> Provisioned:
    return provision(tmp_path / "parties", validity=Validity.lasting(timedelta(days=90)))


class Served:
    """A server of Carole's folder, with its trust watched."""

    def __init__(self, parties: Provisioned) -> None:
        self.folder = parties.parties["carole"]
        self.trust = Trust(self.folder.path, Role.LINKER)
        self.reloaded = threading.Semaphore(0)
        self.watch = TrustWatch(self.trust, self.reloaded.release)
        self.service = Coordination()
        self.server: RunningServer = start_server(
            "127.0.0.1:0", [(coordination_pb2_grpc.add_CoordinationServicer_to_server, self.service)], self.trust
        )
        self.watch.start()

    def certificate(self) -> x509.Certificate:
        """The certificate that a new handshake shows."""
        pem = ssl.get_server_certificate(("127.0.0.1", self.server.port))
        return x509.load_pem_x509_certificate(pem.encode())


@pytest.fixture
def served(parties: Provisioned, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setattr("gemel.common.rpc.trust.LOOK_SECONDS", 0.05)
    running = Served(parties)
    yield running
    running.watch.stop()
    running.server.stop(0.1)


def connected(served: Served, parties: Provisioned, name: str) -> Connection:
    credentials = channel_credentials(parties.parties[name].path, Role.COORDINATOR)
    return Connection(f"127.0.0.1:{served.server.port}", LINKER, credentials)


def asked(connection: Connection) -> str:
    stub = connection.stub(coordination_pb2_grpc.CoordinationStub)
    answer = connection.call(stub.GetProject, coordination_pb2.GetProjectRequest(project="p"), attempts=5)
    return str(answer.specification)


def without(members: Members, name: str, instead: Members | None = None) -> str:
    """The list with another coordinator instead of a member."""
    found = [member for member in members if member.name != name]
    return Members([*found, *(() if instead is None else [instead.named(name)])]).dump()


def eventually(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.02)


def test_a_removed_member_is_refused_on_a_connection_that_is_open(
    served: Served, parties: Provisioned, tmp_path: Path
) -> None:
    others = provision(tmp_path / "others", validity=Validity.lasting(timedelta(days=90)))
    with connected(served, parties, "coordinator") as connection:
        assert asked(connection) == "coordinator"
        stub = connection.stub(coordination_pb2_grpc.CoordinationStub)
        stream = connection.watch(stub.WatchRun, coordination_pb2.WatchRunRequest(), deadline=60)
        served.service.go_on.release()
        assert next(stream).run == "on"
        # Another coordinator takes its place: there must be one. Its authority comes first, then the list.
        authorities = served.folder.callers.read_bytes() + others.parties["carole"].callers.read_bytes()
        served.folder.callers.write_bytes(authorities)
        served.folder.members.write_text(without(served.trust.members, "coordinator", others.members))
        served.reloaded.acquire(timeout=30)
        eventually(lambda: served.trust.members.named("coordinator").certificate != _certificate(parties))
        with refusal(ErrorCode.NOT_ADMITTED):
            asked(connection)
        served.service.go_on.release()
        with refusal(ErrorCode.NOT_ADMITTED):
            next(stream)
    with connected(served, others, "coordinator") as connection:
        assert asked_with_roots_of(served, others, parties) == "coordinator"


def _certificate(parties: Provisioned) -> str:
    return parties.members.named("coordinator").certificate


def asked_with_roots_of(served: Served, others: Provisioned, parties: Provisioned) -> str:
    """Ask as the others' coordinator, who knows this Carole's authority."""
    folder = others.parties["coordinator"]
    shutil.copy(parties.parties["coordinator"].linker, folder.linker)
    with connected(served, others, "coordinator") as connection:
        return asked(connection)


def test_a_renewed_certificate_is_shown_at_the_next_handshake(
    served: Served, parties: Provisioned, tmp_path: Path
) -> None:
    before = served.certificate()
    with connected(served, parties, "coordinator") as connection:
        assert asked(connection) == "coordinator"
        others = provision(tmp_path / "others", validity=Validity.lasting(timedelta(days=90))).parties["carole"]
        served.folder.tls_key.write_bytes(others.tls_key.read_bytes())
        served.folder.certificate.write_bytes(others.certificate.read_bytes())
        eventually(lambda: served.certificate() != before)
        assert served.certificate() == x509.load_pem_x509_certificate(others.certificate.read_bytes())
        # Who is connected stays connected.
        assert asked(connection) == "coordinator"


def test_what_cannot_be_used_changes_nothing(served: Served, parties: Provisioned) -> None:
    good = served.folder.members.read_text()
    before = served.certificate()
    with connected(served, parties, "coordinator") as connection:
        served.folder.members.write_text("version: 1\nmembers: []\n")
        served.folder.certificate.write_text("no certificate")
        with pytest.raises(GemelError):
            Trust(served.folder.path, Role.LINKER)
        assert served.certificate() == before
        assert asked(connection) == "coordinator"
        served.folder.members.write_text(good)
        served.folder.certificate.write_bytes(served.trust.tls.certificate)
        assert served.reloaded.acquire(timeout=30)
        assert asked(connection) == "coordinator"


def test_a_caller_renews_its_certificate_while_it_is_connected(
    served: Served, parties: Provisioned, tmp_path: Path
) -> None:
    """The list is changed first; the caller's next call is made with the new certificate."""
    others = provision(tmp_path / "others", validity=Validity.lasting(timedelta(days=90)))
    shutil.copy(parties.parties["coordinator"].linker, others.parties["coordinator"].linker)
    with connected(served, parties, "coordinator") as connection:
        stub = connection.stub(coordination_pb2_grpc.CoordinationStub)
        request = coordination_pb2.GetProjectRequest(project="p")
        assert connection.call(stub.GetProject, request).specification == "coordinator"
        served.folder.callers.write_bytes(
            served.folder.callers.read_bytes() + others.parties["carole"].callers.read_bytes()
        )
        served.folder.members.write_text(without(served.trust.members, "coordinator", others.members))
        eventually(lambda: served.trust.members.named("coordinator").certificate == _certificate(others))
        with pytest.raises(GemelError):
            connection.call(stub.GetProject, request)
        connection.renew(channel_credentials(others.parties["coordinator"].path, Role.COORDINATOR), LINKER)
        assert connection.call(stub.GetProject, request, attempts=5).specification == "coordinator"


def test_a_certificate_that_ends_soon_is_named(parties: Provisioned, tmp_path: Path) -> None:
    folder = parties.parties["carole"].path
    trust = Trust(folder, Role.LINKER)
    assert trust.ending() is None
    ends = x509.load_pem_x509_certificate(trust.tls.certificate).not_valid_after_utc
    for days, words in ((29, "in 29 days"), (3, "in 3 days"), (1, "in 1 day,"), (0, "today"), (-1, "ended on")):
        soon = trust.ending(ends - timedelta(days=days, hours=1))
        assert soon is not None
        assert words in str(soon)
        assert soon.is_urgent == (days < 7)
    assert trust.ending(ends - timedelta(days=30, hours=1)) is None


def test_a_running_service_and_a_command_name_a_certificate_that_ends_soon(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = datetime.now(UTC) - timedelta(days=80)
    made = provision(tmp_path / "parties", validity=Validity.lasting(timedelta(days=90, hours=1), start=begun))
    carole, coordinator = made.parties["carole"], made.parties["coordinator"]
    watch = TrustWatch(Trust(carole.path, Role.LINKER))
    with capture_logs() as logged:
        watch.start()
        eventually(lambda: any(entry["event"] == "certificate ends soon" for entry in logged))
        watch.stop()
    (found,) = (entry for entry in logged if entry["event"] == "certificate ends soon")
    assert found["days"] == 10
    show_ending(coordinator)
    printed = capsys.readouterr()
    assert "the certificate ends in 10 days" in " ".join(printed.err.split())
    assert printed.out == ""


CAROLE = "carole.unit.example"
COORDINATOR = "spiffe://office.example/gemel/coordinator"


class World:
    """Carole and the coordinator with a PKI each, the others certified by the coordinator."""

    def __init__(self, root: Path) -> None:
        self.unit, self.office = OwnPki("unit"), OwnPki("office")
        self.pinning = Authority.create("coordinator")
        known = {
            "carole": CertifiedNames((self.unit.fingerprint,), CAROLE),
            "coordinator": CertifiedNames((self.office.fingerprint,), spiffe=COORDINATOR),
        }
        for name, role in PARTIES.items():
            enrol(root / name, name, role, pki=known.get(name))
        self.folders = {name: PartyFolder(root / name) for name in PARTIES}
        requests = [load_enrolment_request(folder.enrolment_request) for folder in self.folders.values()]
        certificates = {each.name: certify(self.pinning, each) for each in requests if each.name not in known}
        authorities = self.pinning.pem + self.unit.root_pem + self.office.root_pem
        members = assemble(requests, certificates, authorities).dump()
        for name in PARTIES:
            checked(self.folders[name].path, name, certificates.get(name), members, authorities).put()
        self.renew()
        self.trust = Trust(self.folders["carole"].path, Role.LINKER)
        self.watch = TrustWatch(self.trust)
        register = coordination_pb2_grpc.add_CoordinationServicer_to_server
        self.server: RunningServer = start_server("127.0.0.1:0", [(register, Coordination())], self.trust)
        self.watch.start()

    def renew(self) -> int:
        """New keys and certificates for both; the number of Carole's."""
        self.office.renew(self.folders["coordinator"].path, uris=[COORDINATOR])
        return self.unit.renew(self.folders["carole"].path, dns=[CAROLE, "localhost"])

    def connected(self, name: str = "coordinator", role: Role = Role.COORDINATOR) -> Connection:
        folder = self.folders[name]
        linker = Members.load(folder.members).in_role(Role.LINKER)
        return Connection(self.address, linker.server_name, channel_credentials(folder.path, role))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server.port}"

    def shown(self) -> int:
        """The number of the certificate that a new handshake shows."""
        pem = ssl.get_server_certificate(("127.0.0.1", self.server.port))
        return x509.load_pem_x509_certificate(pem.encode()).serial_number


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr("gemel.common.rpc.trust.LOOK_SECONDS", 0.05)
    made = World(tmp_path / "parties")
    yield made
    made.watch.stop()
    made.server.stop(0.1)


def refused(world: World, name: str) -> ErrorCode:
    role = PARTIES[name]
    with world.connected(name, role) as connection, pytest.raises(GemelError) as caught:
        asked(connection)
    return caught.value.code


def test_both_are_known_by_their_names_and_renewed_while_connected(world: World) -> None:
    assert world.trust.members.named("carole").server_name == CAROLE
    with world.connected() as connection:
        assert asked(connection) == "coordinator"
        for _ in range(2):
            number = world.renew()
            eventually(lambda number=number: world.shown() == number)
            assert asked(connection) == "coordinator"  # on the connection that is open
            channel = TlsFiles.load(world.folders["coordinator"].path, Role.COORDINATOR).channel()
            connection.renew(channel, CAROLE)
            assert asked(connection) == "coordinator"
        # A list with another name of Carole's reaches those who are connected.
        connection.renew(channel, "other.example")
        with refusal(ErrorCode.UNAVAILABLE):
            asked(connection)
        connection.renew(channel, "localhost")
        assert asked(connection) == "coordinator"


def test_the_others_are_known_by_their_keys(world: World) -> None:
    # The handshake succeeds: Carole knows the name, and the role may not call this method.
    assert refused(world, "steward") is ErrorCode.NOT_ADMITTED


def test_another_members_pki_makes_no_coordinator(world: World) -> None:
    """Carole trusts the unit's authority in the handshake, for herself; it certifies the coordinator's name."""
    world.unit.renew(world.folders["coordinator"].path, uris=[COORDINATOR])
    certificate = world.folders["coordinator"]
    with pytest.raises(GemelError, match="not as the membership list has it"):
        TlsFiles.load(certificate.path, Role.COORDINATOR)
    # An impostor's program does not look at its own certificate.
    credentials = grpc.ssl_channel_credentials(
        certificate.linker.read_bytes(), certificate.tls_key.read_bytes(), certificate.certificate.read_bytes()
    )
    with Connection(world.address, CAROLE, credentials) as connection, refusal(ErrorCode.NOT_ADMITTED):
        asked(connection)


def test_another_members_pki_makes_no_carole(world: World) -> None:
    """The office's authority certifies Carole's DNS name: no caller trusts it for her."""
    carole = world.folders["carole"]
    world.office.renew(carole.path, dns=[CAROLE])
    with pytest.raises(GemelError, match="no chain leads"):
        TlsFiles.load(carole.path, Role.LINKER)
    impostor = grpc.ssl_server_certificate_configuration(
        [(carole.tls_key.read_bytes(), carole.certificate.read_bytes())], root_certificates=carole.callers.read_bytes()
    )
    world.trust._read = replace(world.trust._read, served=impostor)
    with world.connected() as connection, refusal(ErrorCode.UNAVAILABLE):
        asked(connection)


def test_a_certificate_that_its_pki_renews_wrongly_changes_nothing(world: World) -> None:
    before = world.shown()
    world.unit.renew(world.folders["carole"].path, dns=["other.unit.example"])
    with pytest.raises(GemelError, match="not as the membership list has it"):
        world.trust._load()
    assert world.shown() == before
    with world.connected() as connection:
        assert asked(connection) == "coordinator"
