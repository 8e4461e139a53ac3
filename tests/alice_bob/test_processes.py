"""Alice, Bob and Carole as three processes: their commands, their sources, and what is never in a log."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from gemel.carole.configuration import template
from gemel.common.custodian.templates import custodian_yaml
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.parties import Party, Role, Side
from gemel.common.pki import Provisioned, provision, server_name
from gemel.common.rpc.client import Connection
from gemel.common.rpc.tls import channel_credentials
from gemel.common.specification import load_specification, specification_digest
from gemel.coordinator.client.coordinator_client import Coordinator
from gemel.coordinator.rehearsal.processes import ServiceProcess, Services, make_store
from gemel.protos.linkage.v1 import project_pb2
from tests.ports import free_port
from tests.specifications import heading

PARTIES = {Side.ALICE: Party(Side.ALICE, "Alice"), Side.BOB: Party(Side.BOB, "Bob")}
CONTRIBUTED = project_pb2.PROJECT_STATE_CONTRIBUTED

SPECIFICATION = (
    heading("planted", bob="number")
    + """
fields:
  - {name: surname, kind: name, columns: {alice: surname, bob: family}, bits: BITS}
  - {name: given, kind: name}
  - {name: born, kind: date, date: {order: ymd}}
blocking:
  - {name: born, keys: [{field: born}]}
  - {name: names, keys: [{field: surname}]}
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
"""
)


@dataclass
class Deployment:
    """Three parties' folders on one machine, and the people in them."""

    parties: Provisioned
    address: str
    text: str
    people: list[tuple[str, str, str, str]]
    logs: Path

    def config(self, party: str) -> Path:
        return self.parties.parties[party].path / f"{party}.yaml"

    def service(self, party: str) -> ServiceProcess:
        return ServiceProcess(party, self.config(party), self.logs)

    def log(self, party: str) -> str:
        return (self.logs / f"{party}.log").read_text()

    def gemel(self, *arguments: str, party: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "gemel.common.command", party, *arguments, "--config", str(self.config(party))],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "COLUMNS": "160"},
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def deploy(tmp_path: Path) -> Callable[..., Deployment]:
    def make(count: int, *, bits: int = 1024, approve: bool = True) -> Deployment:
        made = provision(tmp_path / "parties", linker_names=["127.0.0.1"])
        address = f"127.0.0.1:{free_port()}"  # Carole is started twice in a test, at the same address
        text = SPECIFICATION.replace("BITS", str(bits))
        digest = specification_digest(load_specification(text, "test")).hex()
        configuration = made.parties["carole"].path / "carole.yaml"
        configuration.write_text(template(address))
        make_store(configuration)
        generator = random.Random(1)
        people = []
        for number in range(count):
            name, given = ("".join(generator.choices("abcdefghijklmnop", k=10)) for _ in range(2))
            born = f"{generator.randint(1930, 2010)}-{generator.randint(1, 12):02}-{generator.randint(1, 28):02}"
            people.append((f"{number:05}", f"Planted{name}", f"Seedling{given}", born))
        sources = {
            Side.ALICE: _database(made.parties["alice"].path, people),
            Side.BOB: _parquet(made.parties["bob"].path, people),
        }
        for side, party in PARTIES.items():
            (made.parties[side].path / f"{side}.yaml").write_text(
                custodian_yaml(
                    party,
                    carole=address,
                    peer_fingerprint=made.members.in_role(side.other.role).identity.fingerprint,
                    source=sources[side],
                    approve=(digest,) if approve or side is Side.BOB else (),
                    retry_seconds=0.5,
                )
            )
        logs = tmp_path / "logs"
        logs.mkdir()
        return Deployment(made, address, text, people, logs)

    return make


def _database(folder: Path, people: list[tuple[str, str, str, str]]) -> dict[str, dict[str, str]]:
    with sqlite3.connect(folder / "people.sqlite") as connection:
        connection.execute("CREATE TABLE people (id TEXT, surname TEXT, given TEXT, born TEXT, diagnosis TEXT)")
        connection.executemany(
            "INSERT INTO people VALUES (?, ?, ?, ?, 'Confidential')", [(f"ida{n}", *rest) for n, *rest in people]
        )
    connection.close()
    url = folder / "database.url"
    url.write_text(f"sqlite:///{folder / 'people.sqlite'}\n")
    url.chmod(0o600)
    return {"database": {"url_file": "database.url", "query": "SELECT * FROM people"}}


def _parquet(folder: Path, people: list[tuple[str, str, str, str]]) -> dict[str, dict[str, str]]:
    frame = pl.DataFrame(
        [(f"idb{n}", s.upper(), g, b) for n, s, g, b in people],
        schema=["number", "family", "given", "born"],
        orient="row",
    ).with_columns(pl.col("born").str.to_date())
    frame.sample(fraction=1.0, shuffle=True, seed=1).write_parquet(folder / "people.parquet")
    return {"parquet": {"path": "people.parquet"}}


