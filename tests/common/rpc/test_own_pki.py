"""Connections with certificates of organisations' own PKIs: real handshakes, renewals while connected, impostors."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from cryptography import x509

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role
from gemel.common.pki import PARTIES, Authority, Members, PartyFolder, accept, assemble, certify, enrol
from gemel.common.pki.certified_names import CertifiedNames
from gemel.common.pki.enrolment_requests import load_enrolment_request
from gemel.common.rpc.client import Connection
from gemel.common.rpc.server import RunningServer, start_server
from gemel.common.rpc.tls import TlsFiles, channel_credentials
from gemel.common.rpc.trust import Trust, TrustWatch
from gemel.protos.linkage.v1 import coordination_pb2_grpc
from tests.carole.refusals import refusal
from tests.common.pki.own_pki import OwnPki
from tests.common.rpc.test_trust import Coordination, asked, eventually

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
            accept(self.folders[name].path, name, certificates.get(name), members, authorities)
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
    with Connection(world.address, CAROLE, credentials) as connection, pytest.raises(GemelError) as caught:
        asked(connection)
    assert caught.value.code is ErrorCode.NOT_ADMITTED


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
    with world.connected() as connection, pytest.raises(GemelError) as caught:
        asked(connection)
    assert caught.value.code is ErrorCode.UNAVAILABLE


def test_a_certificate_that_its_pki_renews_wrongly_changes_nothing(world: World) -> None:
    before = world.shown()
    world.unit.renew(world.folders["carole"].path, dns=["other.unit.example"])
    with pytest.raises(GemelError, match="not as the membership list has it"):
        world.trust._load()
    assert world.shown() == before
    with world.connected() as connection:
        assert asked(connection) == "coordinator"
