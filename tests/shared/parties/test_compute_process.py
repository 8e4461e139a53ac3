"""The coordinator's and the steward's compute processes, and Carole's part, as processes and over the wire."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from gemel.carole.configuration import load_carole
from gemel.carole.service.computation import ComputedRun
from gemel.carole.service.computation_sessions import Absence
from gemel.carole.service.computing import AWAIT_PARTIES, AWAIT_STEWARD, Computing, GaveWayError
from gemel.carole.service.health import OwnAddress, OwnService
from gemel.carole.store.runs import Lease
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.epochs import approval_parts
from gemel.common.keys.identity import Identity, IdentityKey, SigningPurpose
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.parties import ComputeParty, Role
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.members import Members
from gemel.common.pki.reader import Reader
from gemel.common.specification import load_specification, specification_digest
from gemel.coordinator.client.client_configuration import template
from gemel.coordinator.client.compute_service import serve
from gemel.coordinator.client.connection import client
from gemel.coordinator.provisioning import Provisioned
from gemel.protos.linkage.v1 import computation_pb2, project_pb2
from gemel.shared.parties.compute_process import ComputeProcess
from gemel.shared.parties.computing_screen import ComputingScreen
from gemel.shared.parties.offered_session import verified
from gemel.shared.session.computation_calls import ComputationCalls
from gemel.shared.session.joined_session import JoinedSession
from tests.carole.deployment import Deployment
from tests.carole.refusals import refusal
from tests.common.specification.test_shared import TEXT
from tests.shared.parties.party_program import COINS, coins, take_part

SPEC = load_specification(TEXT)
RUN = "a" * 32
LEASE = Lease(RUN, SPEC.project, "worker", 1)
SECONDS = 300.0


def offer(parties: Provisioned, text: str = TEXT, epoch: int = 1) -> computation_pb2.NextComputationResponse:
    """What Carole offers for a run of a project that all have approved."""
    digest = specification_digest(load_specification(text))
    return computation_pb2.NextComputationResponse(
        project=SPEC.project,
        specification=text,
        run=RUN,
        session=b"s" * 16,
        epoch=epoch,
        approvals=[approval(parties, name, digest, epoch) for name in ("alice", "bob", "coordinator")],
    )


def approval(parties: Provisioned, name: str, digest: bytes, epoch: int = 1) -> project_pb2.Approval:
    identity = open_identity(None, parties.parties[name].identity)
    signature = identity.sign(SigningPurpose.APPROVAL, *approval_parts(SPEC.project, digest, epoch))
    return project_pb2.Approval(member=name, specification_digest=digest, signature=signature)


class Process:
    """A compute process and the lines that it has written."""

    def __init__(self, config: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-u", "-m", "tests.shared.parties.party_program", str(config)],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        self.lines.extend(iter(self._process.stdout.readline, ""))

    def kill(self) -> None:
        """As ``kill -9`` does."""
        self._process.kill()
        self._process.wait()

    def end(self) -> int:
        """As SIGTERM does."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(SECONDS)

    def wait_for(self, words: str) -> None:
        """Until a line has the words."""
        deadline = time.monotonic() + SECONDS
        while not any(words in line for line in self.lines):
            assert time.monotonic() < deadline, self.lines
            time.sleep(0.02)


@pytest.fixture
def configure(deployment: Deployment, tmp_path: Path) -> Callable[[str], Path]:
    """Writes a member's configuration."""

    def write(party: str) -> Path:
        config = tmp_path / f"{party}.yaml"
        keys = deployment.parties.parties[party].path
        config.write_text(template(deployment.address, keys=str(keys), state=str(tmp_path)))
        return config

    return write


@pytest.fixture
def start(configure: Callable[[str], Path]) -> Iterator[Callable[[str], Process]]:
    """Starts compute processes: ``start("steward")``."""
    started = []

    def begin(party: str) -> Process:
        started.append(Process(configure(party)))
        return started[-1]

    yield begin
    for process in started:
        process.kill()


