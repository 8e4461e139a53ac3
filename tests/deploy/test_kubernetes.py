"""deploy/kubernetes: who can reach whom, what a pod may do, and keys that the service takes."""

from __future__ import annotations

import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.dockerfile import stages
from tests.deploy.sites import DEPLOY
from tryst.common.keys.identity import Identity
from tryst.common.keys.wrapping import WrappingKeys
from tryst.common.parties import Role
from tryst.common.pki.folders import PartyFolder
from tryst.common.pki.provisioning import Provisioned, provision
from tryst.common.rpc.tls import TlsFiles

SERVICES = ("alice", "bob", "carole")
CUSTODIANS = ("alice", "bob")
ROLES = {"alice": Role.CUSTODIAN_A, "bob": Role.CUSTODIAN_B, "carole": Role.LINKER}


def objects(party: str) -> dict[str, list[dict[str, Any]]]:
    """The objects of a party's file, by kind."""
    found: dict[str, list[dict[str, Any]]] = {}
    for document in yaml.safe_load_all((DEPLOY / f"kubernetes/{party}.yaml").read_text()):
        found.setdefault(document["kind"], []).append(document)
    return found


def pod(party: str) -> dict[str, Any]:
    (deployment,) = objects(party)["Deployment"]
    spec: dict[str, Any] = deployment["spec"]["template"]["spec"]
    return spec


def containers(party: str) -> Iterator[dict[str, Any]]:
    yield from pod(party)["initContainers"]
    yield from pod(party)["containers"]


@pytest.mark.parametrize("party", SERVICES)
def test_everything_is_in_the_partys_namespace(party: str) -> None:
    found = objects(party)
    (namespace,) = found.pop("Namespace")
    assert namespace["metadata"]["name"] == f"tryst-{party}"
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    assert {one["metadata"]["namespace"] for kind in found.values() for one in kind} == {f"tryst-{party}"}


def test_only_carole_has_a_service_and_lets_anybody_in() -> None:
    (service,) = objects("carole")["Service"]
    assert [port["port"] for port in service["spec"]["ports"]] == [7443]
    (policy,) = objects("carole")["NetworkPolicy"]
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    metrics = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    assert policy["spec"]["ingress"] == [
        {"ports": [{"port": 7443, "protocol": "TCP"}]},
        {"from": [metrics], "ports": [{"port": 9464, "protocol": "TCP"}]},
    ]
    assert policy["spec"]["egress"] == []
    for party in CUSTODIANS:
        found = objects(party)
        assert not {"Service", "Ingress"} & found.keys()
        (policy,) = found["NetworkPolicy"]
        assert policy["spec"]["podSelector"] == {}
        assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
        assert policy["spec"]["ingress"] == []
        ports = {port["port"] for rule in policy["spec"]["egress"] for port in rule["ports"]}
        assert ports == {53, 7443}
        assert all("ports" not in container for container in containers(party))
        assert not pod(party).get("hostNetwork")


@pytest.mark.parametrize("party", SERVICES)
def test_a_pod_is_confined(party: str) -> None:
    (deployment,) = objects(party)["Deployment"]
    # Two at once would share one store.
    assert deployment["spec"]["replicas"] == 1
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    assert deployment["spec"]["selector"]["matchLabels"] == deployment["spec"]["template"]["metadata"]["labels"]
    spec = pod(party)
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == spec["securityContext"]["fsGroup"] == 10001
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()
    for container in containers(party):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["image"] == f"tryst-{party}"
    assert party in stages()


def test_the_job_that_makes_the_store_has_caroles_volumes_and_confinement() -> None:
    """It differs from her own pod in what it runs, and in nothing that decides where the store is."""
    job = yaml.safe_load((DEPLOY / "kubernetes/carole-init.yaml").read_text())
    spec, own = job["spec"]["template"]["spec"], pod("carole")
    assert (job["kind"], job["metadata"]["namespace"]) == ("Job", "tryst-carole")
    (container,), (carole,) = spec["containers"], own["containers"]
    assert container["command"] == ["tryst", "carole", "init", "--config", "/etc/tryst/carole/carole.yaml"]
    assert all(container[name] == carole[name] for name in ("image", "securityContext", "volumeMounts"))
    assert spec.pop("restartPolicy") == "Never"
    assert {name: value for name, value in spec.items() if name != "containers"} == {
        name: value for name, value in own.items() if name != "containers"
    }


