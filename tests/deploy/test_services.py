"""The three services from deploy/'s own configurations, each under its own address, through a whole linkage.

Keys come from the certificate procedure of deploy/README.md. Only the roots of paths are changed in the
configurations, and each custodian's operator has entered the other's fingerprint; on loopback addresses, which need no
privilege, also the addresses.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.deploy.procedure import carry_out
from tests.deploy.sites import (
    CALLERS,
    CUSTODIANS,
    NOBODY,
    PARTIES,
    SERVICES,
    Loopback,
    Namespaces,
    Unavailable,
    install,
    listening,
    until,
)
from tests.deploy.terminal import Terminal
from tests.specifications import heading

Site = Loopback | Namespaces
PEOPLE = 120

SPECIFICATION = (
    heading("deployed")
    + """
fields:
  - {name: surname, kind: name, bits: 1024}
  - {name: given, kind: name, bits: 1024}
  - {name: born, kind: date, bits: 1024, date: {order: ymd}}
release: {assessment: none, alice: links, bob: links, coordinator: statistics}
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
"""
)


def people(prefix: str, offset: int) -> pl.DataFrame:
    """Made-up people; the number at the end of an identifier is the person's, and always means the same one."""
    rows = []
    for number in range(offset, offset + PEOPLE):
        rng = np.random.default_rng(number)
        surname, given = ("".join(rng.choice(list("abdefgiklmnoprstuvz"), size=size)) for size in (9, 7))
        born = f"{rng.integers(1930, 2000)}-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}"
        rows.append({"id": f"{prefix}{number}", "surname": surname, "given": given, "born": born})
    return pl.DataFrame(rows)


class Service:
    """One of the three, as its party runs it."""

    def __init__(self, party: str, site: Site, configuration: Path) -> None:
        self.party = party
        self.folder = site.root / "run" / party
        self.folder.mkdir(parents=True, exist_ok=True)
        self.ready_file = self.folder / "ready"
        self.log = self.folder / "log"
        program = [sys.executable, "-m", f"gemel.{party}", "--config", str(configuration)]
        program += ["--ready-file", str(self.ready_file)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                site.command(party, program),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
                start_new_session=True,
            )

    def wait_ready(self) -> dict[str, object]:
        until(lambda: self.ready_file.exists() or self.process.poll() is not None, shown=self.log.read_text)
        assert self.process.poll() is None, self.log.read_text()
        found: dict[str, object] = json.loads(self.ready_file.read_text())
        return found

    def stop(self) -> int:
        self.process.terminate()
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            return self.process.wait()


