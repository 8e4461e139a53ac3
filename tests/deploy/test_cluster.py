"""deploy/helm/gemel-cluster and deploy/compose.cluster.yaml: who reaches whom, and configurations that are ones."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from gemel.carole.cluster.cluster_units import cluster_units
from gemel.carole.cluster.engine_section import DaskEngine
from gemel.carole.cluster.processes import SchedulerConfiguration, WorkerConfiguration
from gemel.carole.configuration import load_carole, template
from gemel.common.configuration import load_configuration
from gemel.common.keys.vault import WrappingKeys
from tests.deploy.documents import blocks, sections, typed_commands
from tests.deploy.rendering import Rendered, answer_of, assert_answers, assert_confined
from tests.deploy.sites import DEPLOY, REPOSITORY, until
from tests.ports import free_port

COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.cluster.yaml").read_text())
PORTS = {"scheduler": 8786, "worker": 8788}


def text(name: str) -> str:
    return (DEPLOY / f"helm/{name}.yaml").read_text()


def values(**workers: Any) -> dict[str, Any]:
    return {
        "scheduler": {"configuration": text("scheduler")},
        "workers": {"configuration": text("worker"), **workers},
    }


OBJECTS = [{"to": [{"ipBlock": {"cidr": "192.0.2.9/32"}}], "ports": [{"port": 9000}]}]
GOOD = {"plain": values(), "bucket": values(replicas=8, egress=OBJECTS), "claim": values(blobsClaim="carole-blobs")}
BAD = {
    "no configuration": ({"scheduler": {"configuration": "version: 1"}, "workers": {}}, "configuration"),
    "a tag that moves": ({**values(), "image": {"tag": "latest"}}, "tag"),
    "a misspelt value": (values(replica=1), "replica"),
}


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    return answer_of("gemel-cluster", GOOD, BAD, "compose.cluster.yaml")


def of(answer: dict[str, Any], name: str, kind: str) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one for one in Rendered(answer, name).of(kind)}


def test_the_tools_accept_what_is_meant_and_refuse_the_rest(answer: dict[str, Any]) -> None:
    assert_answers(answer, GOOD, BAD)


@pytest.mark.parametrize("name", GOOD)
def test_pods_are_confined_and_see_no_more_than_they_need(answer: dict[str, Any], name: str) -> None:
    deployments = of(answer, name, "Deployment")
    assert set(deployments) == set(PORTS)
    for part, deployment in deployments.items():
        spec = deployment["spec"]["template"]["spec"]
        assert_confined(spec, "gemel-carole:0.1.0")
        (container,) = spec["containers"]
        assert container["command"] == ["gemel", "carole", part, "--config", f"/etc/gemel/{part}.yaml"]
        assert [port["containerPort"] for port in container["ports"]] == [PORTS[part]]
        writable = {mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")}
        assert writable == {"/var/cache/gemel", "/tmp"}
        volumes = {volume["name"]: volume for volume in spec["volumes"]}
        assert volumes["keys"]["emptyDir"]["medium"] == "Memory"
        assert volumes["secret"]["secret"]["secretName"] == f"cluster-{part}-keys"
        assert ("blobs" in volumes) == (name == "claim" and part == "worker")
        (map_,) = (one for key, one in of(answer, name, "ConfigMap").items() if key == part)
        assert map_["data"] == {f"{part}.yaml": text(part)}
    assert deployments["worker"]["spec"]["replicas"] == (8 if name == "bucket" else 2)


def test_carole_reaches_the_scheduler_it_the_workers_and_they_nothing_else(answer: dict[str, Any]) -> None:
    policies = of(answer, "bucket", "NetworkPolicy")
    deployments = of(answer, "bucket", "Deployment")
    labels = {part: deployments[part]["spec"]["template"]["metadata"]["labels"] for part in PORTS}
    pods = {part: {"podSelector": {"matchLabels": labels[part]}} for part in PORTS}
    ports = {part: [{"port": port, "protocol": "TCP"}] for part, port in PORTS.items()}
    both = ["Ingress", "Egress"]
    assert policies["nothing-else"]["spec"] == {"podSelector": {}, "policyTypes": both, "ingress": [], "egress": []}
    carole = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "gemel-carole"}},
        "podSelector": {"matchLabels": {"app.kubernetes.io/name": "gemel", "app.kubernetes.io/component": "carole"}},
    }
    assert policies["scheduler"]["spec"] == {
        "podSelector": {"matchLabels": labels["scheduler"]},
        "policyTypes": both,
        "ingress": [{"from": [carole, pods["worker"]], "ports": ports["scheduler"]}],
        "egress": [{"to": [pods["worker"]], "ports": ports["worker"]}],
    }
    spec = policies["worker"]["spec"]
    assert spec["ingress"] == [{"from": [pods["scheduler"], pods["worker"]], "ports": ports["worker"]}]
    names, *others = spec["egress"]
    assert {port["port"] for port in names["ports"]} == {53}
    assert others == [
        {"to": [pods["scheduler"]], "ports": ports["scheduler"]},
        {"to": [pods["worker"]], "ports": ports["worker"]},
        *OBJECTS,
    ]
    (service,) = of(answer, "bucket", "Service").values()
    assert service["spec"]["selector"] == labels["scheduler"]
    assert (service["metadata"]["name"], service["spec"]["ports"][0]["port"]) == ("scheduler", 8786)


def test_the_configurations_are_ones_and_fit_each_other() -> None:
    scheduler = load_configuration(DEPLOY / "helm/scheduler.yaml", SchedulerConfiguration)
    worker = load_configuration(DEPLOY / "helm/worker.yaml", WorkerConfiguration)
    assert worker.engine.address == "tls://scheduler:8786"
    assert (scheduler.listen, worker.listen) == ("0.0.0.0:8786", "0.0.0.0:8788")
    assert worker.keys == worker.engine.key.parent == scheduler.key.parent == Path("/etc/gemel/keys")


def test_compose_gives_carole_the_scheduler_alone_and_workers_her_blobs_alone() -> None:
    services = COMPOSE["services"]
    assert services["carole"]["networks"] == ["carole-scheduler"]
    assert services["scheduler"]["networks"] == ["carole-scheduler", "scheduler-worker"]
    assert services["worker"]["networks"] == ["scheduler-worker"]
    assert COMPOSE["networks"] == {name: {"internal": True} for name in ("carole-scheduler", "scheduler-worker")}
    carole = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    for part in PORTS:
        service = services[part]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["image"] == carole["services"]["carole"]["image"]
        assert not {"ports", "expose", "privileged", "environment"} & service.keys()
        assert all(mount["read_only"] for mount in service["volumes"])
        assert service["command"] == ["gemel", "carole", part, "--config", f"/etc/gemel/{part}.yaml"]
    (volume,) = (mount for mount in services["worker"]["volumes"] if mount["type"] == "volume")
    assert (volume["source"], volume["volume"]) == ("carole", {"subpath": "blobs"})
    assert volume["source"] in carole["volumes"]


def test_the_recipe_by_hand_makes_a_cluster(tmp_path: Path) -> None:
    """Its commands and configurations as they are printed, but for addresses and for where Carole's blobs are."""
    text = sections(REPOSITORY / "docs/cluster.md")["By hand"]
    make, scheduler, worker, _, engine = blocks(text)
    port, blobs = free_port(), tmp_path / "blobs"
    blobs.mkdir()
    (blobs / "identity").write_text("a store\n")

    def here(configuration: str) -> str:
        for old, new in (("scheduler.example.org:8786", f"127.0.0.1:{port}"), ("/srv/carole/blobs", str(blobs))):
            configuration = configuration.replace(old, new)
        return re.sub(r"listen: 0\.0\.0\.0:8786", f"listen: 127.0.0.1:{port}", configuration).replace(":8788", ":0")

    (tmp_path / "scheduler.yaml").write_text(here(scheduler))
    (tmp_path / "worker.yaml").write_text(here(worker))
    (tmp_path / "carole.yaml").write_text(template("127.0.0.1:0") + here(engine))
    (tmp_path / "keys").mkdir()
    WrappingKeys.create().save(tmp_path / "keys" / "wrapping.key")

    def begin(words: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-m", "gemel", *words], cwd=tmp_path)

    keys, serve, work, *_ = typed_commands(text)
    assert blocks(text)[0] == make
    assert begin(keys).wait(60) == 0
    assert {path.name for path in (tmp_path / "cluster").iterdir()} == {
        "authority", "carole", "scheduler", "worker-1", "worker-2",
    }  # fmt: skip
    processes = [begin([*serve, "--ready-file", str(tmp_path / "ready")])]
    try:
        until(lambda: (tmp_path / "ready").exists() or processes[0].poll() is not None)
        processes.append(begin(work))
        configured = load_carole(tmp_path / "carole.yaml").engine
        assert isinstance(configured, DaskEngine)
        with cluster_units(configured, []) as pool:
            assert pool.executor.submit(os.getpid).result(60) == processes[1].pid
    finally:
        for process in reversed(processes):
            process.terminate()
        assert [process.wait(60) for process in processes] == [0, 0][: len(processes)]
