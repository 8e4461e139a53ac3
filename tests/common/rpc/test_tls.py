"""TLS from a party's folder: every error is reported before anything connects; real gRPC servers for the rest."""

from __future__ import annotations

import shutil
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import PARTIES, Role
from gemel.common.pki.authority import Authority
from gemel.common.pki.certificates import Validity, certificate_pem, key_pem, load_key, new_key, server_name
from gemel.common.pki.folders import PartyFolder
from gemel.common.rpc.client import Connection
from gemel.common.rpc.tls import TlsFiles, channel_credentials
from gemel.common.rpc.trust import Trust
from gemel.coordinator.provisioning import Provisioned, provision
from gemel.serving.server import RunningServer, start_server
from tests.carole.refusals import refused
from tests.common.rpc.serving import LINKER

CALL = health_pb2.HealthCheckRequest()


@pytest.fixture
def alice(parties: Provisioned, tmp_path: Path) -> PartyFolder:
    """A copy of Alice's folder, to be spoilt."""
    shutil.copytree(parties.parties["alice"].path, tmp_path / "alice")
    return PartyFolder(tmp_path / "alice")


@contextmanager
def serve(folder: PartyFolder, role: Role, only: tuple[str, ...] | None = None) -> Iterator[RunningServer]:
    server = start_server("127.0.0.1:0", [], Trust(folder.path, role, only=only))
    yield server
    server.stop(0)


@pytest.fixture(scope="module")
def carole(parties: Provisioned) -> Iterator[RunningServer]:
    with serve(parties.parties["carole"], Role.LINKER) as server:
        yield server


def check(server: RunningServer, credentials: grpc.ChannelCredentials, name: str = LINKER) -> bool:
    """Whether the service answers; raises what the connection raises."""
    with Connection(f"127.0.0.1:{server.port}", name, credentials) as connection:
        stub = connection.stub(health_pb2_grpc.HealthStub)
        answer = connection.call(stub.Check, CALL, deadline=5)
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


def unloadable(folder: PartyFolder, code: ErrorCode = ErrorCode.CERTIFICATE, at: datetime | None = None) -> GemelError:
    """The error by which Alice's files are refused."""
    return refused(code, TlsFiles.load, folder.path, Role.CUSTODIAN_A, at)


@pytest.mark.parametrize(("name", "role"), PARTIES.items())
def test_every_party_reaches_the_linker(parties: Provisioned, carole: RunningServer, name: str, role: Role) -> None:
    assert check(carole, channel_credentials(parties.parties[name].path, role))


def test_the_linker_is_reached_by_its_host_name_too(parties: Provisioned, carole: RunningServer) -> None:
    assert check(carole, channel_credentials(parties.parties["alice"].path, Role.CUSTODIAN_A), "localhost")


def test_only_a_custodian_itself_reaches_its_own_service(parties: Provisioned) -> None:
    own, name = parties.parties["alice"], server_name(Role.CUSTODIAN_A)
    with serve(own, Role.CUSTODIAN_A, only=("alice",)) as server:
        assert check(server, channel_credentials(own.path, Role.CUSTODIAN_A, Role.CUSTODIAN_A), name)
        bob = TlsFiles.load(parties.parties["bob"].path, Role.CUSTODIAN_B)
        # Both are under one authority here, so TLS lets Bob through, and admission does not.
        refused(ErrorCode.NOT_ADMITTED, check, server, bob.channel(), name)


def test_bob_does_not_pass_for_the_linker(parties: Provisioned) -> None:
    with serve(parties.parties["bob"], Role.CUSTODIAN_B) as server:
        credentials = channel_credentials(parties.parties["alice"].path, Role.CUSTODIAN_A)
        refused(ErrorCode.UNAVAILABLE, check, server, credentials)
        refused(ErrorCode.UNAVAILABLE, check, server, credentials, "localhost")
        # Bob's service as such is well: it answers Alice by its own name.
        assert check(server, credentials, server_name(Role.CUSTODIAN_B))


def test_a_linker_of_another_authority_is_not_believed(tmp_path: Path, parties: Provisioned) -> None:
    others = provision(tmp_path)
    with serve(others.parties["carole"], Role.LINKER) as server:
        credentials = channel_credentials(parties.parties["alice"].path, Role.CUSTODIAN_A)
        refused(ErrorCode.UNAVAILABLE, check, server, credentials)


def test_callers_without_certificate_or_of_another_authority_are_refused(
    tmp_path: Path, parties: Provisioned, carole: RunningServer
) -> None:
    authority = parties.parties["alice"].linker.read_bytes()
    anonymous = grpc.ssl_channel_credentials(root_certificates=authority)
    refused(ErrorCode.UNAVAILABLE, check, carole, anonymous)
    others = provision(tmp_path).parties["alice"]
    stranger = grpc.ssl_channel_credentials(authority, others.tls_key.read_bytes(), others.certificate.read_bytes())
    refused(ErrorCode.UNAVAILABLE, check, carole, stranger)


@pytest.mark.parametrize("kind", ["expired", "another role", "unlisted key", "minted by bob"])
def test_a_certificate_of_the_right_authority_is_not_enough(
    parties: Provisioned, carole: RunningServer, kind: str
) -> None:
    """What the same authority issues besides: TLS or admission refuses it, and the caller does not learn why."""
    authority = Authority.load(parties.authority)
    key = load_key(parties.parties["alice"].tls_key)
    role, validity = Role.CUSTODIAN_A, None
    match kind:
        case "expired":
            validity = Validity.lasting(timedelta(hours=1), start=datetime.now(UTC) - timedelta(days=1))
        case "another role":
            role = Role.COORDINATOR
        case "unlisted key":
            key = new_key()
        case "minted by bob":
            authority = Authority.create("Bob")
    certificate = authority.issue(key.public_key(), "alice", role, validity=validity)
    caller = grpc.ssl_channel_credentials(
        parties.parties["alice"].linker.read_bytes(), key_pem(key), certificate_pem(certificate)
    )
    in_tls = kind in ("expired", "minted by bob")
    error = refused(ErrorCode.UNAVAILABLE if in_tls else ErrorCode.NOT_ADMITTED, check, carole, caller)
    if not in_tls:
        assert error.what == "this certificate may not call this method"
        assert not error.got


