"""`gemel alice check`, each way in which an installation can be wrong: named before anything is sent, status 1.

Carole is a real one over real TLS, in this process.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gemel.command import app
from gemel.common.parties import Role, Side
from gemel.common.pki.certificates import Validity
from gemel.common.pki.folders import PartyFolder
from gemel.common.rpc.call_metadata import CLOCK_KEY, seconds_ahead
from tests.e2e.deployment import Deployment, specification
from tests.e2e.test_certificates import reissue
from tests.ports import free_port

LINES = (
    "configuration",
    "certificate",
    "membership list",
    "keys",
    "address",
    "Carole's certificate",
    "Carole",
    "clock",
    "source",
    "specification",
    "memory",
    "disk",
    "installation",
)
DAY_MS = 86_400_000


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with Deployment(tmp_path_factory.mktemp("checked"), [specification("checked")]) as made:
        made.start_carole()
        yield made


@pytest.fixture
def made(deployment: Deployment) -> Iterator[Deployment]:
    """What a test has changed in Alice's installation, and in Carole's list, is mended after it."""
    members = PartyFolder(deployment.folders["carole"]).members
    changed = (deployment.configs[Side.ALICE], deployment.files[Side.ALICE], members)
    good = {path: path.read_bytes() for path in changed}
    yield deployment
    for path, content in good.items():
        path.write_bytes(content)


def check(made: Deployment, *more: str) -> tuple[int, dict[str, dict[str, str]]]:
    """The exit status, and the lines by what was checked."""
    done = CliRunner().invoke(app, ["alice", "check", "--json", "--config", str(made.configs[Side.ALICE]), *more])
    document = done.stdout[done.stdout.index("[\n") : done.stdout.rindex("\n]") + 2]
    return done.exit_code, {line["check"]: line for line in json.loads(document)}


def failed(made: Deployment, *more: str) -> tuple[str, str]:
    """The one check that has failed, and its line in words."""
    status, lines = check(made, *more)
    found = [line for line in lines.values() if line["finding"] == "failed"]
    assert status == 1
    assert [line["check"] for line in found] == [found[0]["check"]], found
    return found[0]["check"], " ".join(found[0][key] for key in ("what", "where", "got", "remedy"))


def test_all_is_well(made: Deployment, tmp_path: Path) -> None:
    path = tmp_path / "linkage.yaml"
    path.write_text(specification("checked"))
    status, lines = check(made, "--specification", str(path))
    assert status == 0, lines
    assert set(LINES) < set(lines)
    # The list of these tests is pinned nowhere.
    assert [name for name, line in lines.items() if line["finding"] != "ok"] == ["membership list"]
    assert lines["records for checked"]["what"] == "120 records fit checked"
    shown = CliRunner().invoke(app, ["alice", "check", "--config", str(made.configs[Side.ALICE])]).output
    assert "note     specification" in shown
    assert "no service runs here" in shown


def test_what_waits_for_approval_is_compared(made: Deployment) -> None:
    service = made.start(Side.ALICE)
    project = made.create(specification("waiting"))  # which no list of digests approves
    made.eventually(lambda: made.shown(Side.ALICE, project).waits_for_operator or None)
    _, lines = check(made)
    assert lines["specification"]["what"] == "waiting"
    assert lines["records for waiting"]["finding"] == lines["memory for waiting"]["finding"] == "ok"
    service.close()


@contextmanager
def another_service(made: Deployment, party: str) -> Iterator[str]:
    """A TLS server with a member's certificate that is not Carole's; its address."""
    folder = PartyFolder(made.folders[party])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder.certificate, folder.tls_key)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connected, _ = server.accept()
            with connected, context.wrap_socket(connected, server_side=True):
                pass

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        thread.join(10)


def test_a_wrong_address(made: Deployment) -> None:
    for address, reported in (
        (f"127.0.0.1:{free_port()}", "nothing answers here"),
        ("carole.invalid:7443", "this name cannot be resolved"),
    ):
        made.configure(Side.ALICE, made.address, address)
        name, line = failed(made)
        assert name == "address"
        assert reported in line
        assert address in line
        made.configure(Side.ALICE, address, made.address)
    with another_service(made, "bob") as address:
        made.configure(Side.ALICE, made.address, address)
        name, line = failed(made)
    assert name == "Carole's certificate"
    assert "not the linker of the membership list" in line


def test_an_expired_certificate_and_a_clock_that_is_behind_it(made: Deployment) -> None:
    now = datetime.now(UTC)
    for begin, end, reported in ((-600, -60, "has expired"), (10, 50, "is not valid yet")):
        restore = reissue(
            made, "alice", Role.CUSTODIAN_A, Validity(now + timedelta(minutes=begin), now + timedelta(minutes=end))
        )
        name, line = failed(made)
        assert name == "certificate"
        assert reported in line
        restore()


@pytest.mark.parametrize(
    ("ahead_ms", "words"), [(DAY_MS, "1 day ahead of Carole's"), (-DAY_MS, "1 day behind Carole's")]
)
def test_a_clock_that_is_off_by_a_day(
    made: Deployment, monkeypatch: pytest.MonkeyPatch, ahead_ms: int, words: str
) -> None:
    then = str(round(datetime.now(UTC).timestamp() * 1000) - ahead_ms)
    monkeypatch.setattr("gemel.serving.dispatch.own_clock", lambda: (CLOCK_KEY, then))
    name, line = failed(made)
    assert name == "clock"
    assert words in line
    assert "UTC here" in line


def test_a_clock_is_compared_with_the_middle_of_the_call() -> None:
    assert seconds_ahead([(CLOCK_KEY, "1000000")], 990.0, 1020.0) == 5.0
    for metadata in ([], [(CLOCK_KEY, "soon")], [(CLOCK_KEY, "1"), (CLOCK_KEY, "2")], [(CLOCK_KEY, "9" * 16)]):
        assert seconds_ahead(metadata, 0.0, 0.0) is None


def test_a_source_that_is_not_as_it_is_declared(made: Deployment, tmp_path: Path) -> None:
    path = made.files[Side.ALICE]
    whole = path.read_text()
    path.write_bytes(whole.replace("record_id", "recörd", 1).encode("utf-16"))
    name, line = failed(made)
    assert name == "source"
    assert "declared as utf-8" in line
    assert "utf-16" in line
    path.write_text(whole.replace(",", ";"))
    name, line = failed(made)
    assert name == "source"
    assert "separator: ';'" in line
    path.write_text(whole)
    given = tmp_path / "linkage.yaml"
    given.write_text(specification("checked").replace("surname, bob", "sirname, bob"))
    name, line = failed(made, "--specification", str(given))
    assert name == "records for checked"
    assert "sirname" in line
    given.write_text(
        specification("checked").replace("postcode, kind: code", "postcode, kind: date, date: {order: ymd}")
    )
    name, line = failed(made, "--specification", str(given))
    assert name == "records for checked"
    assert "field postcode cannot be read as a date" in line


def test_more_memory_than_there_is(made: Deployment, tmp_path: Path) -> None:
    made.configure(Side.ALICE, "memory: 6GiB", "memory: 900TiB")
    assert failed(made)[0] == "memory"
    made.configure(Side.ALICE, "memory: 900TiB", "memory: 64MiB")
    path = tmp_path / "linkage.yaml"
    path.write_text(specification("checked"))
    name, line = failed(made, "--specification", str(path))
    assert name == "memory for checked"
    assert "limits.memory of 64 MiB" in line


def test_a_member_that_carole_does_not_admit(made: Deployment) -> None:
    """Her list has another key for Alice: she is reached, is the right one, and refuses."""
    folder = PartyFolder(made.folders["carole"])
    key = made.made.members.named("alice").certificate.key
    folder.members.write_text(folder.members.read_text().replace(key, "ab" * 32))
    made.eventually(lambda: failed(made)[0] == "Carole" if check(made)[0] else None)
