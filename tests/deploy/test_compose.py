"""deploy/compose.yaml: who can reach whom, and what a container may do."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from tests.deploy.dockerfile import stages
from tests.deploy.sites import CALLERS, CUSTODIANS, DEPLOY, PARTIES
from tests.deploy.sites import COMMANDS as COMPUTING

COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
REMOTE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.remote.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


def test_one_service_per_party_from_the_partys_target() -> None:
    assert set(SERVICES) == {*PARTIES, *(f"{party}-compute" for party in COMPUTING)}
    for party in PARTIES:
        service = SERVICES[party]
        assert service["build"] == {"context": "..", "dockerfile": "deploy/Dockerfile", "target": party}
        assert party in stages()
        assert service["image"] == f"gemel-{party}"
    # A command, not a service: it runs when it is called.
    assert SERVICES["coordinator"]["profiles"] == ["coordinator"]
    assert SERVICES["coordinator"]["restart"] == "no"


@pytest.mark.parametrize("party", COMPUTING)
def test_who_computes_is_the_party_in_all_but_that_it_stays(party: str) -> None:
    changed = {"profiles": ["compute"], "restart": "unless-stopped", "mem_limit": 0, "command": ["gemel", "compute"]}
    assert SERVICES[f"{party}-compute"] == SERVICES[party] | changed
    assert REMOTE["services"][f"{party}-compute"] == REMOTE["services"][party]


def test_only_carole_publishes_a_port_and_on_this_machine_by_default() -> None:
    assert SERVICES["carole"]["ports"] == ["${GEMEL_LISTEN:-127.0.0.1}:7443:7443"]
    for party in CALLERS:
        assert not {"ports", "expose", "network_mode", "links"} & SERVICES[party].keys()


@pytest.mark.parametrize("caller", CALLERS)
def test_each_shares_a_network_with_carole_only(caller: str) -> None:
    (network,) = SERVICES[caller]["networks"]
    assert {party for party in PARTIES if network in SERVICES[party]["networks"]} == {caller, "carole"}
    assert COMPOSE["networks"][network] == {"internal": True}


@pytest.mark.parametrize("party", PARTIES)
def test_a_container_may_write_to_its_volume_only(party: str) -> None:
    service = SERVICES[party]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["user"] == "10001:10001"
    assert service["ulimits"] == {"core": 0}
    assert not {"privileged", "cap_add", "devices", "pid", "ipc", "env_file", "environment"} & service.keys()
    mounts = {mount["target"]: mount for mount in service["volumes"]}
    own = f"/etc/gemel/{party}"
    records = {f"/srv/gemel/{party}"} if party in CUSTODIANS else set()
    assert set(mounts) == {f"{own}/{party}.yaml", f"{own}/keys", f"/var/lib/gemel/{party}"} | records
    for target, mount in mounts.items():
        if target.startswith("/var/lib"):
            assert mount == {"type": "volume", "source": party, "target": target}
            assert party in COMPOSE["volumes"]
        else:
            assert mount["type"] == "bind"
            assert mount["read_only"] is True
    # A folder that is not there is an error, not an empty folder.
    for target in {f"{own}/keys"} | records:
        assert mounts[target]["bind"] == {"create_host_path": False}
        assert mounts[target]["source"].endswith(f"/{party}")
    assert (DEPLOY / mounts[f"{own}/{party}.yaml"]["source"]).is_file()
    caches = [entry.partition(":")[0] for entry in service["tmpfs"]]
    assert caches == ["/tmp", "/var/cache/gemel"]


def test_elsewhere_changes_where_carole_is_and_nothing_else() -> None:
    assert set(REMOTE) == {"services", "networks"}
    assert set(REMOTE["services"]) == {*CALLERS, *(f"{party}-compute" for party in COMPUTING)}
    for service in REMOTE["services"].values():
        ((name, address),) = (entry.split(":", 1) for entry in service["extra_hosts"])
        assert name == "carole"
        assert re.match(r"\$\{CAROLE_IP:\?", address)
        assert set(service) == {"extra_hosts"}
    internal = {name for name, network in COMPOSE["networks"].items() if network.get("internal")}
    assert REMOTE["networks"] == {name: {"internal": False} for name in internal}
