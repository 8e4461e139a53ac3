"""One whole linkage with three processes, in which much goes wrong before it goes right.

Both files hold planted people. What went wrong: broken files at both custodians, calls that Carole refuses, a run that
fails for want of memory, Carole killed. All logs are at their most talkative.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from gemel.common.errors import GemelError
from gemel.common.keys.derivation import Seed
from gemel.common.parties import Side
from gemel.common.wire.chunks import Chunk
from gemel.coordinator.demonstration.people import IDENTIFIER, TRUTH
from gemel.coordinator.rehearsal.processes import ServiceProcess
from gemel.custodian.agreement.seed_file import load_seed_file, new_seed_file
from gemel.protos.linkage.v1 import (
    contribution_pb2,
    coordination_pb2,
    coordination_pb2_grpc,
    custody_pb2,
    custody_pb2_grpc,
    operator_pb2,
    project_pb2,
)
from tests.console.consoles import wide_consoles
from tests.e2e.deployment import BOBS_NAMES, STATE, Deployment, people, specification
from tests.e2e.traces import IDENTIFIERS, PLANTED, planted_people
from tests.typed import printed

PROJECT = "whole"
N, COMMON = 160, 80
TEXT = specification(
    PROJECT,
    bits=512,
    more="""\
blocking:
  - {name: born, keys: [{field: born}]}
  - {name: surname-initial, keys: [{field: surname, prefix: 4}, {field: given_name, prefix: 1}]}
  - {name: postcode, keys: [{field: postcode}]}