@pytest.mark.parametrize("file", ["certificate.pem", "tls.key", "callers.pem", "linker.pem"])
def test_a_missing_file_is_named(alice: PartyFolder, file: str) -> None:
    (alice.path / file).unlink()
    error = unloadable(alice, ErrorCode.CONFIGURATION)
    assert error.where == str(alice.path / file)
    assert "No such file" in error.got


@pytest.mark.parametrize("file", ["certificate.pem", "tls.key", "callers.pem", "linker.pem"])
def test_a_malformed_file_is_named(alice: PartyFolder, file: str) -> None:
    content = (alice.path / file).read_bytes()
    (alice.path / file).write_bytes(content[: len(content) // 2])
    error = unloadable(alice)
    assert error.where == str(alice.path / file)
    assert error.remedy


def test_a_key_open_to_others_is_refused(alice: PartyFolder) -> None:
    alice.tls_key.chmod(0o640)
    assert "mode 0640" in unloadable(alice, ErrorCode.CONFIGURATION).got


def test_an_expired_certificate_is_reported_with_its_dates(alice: PartyFolder) -> None:
    in_two_years = datetime.now(UTC) + timedelta(days=730)
    error = unloadable(alice, at=in_two_years)
    assert "has expired: it is valid from 2" in error.what
    assert f"{in_two_years:%Y-%m-%d}" in error.got
    assert error.remedy == "have it renewed"


def test_another_partys_key_is_refused(alice: PartyFolder, parties: Provisioned) -> None:
    alice.tls_key.write_bytes(parties.parties["bob"].tls_key.read_bytes())
    assert "the certificate is not for the key in tls.key" in unloadable(alice).what


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.CUSTODIAN_A])
def test_another_role_is_refused(alice: PartyFolder, role: Role) -> None:
    error = refused(ErrorCode.CERTIFICATE, Trust, alice.path, role)
    assert error.what == f"expected a certificate for the role {role}"
    assert error.got == "custodian-a"


def test_a_partys_certificate_among_the_authorities_is_refused(alice: PartyFolder) -> None:
    alice.callers.write_bytes(alice.callers.read_bytes() + alice.certificate.read_bytes())
    assert "expected certificates of authorities" in unloadable(alice).what


def test_an_expired_authority_is_left_out_and_reported_if_it_is_the_only_one(alice: PartyFolder) -> None:
    past = Validity.lasting(timedelta(days=1), start=datetime.now(UTC) - timedelta(days=9))
    expired = Authority.create("Expired", past).pem
    good = alice.callers.read_bytes()
    alice.callers.write_bytes(expired + good)
    assert TlsFiles.load(alice.path, Role.CUSTODIAN_A).callers == good
    alice.callers.write_bytes(expired)
    assert "the authority's certificate has expired" in unloadable(alice).what


def test_only_the_linker_and_oneself_are_called(alice: PartyFolder) -> None:
    files = TlsFiles.load(alice.path, Role.CUSTODIAN_A)
    refused(ErrorCode.PARAMETER, files.channel, Role.CUSTODIAN_B)


def test_no_secret_in_a_repr(alice: PartyFolder) -> None:
    assert "PRIVATE" not in repr(TlsFiles.load(alice.path, Role.CUSTODIAN_A))


def old_client(parties: Provisioned, latest: ssl.TLSVersion) -> ssl.SSLContext:
    """A client with Alice's certificate that speaks nothing newer than `latest`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers("ALL:@SECLEVEL=0")
    folder = parties.parties["alice"]
    context.load_verify_locations(folder.linker)
    context.load_cert_chain(folder.certificate, folder.tls_key)
    context.set_alpn_protocols(["h2"])
    context.minimum_version = min(latest, ssl.TLSVersion.TLSv1_2)
    context.maximum_version = latest
    return context


def version_agreed(port: int, context: ssl.SSLContext) -> str | None:
    with (
        socket.create_connection(("127.0.0.1", port), timeout=5) as plain,
        context.wrap_socket(plain, server_hostname=LINKER) as secure,
    ):
        return secure.version()


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated:DeprecationWarning")
def test_nothing_older_than_tls_1_2_is_spoken(parties: Provisioned, carole: RunningServer) -> None:
    oldest = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        version_agreed(carole.port, old_client(parties, oldest))
    for latest, agreed in ((ssl.TLSVersion.TLSv1_2, "TLSv1.2"), (ssl.TLSVersion.TLSv1_3, "TLSv1.3")):
        assert version_agreed(carole.port, old_client(parties, latest)) == agreed
    # The very same client does speak TLS 1.1 with a server that does.
    folder = parties.parties["carole"]
    lenient = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    lenient.set_ciphers("ALL:@SECLEVEL=0")
    lenient.minimum_version = oldest
    lenient.load_cert_chain(folder.certificate, folder.tls_key)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection, lenient.wrap_socket(connection, server_side=True) as secure:
                secure.recv(1)

        thread = threading.Thread(target=answer)
        thread.start()
        assert version_agreed(listener.getsockname()[1], old_client(parties, oldest)) == "TLSv1.1"
        thread.join(5)
