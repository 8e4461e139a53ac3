"""A linkage in which Carole's and Alice's certificates come from PKIs of their own, and are renewed all the while."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from gemel.carole.service.supervisor import Supervisor
from gemel.common.parties import Side
from gemel.common.periodic import Periodic
from gemel.common.pki.certified_names import CertifiedNames
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.members import Members
from tests.common.pki.own_pki import OwnPki
from tests.e2e.deployment import STATE, Deployment, specification

NAMES = {"carole": "carole.unit.example", "alice": "alice.hospital.example"}
SPIFFE = "spiffe://hospital.example/gemel/alice"


def test_files_are_linked(deploy: Callable[..., Deployment], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gemel.common.rpc.trust.LOOK_SECONDS", 0.2)
    text = specification("renewed")
    made = deploy(text)
    pkis = {"carole": OwnPki("unit"), "alice": OwnPki("hospital")}
    known = {
        "carole": CertifiedNames((pkis["carole"].fingerprint,), NAMES["carole"]),
        "alice": CertifiedNames((pkis["alice"].fingerprint,), NAMES["alice"], SPIFFE),
    }
    members = Members(replace(each, certificate=known.get(each.name, each.certificate)) for each in made.made.members)
    folders = {name: PartyFolder(path) for name, path in made.folders.items()}
    authorities = b"".join(pki.root_pem for pki in pkis.values()) + folders["carole"].callers.read_bytes()
    for folder in folders.values():
        folder.members.write_text(members.dump())
        folder.linker.write_bytes(pkis["carole"].root_pem)
    folders["carole"].callers.write_bytes(authorities)
    folders["alice"].callers.write_bytes(pkis["alice"].root_pem)
    renewed = 0

    def renew() -> bool:
        nonlocal renewed
        lasting = timedelta(minutes=2)
        pkis["carole"].renew(folders["carole"].path, lasting=lasting, dns=[NAMES["carole"]])
        pkis["alice"].renew(folders["alice"].path, lasting=lasting, dns=[NAMES["alice"]], uris=[SPIFFE])
        renewed += 1
        return True

    renew()
    made.start_carole(Supervisor)
    made.start_custodians()
    agent = Periodic("agent", 0.5, renew)
    agent.start()
    try:
        project, run = made.link(text)
        assert run.links > 0
        # asked again, as who asks between a new key and its certificate has a pair that does not belong together
        made.eventually(lambda: made.shown(Side.ALICE, project).links == run.links)
    finally:
        agent.stop()
    assert made.status(project).state == STATE.PROJECT_STATE_RELEASED
    assert renewed > 3