release: {alice: draws, bob: pairs, draws: 4, coordinator: statistics}
""",
)
TINY, ENOUGH = "memory: 64KiB", "memory: 1GiB"


@dataclass
class Linked:
    """What came of it. `made.root` has every file of every party; `outputs` what was printed."""

    made: Deployment
    files: dict[Side, pl.DataFrame]
    seed: Seed = field(repr=False)
    failed: project_pb2.RunStatus
    status: project_pb2.ProjectStatus
    shown: dict[Side, operator_pb2.CustodianProject]
    statistics: dict[str, Any]
    troubles: dict[str, str]
    outputs: Path

    def share(self, side: Side) -> Path:
        return self.made.folders[side] / "results" / PROJECT / self.status.run.run

    def printed(self, name: str) -> str:
        return (self.outputs / name).read_text()


def planted_files() -> dict[Side, pl.DataFrame]:
    """Invented people, and the planted ones at the end of both files."""
    files = people(N, COMMON, seed=7)
    for side, identifier in ((Side.ALICE, IDENTIFIER), (Side.BOB, BOBS_NAMES[IDENTIFIER])):
        planted = planted_people(IDENTIFIERS[side], identifier, TRUTH)
        if side is Side.BOB:
            planted = planted.rename({old: new for old, new in BOBS_NAMES.items() if old in planted.columns})
        files[side] = pl.concat([files[side], planted.select(files[side].columns)])
    return files


def link(root: Path) -> Linked:
    files = planted_files()
    made = Deployment(root, [TEXT], files)
    outputs, temporary = root / "outputs", root / "tmp"
    outputs.mkdir()
    temporary.mkdir()
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TMPDIR", str(temporary))
        patched.setenv("GRPC_VERBOSITY", "DEBUG")
        patched.setenv("COLUMNS", "200")
        try:
            return _link(made, files, outputs)
        finally:
            made.close()


def _link(made: Deployment, files: dict[Side, pl.DataFrame], outputs: Path) -> Linked:
    seeds = {side: made.folders[side] / "exchanged.seed" for side in Side}
    new_seed_file(seeds[Side.ALICE], PROJECT)
    shutil.copy(seeds[Side.ALICE], seeds[Side.BOB])
    for side in Side:
        made.configure(side, f"# seed_file: {side}.seed", "seed_file: exchanged.seed")
    _limit(made, ENOUGH.replace("1GiB", "3GiB"), TINY)
    commands = Commands(outputs)
    carole, alice, bob = made.processes("carole", "alice", "bob")
    troubles = _spoil_and_mend(made, commands)
    _provoke(made)
    made.wait_for(PROJECT, STATE.PROJECT_STATE_CONTRIBUTED)
    failed = _run(made)
    commands.run("status-failed", "project", "status", PROJECT, "--config", made.coordinator_yaml)
    # Carole is killed, and comes back with the memory that she needs.
    carole.kill()
    _limit(made, TINY, ENOUGH)
    made.processes("carole")
    _run(made)
    made.received(PROJECT)
    _look_at_everything(made, commands)
    status = made.status(PROJECT)
    shown = {side: made.shown(side, PROJECT) for side in Side}
    statistics = made.coordinator.statistics(PROJECT, status.run.run).plain()
    _end(alice, bob)
    seed = load_seed_file(seeds[Side.ALICE], PROJECT)
    return Linked(made, files, seed, failed, status, shown, statistics, troubles, outputs)


def _spoil_and_mend(made: Deployment, commands: Commands) -> dict[str, str]:
    """Files that are broken just where a planted value stands; the errors that the operators were shown."""
    good = {side: made.good[side].decode() for side in Side}
    lines = {side: text.splitlines() for side, text in good.items()}
    planted = PLANTED["surname"][0]
    # Alice's: a quotation that does not end, a cell too many, another encoding. Bob's: no such column, no header, a row
    # twice.
    rounds: tuple[dict[str, tuple[Side, bytes]], ...] = (
        {
            "quotation": (Side.ALICE, good[Side.ALICE].replace(f",{planted},", f',"{planted},').encode()),
            "column": (Side.BOB, good[Side.BOB].replace("family_name", planted).encode()),
        },
        {
            "cell": (Side.ALICE, good[Side.ALICE].replace(f",{planted},", f",{planted},{planted},").encode()),
            "header": (Side.BOB, "\n".join(lines[Side.BOB][1:][::-1]).encode()),
        },
        {
            "encoding": (Side.ALICE, good[Side.ALICE].encode("latin-1")),
            "twice": (Side.BOB, (good[Side.BOB] + lines[Side.BOB][-1] + "\n").encode()),
        },
    )
    troubles: dict[str, str] = {}
    for broken in rounds:
        for side, content in broken.values():
            made.spoil(side, content)
        if not troubles:
            made.create(TEXT)
        for name, (side, _) in broken.items():
            troubles[name] = made.blocking_error(side, PROJECT, other_than=troubles.values())
    for side in Side:
        commands.run(f"{side}-in-trouble", side, "status", "--config", made.configs[side])
    for side in Side:
        made.mend(side)
    return troubles


def _provoke(made: Deployment) -> None:
    """Calls of members that are all refused, with planted values wherever a request has room for text or bytes."""
    value = PLANTED["surname"][0]
    raw, number = value.encode(), IDENTIFIERS["alice"][0]
    layout = contribution_pb2.SetLayout(
        rule=value, rows=3, fields=[contribution_pb2.FieldLayout(name=value, bits=64, distinct=1)], block_rules=[number]
    )
    message = custody_pb2.AgreementMessage(kind=1, sender=1, payload=raw)
    chunk = Chunk(0, 1, raw, raw, raw).message()
    calls: list[tuple[str, Any]] = [("NextTask", custody_pb2.NextTaskRequest(waiting=[value, number]))]
    for project in (value, PROJECT):
        manifest = contribution_pb2.Manifest(
            version=1, project=project, side=1, encoding_digest=raw, epoch=1, sets=[layout], key_check_value=raw
        )
        keys = {"project": project, "epoch": 1, "key_check_value": raw, "canary_digest": raw}
        calls += [
            ("Approve", custody_pb2.ApproveRequest(project=project, specification_digest=raw, signature=raw)),
            ("PostMessage", custody_pb2.PostMessageRequest(project=project, epoch=1, message=message)),
            ("ReportKeys", custody_pb2.ReportKeysRequest(**keys)),
            ("BeginUpload", contribution_pb2.BeginUploadRequest(manifest=manifest, upload=value)),
            ("PutChunk", contribution_pb2.PutChunkRequest(project=project, upload=number, chunk=chunk)),
            ("CommitUpload", contribution_pb2.CommitUploadRequest(project=project, upload=number, root=raw)),
            ("FetchResult", custody_pb2.FetchResultRequest(project=project, run=number)),
        ]
    with made.connection("alice") as connection:
        stub = connection.stub(custody_pb2_grpc.CustodyStub)
        refused = [_refused(connection, getattr(stub, method), request) for method, request in calls]
    assert refused.count(None) == 1  # NextTask alone succeeds, whatever it states that it waits for
    with made.connection("coordinator") as connection:
        coordination = connection.stub(coordination_pb2_grpc.CoordinationStub)
        bad = TEXT.replace("kind: name", f"kind: {value}")
        assert _refused(
            connection, coordination.CreateProject, coordination_pb2.CreateProjectRequest(specification=bad)
        )
        request = coordination_pb2.StartRunRequest(project=value, request=number)
        assert _refused(connection, coordination.StartRun, request)


def _refused(connection: Any, method: Any, request: Any) -> str | None:
    try:
        connection.call(method, request)
    except GemelError as error:
        return str(error)
    return None


def _run(made: Deployment) -> project_pb2.RunStatus:
    run = made.coordinator.start(PROJECT).run
    *_, last = made.coordinator.watch(PROJECT, run)
    return last


def _limit(made: Deployment, old: str, new: str) -> None:
    text = made.carole_yaml.read_text()
    assert old in text
    made.carole_yaml.write_text(text.replace(old, new))


def _look_at_everything(made: Deployment, commands: Commands) -> None:
    coordinator = ("--config", made.coordinator_yaml)
    commands.run("status", "project", "status", *coordinator)
    commands.run("fetched", "project", "results", PROJECT, "--out", commands.folder / "results", *coordinator)
    commands.run("audit", "audit", "show", "--config", made.carole_yaml)
    for side in Side:
        own = ("--config", made.configs[side])
        commands.run(f"{side}-status", side, "status", *own)
        commands.run(f"{side}-profile", side, "profile", PROJECT, *own)
        commands.run(f"{side}-specification", side, "specification", PROJECT, *own)


def _end(*services: ServiceProcess) -> None:
    for service in services:
        service.dismiss()
    for service in services:
        service.stop()


class Commands:
    """Commands of ``gemel`` in this process, each with what it prints in a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, name: str, *arguments: object) -> None:
        with wide_consoles():
            (self.folder / name).write_text(printed(*arguments))