@pytest.fixture(params=[Loopback, Namespaces], ids=["loopback addresses", "network namespaces"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    for party in PARTIES:
        for folder in ("var/lib/gemel", "srv/gemel", "run"):
            (tmp_path / folder / party).mkdir(parents=True)
    with contextlib.ExitStack() as stack:
        try:
            made = stack.enter_context(request.param(tmp_path))
        except Unavailable as reason:
            pytest.skip(str(reason))
        yield made


@pytest.mark.long
def test_a_linkage_from_the_configurations_in_deploy(site: Site, tmp_path: Path) -> None:
    procedure = carry_out(tmp_path, tmp_path / "coordinator")
    peers = {"alice": procedure.fingerprint("bob"), "bob": procedure.fingerprint("alice")}
    configurations = install(tmp_path, site, {party: {NOBODY: found} for party, found in peers.items()})
    people("a", 0).write_csv(tmp_path / "srv/gemel/alice/alice.csv")
    people("b", PEOPLE // 2).write_csv(tmp_path / "srv/gemel/bob/bob.csv")
    (tmp_path / "linkage.yaml").write_text(SPECIFICATION)
    before = snapshot(tmp_path / "etc", tmp_path / "srv")
    with contextlib.ExitStack() as stack:
        terminals = {}
        for party in PARTIES:
            options = "--config", str(configurations[party])
            folder = tmp_path / "run" / party
            terminals[party] = Terminal(site.command(party, Terminal.PROGRAM), folder, options)
            stack.callback(terminals[party].close)
        assert terminals["carole"].type("carole", "init").startswith("Made the store ")
        services: dict[str, Service] = {}
        for party in SERVICES:
            services[party] = Service(party, site, configurations[party])
            stack.callback(services[party].stop)
        ready = {party: service.wait_ready() for party, service in services.items()}
        assert terminals["carole"].type("carole", "health").startswith("Carole is serving on ")

        link(terminals, tmp_path)

        check_links(tmp_path)
        check_who_listens(site, services, ready)
        assert snapshot(tmp_path / "etc", tmp_path / "srv") == before  # which services may read only
        assert {party: service.stop() for party, service in services.items()} == dict.fromkeys(SERVICES, 0)


def snapshot(*roots: Path) -> dict[Path, bytes]:
    """Every file, with its content."""
    return {path: path.read_bytes() for root in roots for path in root.rglob("*") if path.is_file()}


def link(terminals: dict[str, Terminal], root: Path) -> None:
    """What coordinator and operators type, until both custodians hold their links."""
    coordinator = terminals["coordinator"]
    assert "waits for approvals" in coordinator.type("project", "create", str(root / "linkage.yaml"))
    approved = coordinator.type("project", "approve", "deployed")
    digest = approved.split("Approving specification ")[1].split()[0]
    for party in CUSTODIANS:
        wait_for(
            terminals[party], party, lambda project: project["waits_for_operator"] and project["specification_digest"]
        )
        # The profile takes a moment after the specification has come.
        until(lambda party=party: terminals[party].attempt(party, "profile")[0] == 0)
        assert digest in terminals[party].type(party, "approve", "--yes", "--digest", digest)
    until(lambda: "ready for a run" in coordinator.type("project", "status", "deployed"))
    coordinator.type("project", "start", "deployed")
    assert f"{PEOPLE // 2} links" in coordinator.type("project", "watch", "deployed")
    for party in CUSTODIANS:
        wait_for(terminals[party], party, lambda project: project["results"])
    coordinator.type("project", "results", "deployed", "--out", str(root / "run/coordinator/results"))
    assert json.loads((root / "run/coordinator/results/model.json").read_text())


def wait_for(terminal: Terminal, party: str, condition: Callable[[dict[str, Any]], object]) -> None:
    """Until the operator sees it of the project."""

    def seen() -> bool:
        projects = json.loads(terminal.type(party, "status", "--json"))["projects"]
        assert not any(project["blocking_error"] for project in projects), projects
        return any(condition(project) for project in projects)

    until(seen)


def check_links(root: Path) -> None:
    """Each custodian holds its own identifiers under ids that only the two of them can join, and all are right."""
    shares = {}
    for party in CUSTODIANS:
        (share,) = (root / "var/lib/gemel" / party / "results/deployed").glob("*/links.parquet")
        shares[party] = pl.read_parquet(share)
    joined = shares["alice"].join(shares["bob"], on="link_id", suffix="_bob")
    found = set(zip(joined["identifier"], joined["identifier_bob"], strict=True))
    assert found == {(f"a{number}", f"b{number}") for number in range(PEOPLE // 2, PEOPLE)}


def check_who_listens(site: Site, services: dict[str, Service], ready: dict[str, dict[str, object]]) -> None:
    """A custodian listens on its own loopback address only; Carole on one port, and on loopback for her probes."""
    host, _, port = site.carole.rpartition(":")
    pages = {party: tuple(str(ready[party]["observability"]).rsplit(":", 1)) for party in SERVICES}
    page = {party: (address, int(number)) for party, (address, number) in pages.items()}
    assert by_service(site, services["carole"]) == {(host, int(port)), page["carole"]}
    assert all(address.startswith("127.") for address, _ in page.values())
    for party in CUSTODIANS:
        sockets = by_service(site, services[party]) - {page[party]}
        assert len(sockets) == 1
        ((address, number),) = sockets
        assert address.startswith("127.")
        assert ready[party]["address"] == f"{address}:{number}"
        if site.isolated:
            # Carole is linked to the custodian and finds nothing there; the other custodian is not linked at all.
            assert reach(site, "carole", site.host(party), number) == "ConnectionRefusedError"
            other = "bob" if party == "alice" else "alice"
            assert reach(site, other, site.host(party), number) == "OSError: Network is unreachable"
    for caller in CALLERS if site.isolated else ():
        assert reach(site, caller, "carole", 7443) == "connected"


def by_service(site: Site, service: Service) -> set[tuple[str, int]]:
    # In a namespace of its own, everything in it: no other process can listen there for the party unseen.
    return listening(service.process.pid, own=not site.isolated)


def reach(site: Site, party: str, host: str, port: int) -> str:
    """What comes of connecting from a party's network."""
    program = f"""
import socket
try:
    socket.create_connection(({host!r}, {port}), 3).close()
    print("connected")
except ConnectionRefusedError as error:
    print("ConnectionRefusedError")
except OSError as error:
    print("OSError:", error.strerror)
"""
    command = site.command(party, [sys.executable, "-I", "-S", "-c", program])
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
