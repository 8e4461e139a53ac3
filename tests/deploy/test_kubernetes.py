"""deploy/helm: who can reach whom, what a pod may do, and keys that the service takes.

The chart is rendered and checked by `rendering.py`.
"""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from gemel.common.keys.identity_configuration import open_identity
from gemel.common.keys.vault import WrappingKeys
from gemel.common.pki.folders import PartyFolder
from gemel.common.rpc.tls import TlsFiles
from gemel.coordinator.provisioning import Provisioned, provision
from tests.deploy.dockerfile import stages
from tests.deploy.rendering import Rendered, answer_of, assert_answers, assert_confined
from tests.deploy.sites import CALLERS, CUSTODIANS, DEPLOY, PARTIES, PORTS, ROLES, SERVICES, until

COMMANDS = {"coordinator": ["project", "status"], "steward": ["steward", "list"]}
DIGEST = "sha256:" + "0123456789abcdef" * 4


def configuration(party: str) -> str:
    """Of a service, for a pod; of the others, as everywhere."""
    folder = DEPLOY / ("helm" if party in SERVICES else party)
    return (folder / f"{party}.yaml").read_text()


def values(party: str, **more: Any) -> dict[str, Any]:
    return {"party": party, "configuration": configuration(party), "command": COMMANDS.get(party, []), **more}


GOOD = {
    **{party: values(party) for party in PARTIES},
    "init": values("carole", storeJob="init"),
    "upgrade": values("carole", storeJob="upgrade", image={"digest": DIGEST}),
    "outside": values("carole", service={"type": "LoadBalancer", "sourceRanges": ["192.0.2.0/24"]}),
    "postgres": values("carole", egress=[{"to": [{"ipBlock": {"cidr": "192.0.2.9/32"}}], "ports": [{"port": 5432}]}]),
    "elsewhere": values("alice", carole={"address": "192.0.2.7"}, records={"existingClaim": "census"}),
    "elsewhere by IPv6": values("bob", carole={"address": "2001:db8::7"}, storage={"class": "fast", "size": "1Ti"}),
    "own PKI": values("carole", certificateSecret="carole-tls"),
    "create": values("coordinator", command=["project", "create", "l.yaml"], files={"l.yaml": "version: 1\n"}),
}
BAD = {
    "no party": ({"party": "dora", "configuration": "version: 1"}, "party"),
    "no configuration": (values("alice", configuration=""), "configuration"),
    "no command": (values("steward", command=[]), "command"),
    "a command for a service": (values("alice", command=["alice", "status"]), "command"),
    "another's store": (values("alice", storeJob="init"), "storeJob"),
    "a tag that moves": (values("bob", image={"tag": "latest"}), "tag"),
    "half a digest": (values("bob", image={"digest": "sha256:0123"}), "digest"),
    "a misspelt value": (values("bob", storag={"size": "1Gi"}), "storag"),
}


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    """What the tools say of everything, in one go."""
    return answer_of("gemel", GOOD, BAD, "compose.yaml", "compose.remote.yaml")


def test_the_tools_accept_what_is_meant_and_refuse_the_rest(answer: dict[str, Any]) -> None:
    assert_answers(answer, GOOD, BAD)


@pytest.mark.parametrize("name", GOOD)
def test_a_pod_is_confined(answer: dict[str, Any], name: str) -> None:
    rendered = Rendered(answer, name)
    party = GOOD[name]["party"]
    assert party in stages()
    assert_confined(rendered.pod, f"gemel-{party}@{DIGEST}" if name == "upgrade" else f"gemel-{party}:0.1.0")


@pytest.mark.parametrize("name", GOOD)
def test_the_layout_and_what_is_read_only(answer: dict[str, Any], name: str) -> None:
    rendered = Rendered(answer, name)
    party, spec = GOOD[name]["party"], rendered.pod
    (container,) = spec["containers"]
    mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
    own = f"/etc/gemel/{party}"
    writable = {f"/var/lib/gemel/{party}", "/var/cache/gemel", "/tmp"}
    read_only = {f"{own}/{party}.yaml", f"{own}/keys"} | ({f"/srv/gemel/{party}"} if party in CUSTODIANS else set())
    read_only |= {f"/srv/gemel/{party}/{file}" for file in GOOD[name].get("files", ())}
    assert set(mounts) == writable | read_only
    assert all(mounts[path].get("readOnly") is True for path in read_only)
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    containers = (*spec["initContainers"], container)
    assert {mount["name"] for each in containers for mount in each["volumeMounts"]} == set(volumes)
    # The copy of the keys is in memory and goes with the pod; the service never sees the secret itself.
    assert volumes["keys"]["emptyDir"]["medium"] == "Memory"
    assert "secret" not in {mount["name"] for mount in container["volumeMounts"]}
    own_pki = GOOD[name].get("certificateSecret")
    files = [{"key": "tls.crt", "path": "certificate.pem"}, {"key": "tls.key", "path": "tls.key"}]
    assert volumes["secret"]["projected"] == {
        "defaultMode": 0o440,
        "sources": [
            {"secret": {"name": f"{party}-keys"}},
            *([{"secret": {"name": own_pki, "items": files}}] if own_pki else []),
        ],
    }
    (map_,) = rendered.of("ConfigMap")
    assert volumes["configuration"]["configMap"] == {"name": map_["metadata"]["name"]}
    assert map_["data"] == {f"{party}.yaml": configuration(party), **GOOD[name].get("files", {})}
    made = {claim["metadata"]["name"] for claim in rendered.of("PersistentVolumeClaim")}
    used = {one["persistentVolumeClaim"]["claimName"] for one in volumes.values() if "persistentVolumeClaim" in one}
    assert used - made == ({"census"} if name == "elsewhere" else set())
    assert made <= used