@pytest.mark.parametrize("party", SERVICES)
def test_the_layout_and_what_is_read_only(party: str) -> None:
    spec = pod(party)
    (container,) = spec["containers"]
    mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
    own = f"/etc/tryst/{party}"
    writable = {f"/var/lib/tryst/{party}", "/var/cache/tryst", "/tmp"}
    read_only = {f"{own}/{party}.yaml", f"{own}/keys"} | ({f"/srv/tryst/{party}"} if party in CUSTODIANS else set())
    assert set(mounts) == writable | read_only
    assert all(mounts[path].get("readOnly") is True for path in read_only)
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    assert {mount["name"] for each in containers(party) for mount in each["volumeMounts"]} == set(volumes)
    # The copy of the keys is in memory and goes with the pod; the service never sees the secret itself.
    assert volumes["keys"]["emptyDir"]["medium"] == "Memory"
    assert "secret" not in {mount["name"] for mount in container["volumeMounts"]}
    assert volumes["secret"]["secret"] == {"secretName": f"{party}-keys", "defaultMode": 0o440}
    assert volumes["configuration"]["configMap"] == {"name": party}
    claims = {claim["metadata"]["name"] for claim in objects(party)["PersistentVolumeClaim"]}
    assert claims == {
        volume["persistentVolumeClaim"]["claimName"] for volume in volumes.values() if "persistentVolumeClaim" in volume
    }


@pytest.mark.parametrize(("party", "port"), [("carole", 9464), ("alice", 9465), ("bob", 9466)])
def test_probes_are_http_on_the_port_of_the_pods_configuration(party: str, port: int) -> None:
    (container,) = pod(party)["containers"]
    names = {named["name"]: named["containerPort"] for named in container.get("ports", [])}
    for probe, path in (("readinessProbe", "/readyz"), ("livenessProbe", "/livez")):
        called = container[probe]["httpGet"]
        assert (called["path"], names.get(called["port"], called["port"])) == (path, port)
        # The checks themselves answer within four seconds.
        assert container[probe]["timeoutSeconds"] > 4
    configuration = yaml.safe_load((DEPLOY / f"kubernetes/configuration/{party}.yaml").read_text())
    assert configuration["observability"]["listen"] == f"0.0.0.0:{port}"
    assert configuration["observability"]["allow_remote"] is True


@pytest.fixture(scope="module")
def parties(tmp_path_factory: pytest.TempPathFactory) -> Provisioned:
    return provision(tmp_path_factory.mktemp("parties"), linker_names=["carole"])


@pytest.mark.parametrize("party", SERVICES)
def test_the_init_container_makes_keys_that_the_service_takes(party: str, parties: Provisioned, tmp_path: Path) -> None:
    """Its own command, on a secret mounted as the kubelet mounts one: links to files that a group may read."""
    secret, keys = tmp_path / "secret", tmp_path / "keys"
    (secret / "..data").mkdir(parents=True)
    keys.mkdir()
    for file in parties.parties[party].path.iterdir():
        (secret / "..data" / file.name).write_bytes(file.read_bytes())
        (secret / "..data" / file.name).chmod(0o440)
        (secret / file.name).symlink_to(f"..data/{file.name}")
    (init,) = pod(party)["initContainers"]
    shell, option, command = init["command"]
    assert (shell, option) == ("sh", "-c")
    command = command.replace("/run/secrets/tryst", str(secret)).replace(f"/etc/tryst/{party}/keys", str(keys))
    subprocess.run([shell, option, command], check=True)
    folder = PartyFolder(keys)
    TlsFiles.load(keys, ROLES[party])
    Identity.load(folder.identity)
    WrappingKeys.load(folder.wrapping)
    assert {stat.S_IMODE(file.stat().st_mode) for file in keys.iterdir()} == {0o400}
    assert {file.name for file in keys.iterdir()} == {file.name for file in parties.parties[party].path.iterdir()}