@pytest.fixture
def computing(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> Computing:
    """Carole's worker's part. Her store has no such run: sessions are opened for the one that is offered."""
    found = ComputedRun(SPEC, offer(deployment.parties), {})
    monkeypatch.setattr("gemel.carole.service.computation.computed_run", lambda *_: found)
    deployment.computation.sessions.absence = Absence(broken=0.3)
    address = OwnAddress()
    address.hear(f"{deployment.address}\n".encode())
    identity = open_identity(None, deployment.parties.parties["carole"].identity)
    service = OwnService(load_carole(deployment.configuration), address)
    return Computing(service, identity, lambda _: False)


def herself(deployment: Deployment) -> Reader:
    return Reader.load(deployment.parties.parties["carole"], Role.LINKER)


@pytest.mark.long  # the first tier kills parties in tests/e2e/test_shared_disturbed.py
def test_a_killed_party_is_awaited_and_the_computation_begins_again(
    deployment: Deployment, computing: Computing, start: Callable[[str], Process]
) -> None:
    coordinator, steward = start("coordinator"), start("steward")
    processes, stages, sessions = [steward], [], []

    def progress(stage: str, fraction: float) -> None:
        if stage not in stages[-1:]:
            stages.append(stage)

    def job(joined: JoinedSession) -> bytes:
        sessions.append(joined.terms.session)

        def kill(stage: str, fraction: float) -> None:
            progress(stage, fraction)
            if len(sessions) == 1 and fraction > 0.5:
                processes[-1].kill()

        try:
            return coins(joined, kill)
        finally:
            if len(sessions) == 1:
                processes.append(start("steward"))

    found = computing.computed(LEASE, SPEC, herself(deployment), progress, job)
    assert len(found) == 8 * COINS
    assert len(set(sessions)) == 2
    assert stages[0] in (AWAIT_PARTIES, AWAIT_STEWARD, "await-coordinator")
    assert stages.count("coins") == 2
    coordinator.wait_for("interrupted:")
    for process in (coordinator, processes[-1]):
        process.wait_for("done in")
        assert process.end() == 128 + signal.SIGTERM
    assert any("Waiting for a computation" in line for line in coordinator.lines)
    assert any("coins:" in line for line in coordinator.lines)


def test_a_run_whose_parties_are_away_gives_way(
    deployment: Deployment, computing: Computing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gemel.carole.service.computing.GIVE_WAY_SECONDS", 0.1)
    answers = [False, True]
    leases = []

    def give_way(lease: Lease) -> bool:
        leases.append(lease)
        return answers[len(leases) - 1]

    computing = replace(computing, give_way=give_way)
    stages = []
    with pytest.raises(GaveWayError):
        computing.computed(
            *(LEASE, SPEC, herself(deployment)),
            progress=lambda stage, _: stages.append(stage),
            job=lambda _: pytest.fail("no one else is there"),
        )
    assert leases == [LEASE, LEASE]
    assert set(stages) == {AWAIT_PARTIES}
    assert not list(deployment.computation.sessions._living())


def test_a_deviation_ends_it_for_all_with_the_link(
    deployment: Deployment, computing: Computing, configure: Callable[[str], Path]
) -> None:
    """Carole's worker sends the others what is none of the protocol."""

    def wrong(joined: JoinedSession) -> None:
        for to in (joined.own.next, joined.own.previous):
            joined.channel.send(to, b"none of the protocol")
        while True:
            joined.channel.receive(joined.own.next)

    def party(name: str) -> GemelError:
        with pytest.raises(GemelError) as caught:
            serve(configure(name), once=True, job=take_part)
        return caught.value

    with ThreadPoolExecutor(2) as pool:
        others = [pool.submit(party, name) for name in ("coordinator", "steward")]
        with pytest.raises(GemelError) as caught:
            computing.computed(LEASE, SPEC, herself(deployment), lambda *_: None, wrong)
        errors = [caught.value, *(other.result(SECONDS) for other in others)]
    for error in errors:
        assert error.code is ErrorCode.DEVIATION
        assert "Carole" in str(error)


def test_a_running_process_takes_the_newest_membership_list(
    deployment: Deployment, computing: Computing, tmp_path: Path
) -> None:
    """Who has replaced a stolen identity is not bound by what the thief approves."""
    config, keys = tmp_path / "steward.yaml", tmp_path / "keys"
    shutil.copytree(deployment.parties.parties["steward"].path, keys)
    config.write_text(template(deployment.address, keys=str(keys), state=str(tmp_path)))
    other = Identity(IdentityKey.create()).public
    newest = Members(
        replace(each, identity=other) if each.name == "alice" else each for each in deployment.parties.members
    )

    def offering() -> None:
        with computing.service.connect() as connection:
            calls = ComputationCalls(connection, b"n" * 16)
            calls.open(SPEC.project, RUN)
            with suppress(GemelError):
                calls.attend((ComputeParty.CAROLE,))
            calls.give_up(GemelError(ErrorCode.INTERNAL, "the steward has joined"))

    with client(config, Role.STEWARD, checked=False) as found, ThreadPoolExecutor(1) as pool:
        process = ComputeProcess(found, Role.STEWARD, take_part, ComputingScreen(lambda _: None))
        PartyFolder(keys).members.write_text(newest.dump())
        while found.trust.members.digest == deployment.parties.members.digest:
            time.sleep(0.05)
        offered = pool.submit(offering)
        with refusal(ErrorCode.SIGNATURE, "not signed by: custodian-a"):
            process.serve(once=True)
        offered.result(SECONDS)


def test_what_carole_shows_is_verified(deployment: Deployment) -> None:
    members = deployment.parties.members
    good = offer(deployment.parties)
    session = verified(good, members, "steward")
    assert session.terms.specification_digest == specification_digest(SPEC)
    assert [member.name for member in session.members] == ["carole", "coordinator", "steward"]

    def refused(name: str = "steward", **changed: object) -> ErrorCode:
        bad = computation_pb2.NextComputationResponse()
        bad.CopyFrom(good)
        for field, value in changed.items():
            bad.ClearField(field)
            if isinstance(value, list):
                getattr(bad, field).extend(value)
            else:
                setattr(bad, field, value)
        with pytest.raises(GemelError) as caught:
            verified(bad, members, name)
        return caught.value.code

    digest = specification_digest(SPEC)
    other = TEXT.replace("prefix: 3", "prefix: 4")
    assert other != TEXT
    assert refused(specification=other) is ErrorCode.SIGNATURE
    assert refused(epoch=2) is ErrorCode.SIGNATURE
    assert refused(approvals=list(good.approvals)[:2]) is ErrorCode.SIGNATURE
    twice = [approval(deployment.parties, "alice", digest), approval(deployment.parties, "coordinator", digest)]
    forged = approval(deployment.parties, "alice", digest)
    forged.member = "bob"
    assert refused(approvals=[*twice, forged]) is ErrorCode.SIGNATURE
    assert refused(project="another") is ErrorCode.SPECIFICATION
    assert refused(specification=TEXT.replace("mode: shared", "mode: block_keyed")) is ErrorCode.SPECIFICATION
    assert refused(session=b"short") is ErrorCode.PARAMETER
    for run in ("", RUN[:-1], "\x1b[2J" + RUN[4:]):
        assert refused(run=run) is ErrorCode.PARAMETER
    for name in ("carole", "alice"):
        assert refused(name=name) is ErrorCode.NOT_ADMITTED