@pytest.mark.parametrize("party", SERVICES)
def test_a_service_is_one_pod_with_true_probes(answer: dict[str, Any], party: str) -> None:
    rendered = Rendered(answer, party)
    (deployment,) = rendered.of("Deployment")
    # Two at once would share one store.
    assert deployment["spec"]["replicas"] == 1
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == labels
    (budget,) = rendered.of("PodDisruptionBudget")
    assert budget["spec"] == {"maxUnavailable": 0, "selector": {"matchLabels": labels}}
    (container,) = rendered.pod["containers"]
    ports = {named["name"]: named["containerPort"] for named in container["ports"]}
    for probe, path in (("readinessProbe", "/readyz"), ("livenessProbe", "/livez"), ("startupProbe", "/livez")):
        called = container[probe]["httpGet"]
        assert (called["path"], ports[called["port"]]) == (path, PORTS[party])
    # The checks themselves answer within four seconds.
    assert container["readinessProbe"]["timeoutSeconds"] > 4
    observed = yaml.safe_load(configuration(party))["observability"]
    assert (observed["listen"], observed["allow_remote"]) == (f"0.0.0.0:{PORTS[party]}", True)


def test_only_carole_has_a_service_and_lets_anybody_in(answer: dict[str, Any]) -> None:
    carole = Rendered(answer, "carole")
    (service,) = carole.of("Service")
    (deployment,) = carole.of("Deployment")
    assert [port["port"] for port in service["spec"]["ports"]] == [7443]
    assert service["metadata"]["name"] == "carole"
    assert service["spec"]["selector"] == deployment["spec"]["template"]["metadata"]["labels"]
    (policy,) = carole.of("NetworkPolicy")
    metrics = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    assert policy["spec"] == {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [
            {"ports": [{"port": 7443, "protocol": "TCP"}]},
            {"from": [metrics], "ports": [{"port": 9464, "protocol": "TCP"}]},
        ],
        "egress": [],
    }
    (postgres,) = Rendered(answer, "postgres").of("NetworkPolicy")
    assert postgres["spec"]["egress"] == GOOD["postgres"]["egress"]
    (outside,) = Rendered(answer, "outside").of("Service")
    assert (outside["spec"]["type"], outside["spec"]["loadBalancerSourceRanges"]) == ("LoadBalancer", ["192.0.2.0/24"])


@pytest.mark.parametrize(
    ("name", "carole"),
    [
        *((party, {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "gemel-carole"}}})
          for party in CALLERS),
        ("elsewhere", {"ipBlock": {"cidr": "192.0.2.7/32"}}),
        ("elsewhere by IPv6", {"ipBlock": {"cidr": "2001:db8::7/128"}}),
    ],
)  # fmt: skip
def test_all_others_call_carole_and_no_one_calls_them(
    answer: dict[str, Any], name: str, carole: dict[str, Any]
) -> None:
    rendered = Rendered(answer, name)
    assert not {"Service", "Ingress"} & {one["kind"] for one in rendered.objects}
    (policy,) = rendered.of("NetworkPolicy")
    assert policy["spec"]["podSelector"] == {}
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert policy["spec"]["ingress"] == []
    dns, to_carole = policy["spec"]["egress"]
    assert {port["port"] for port in dns["ports"]} == {53}
    assert to_carole == {"to": [carole], "ports": [{"port": 7443, "protocol": "TCP"}]}
    # The name in everyone's configuration.
    if "ipBlock" in carole:
        address = carole["ipBlock"]["cidr"].partition("/")[0]
        assert rendered.pod["hostAliases"] == [{"ip": address, "hostnames": ["carole"]}]
    else:
        assert rendered.pod["dnsConfig"] == {"searches": ["gemel-carole.svc.cluster.local"]}