def coordinator(deployment: Deployment, stack: ExitStack) -> Coordinator:
    folder = deployment.parties.parties["coordinator"]
    credentials = channel_credentials(folder.path, Role.COORDINATOR)
    connection = stack.enter_context(Connection(deployment.address, server_name(Role.LINKER), credentials))
    return Coordinator(connection, open_identity(None, folder.identity))


def wait(look: Callable[[], bool], services: Services, seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not look():
        services.check()
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)


@pytest.mark.long
def test_a_linkage_by_three_processes_and_no_value_in_any_log(deploy) -> None:
    deployment = deploy(600, approve=False)
    digest = specification_digest(load_specification(deployment.text, "test"))
    with ExitStack() as stack:
        services = stack.enter_context(Services())
        for party in ("carole", "alice", "bob"):
            services.start(deployment.service(party)).wait_ready()
        driver = coordinator(deployment, stack)
        driver.create(deployment.text)
        driver.approve("planted", digest)

        def waits() -> bool:
            projects = json.loads(deployment.gemel("status", "--json", party="alice"))["projects"]
            return bool(projects) and projects[0]["waits_for_operator"] and projects[0]["rows"] == 600

        wait(waits, services)
        assert "waits for you" in deployment.gemel("status", party="alice")
        assert "600 rows" in deployment.gemel("profile", party="alice")
        assert digest.hex() in deployment.gemel("specification", party="alice")
        done = deployment.gemel("approve", "--yes", "--digest", digest.hex(), party="alice")
        assert "Approved: Carole has the signature" in done
        wait(lambda: driver.get("planted")[0].state == CONTRIBUTED, services)
        list(driver.watch("planted", driver.start("planted").run))
        wait(lambda: all(side.result_acknowledged for side in driver.get("planted")[0].sides), services)
        found = {
            side: json.loads(deployment.gemel("status", "--json", party=str(side)))["projects"][0] for side in Side
        }
        shown = "".join(
            deployment.gemel(command, party=str(side)) for side in Side for command in ("status", "profile")
        )
        deployment.gemel("stop", party="alice")
    links = {side: pl.read_parquet(Path(found[side]["results"]) / "links.parquet") for side in Side}
    joined = links[Side.ALICE].join(links[Side.BOB], on="link_id", suffix="_bob")
    right = sum(a[3:] == b[3:] for a, b in joined.select("identifier", "identifier_bob").rows())
    assert right == joined.height
    assert right >= 599, "people with names of their own are all found again"
    for party in ("alice", "bob", "carole"):
        text = deployment.log(party) + shown
        assert '"event": "ready"' in deployment.log(party)
        for planted in ("Planted", "PLANTED", "Seedling", "Confidential", "ida0", "idb0"):
            assert planted not in text
        for person in deployment.people[::20]:
            assert person[3] not in text
            assert person[1].lower() not in text
        assert "Traceback" not in text
    for secret in ("tls.key", "identity.key", "sealing.key", "wrapping.key"):
        key = (deployment.parties.parties["alice"].path / secret).read_text()
        longest = max(key.split(), key=len)
        assert longest not in deployment.log("alice")


@pytest.mark.long
def test_carole_killed_between_chunks(deploy) -> None:
    deployment = deploy(12_000, bits=8192)
    digest = specification_digest(load_specification(deployment.text, "test"))
    with ExitStack() as stack:
        services = stack.enter_context(Services())
        first = deployment.service("carole")
        first.start()
        stack.callback(first.kill)
        first.wait_ready()
        driver = coordinator(deployment, stack)
        for party in ("alice", "bob"):
            services.start(deployment.service(party)).wait_ready()
        driver.create(deployment.text)
        driver.approve("planted", digest)

        seen: list[tuple[int, int]] = []

        def half_way() -> bool:
            seen[:] = [
                (part.bytes_received, part.bytes_expected)
                for part in driver.get("planted")[0].contributions
                if 0 < part.bytes_received < part.bytes_expected
            ]
            return bool(seen)

        deadline = time.monotonic() + 60
        while not half_way():
            assert time.monotonic() < deadline, "no upload was ever seen half done"
        first.kill()
        services.start(deployment.service("carole")).wait_ready()
        wait(lambda: driver.get("planted")[0].state == CONTRIBUTED, services)
    for party in ("alice", "bob"):
        names = {
            line["upload"]
            for line in map(json.loads, deployment.log(party).splitlines())
            if line["event"] in ("signed", "contributed")
        }
        assert len(names) == 1, "the upload that was begun is the one that was ended"