@pytest.mark.parametrize("name", ["init", "upgrade"])
def test_the_job_on_the_store_runs_alone_and_where_carole_will(answer: dict[str, Any], name: str) -> None:
    rendered, own = Rendered(answer, name), Rendered(answer, "carole")
    (deployment,) = rendered.of("Deployment")
    assert deployment["spec"]["replicas"] == 0
    (container,), (carole,) = rendered.pod["containers"], own.pod["containers"]
    assert container["command"] == ["gemel", "carole", name, "--config", "/etc/gemel/carole/carole.yaml"]
    assert container["volumeMounts"] == carole["volumeMounts"]
    assert rendered.pod["volumes"] == own.pod["volumes"]
    assert rendered.pod["restartPolicy"] == "Never"
    (job,) = rendered.of("Job")
    assert job["spec"]["backoffLimit"] == 0
    # The Service of Carole does not lead to it.
    (service,) = own.of("Service")
    assert not service["spec"]["selector"].items() <= job["spec"]["template"]["metadata"]["labels"].items()


@pytest.mark.parametrize("name", ["coordinator", "steward", "create"])
def test_a_command_is_a_job(answer: dict[str, Any], name: str) -> None:
    rendered = Rendered(answer, name)
    assert not rendered.of("Deployment")
    (container,) = rendered.pod["containers"]
    assert container["command"] == ["gemel", *GOOD[name]["command"]]


@pytest.fixture(scope="module")
def parties(tmp_path_factory: pytest.TempPathFactory) -> Provisioned:
    return provision(tmp_path_factory.mktemp("parties"), linker_names=["carole"])


@pytest.mark.parametrize("party", SERVICES)
def test_the_init_container_makes_keys_that_the_service_takes(
    answer: dict[str, Any], party: str, parties: Provisioned, tmp_path: Path
) -> None:
    """Its own command, on a secret mounted as the kubelet mounts one: links to files that a group may read."""
    secret, keys = tmp_path / "secret", tmp_path / "keys"
    (secret / "..data").mkdir(parents=True)
    keys.mkdir()
    for file in parties.parties[party].path.iterdir():
        (secret / "..data" / file.name).write_bytes(file.read_bytes())
        (secret / "..data" / file.name).chmod(0o440)
        (secret / file.name).symlink_to(f"..data/{file.name}")
    init, _ = Rendered(answer, party).pod["initContainers"]
    shell, option, command = init["command"]
    assert (shell, option) == ("sh", "-c")
    command = command.replace("/run/secrets/gemel", str(secret)).replace(f"/etc/gemel/{party}/keys", str(keys))
    subprocess.run([shell, option, command], check=True)
    folder = PartyFolder(keys)
    TlsFiles.load(keys, ROLES[party])
    open_identity(None, folder.identity)
    WrappingKeys.load(folder.wrapping)
    assert {stat.S_IMODE(file.stat().st_mode) for file in keys.iterdir()} == {0o400}
    assert {file.name for file in keys.iterdir()} == {file.name for file in parties.parties[party].path.iterdir()}


def test_what_changes_in_the_secret_reaches_the_service_while_it_runs(
    answer: dict[str, Any], parties: Provisioned, tmp_path: Path
) -> None:
    """The second container's own command; the kubelet replaces the folder behind the links."""
    secret, keys = tmp_path / "secret", tmp_path / "keys"
    keys.mkdir()
    files = {file.name: file.read_bytes() for file in parties.parties["carole"].path.iterdir()}

    def project(folder: str, content: dict[str, bytes]) -> None:
        (secret / folder).mkdir(parents=True)
        for name, data in content.items():
            (secret / folder / name).write_bytes(data)
            if not (secret / name).is_symlink():
                (secret / name).symlink_to(f"..data/{name}")
        (secret / "..new").symlink_to(folder)
        (secret / "..new").rename(secret / "..data")

    def copied() -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in keys.iterdir() if file.name != ".new"}

    _, renewals = Rendered(answer, "carole").pod["initContainers"]
    assert (renewals["restartPolicy"], renewals["workingDir"]) == ("Always", "/etc/gemel/carole/keys")
    command = renewals["command"][2].replace("/run/secrets/gemel", str(secret)).replace("sleep 5", "sleep 0.2")
    project("..1", files)
    with subprocess.Popen([*renewals["command"][:2], command], cwd=keys) as running:
        try:
            until(lambda: copied() == files, shown=copied)
            newer = {**files, "certificate.pem": b"renewed", "tls.key": b"renewed"}
            project("..2", newer)
            until(lambda: copied() == newer, shown=copied)
            assert {stat.S_IMODE(file.stat().st_mode) for file in keys.iterdir()} == {0o400}
        finally:
            running.terminate()
        assert running.wait(20) == 0
