"""Every configuration in deploy/ loads by its own loader, is what the templates make, and keeps to one layout."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from gemel.alice import PARTY as ALICE
from gemel.bob import PARTY as BOB
from gemel.carole.configuration import load_carole
from gemel.common.configuration import load_configuration
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.coordinator.client.client_configuration import CoordinatorConfiguration
from gemel.coordinator.provisioning import provision
from gemel.custodian.configuration import load_custodian
from gemel.custodian.state.row_map import Keyring
from tests.deploy.sites import DEPLOY, PARTIES, PORTS

CONFIGURATIONS: dict[str, str] = runpy.run_path(str(DEPLOY / "configurations.py"))["configurations"]()


@pytest.mark.parametrize("name", sorted(CONFIGURATIONS))
def test_is_what_its_maker_writes(name: str) -> None:
    found = (DEPLOY / name).read_text(encoding="utf-8")
    assert found == CONFIGURATIONS[name], "run python deploy/configurations.py"


def test_there_is_one_per_party() -> None:
    expected = [f"{party}/{party}.yaml" for party in PARTIES]
    expected += [f"helm/{party}.yaml" for party in PORTS]
    assert sorted(CONFIGURATIONS) == sorted(expected)


@pytest.mark.parametrize("party", PORTS)
def test_in_a_pod_only_metrics_and_probes_are_elsewhere(party: str) -> None:
    here = f'  listen: "127.0.0.1:{PORTS[party]}"'
    there = f'  listen: "0.0.0.0:{PORTS[party]}"\n  allow_remote: true'
    everywhere, in_a_pod = (
        re.sub(r" +#.*", "", CONFIGURATIONS[f"{folder}/{party}.yaml"]) for folder in (party, "helm")
    )
    assert in_a_pod == everywhere.replace(here, there)


@pytest.mark.parametrize("side", list(Side))
def test_custodians(side: Side) -> None:
    found = load_custodian(DEPLOY / side / f"{side}.yaml")
    assert found.carole.address == "carole:7443"
    assert found.keys == Path(f"/etc/gemel/{side}/keys")
    assert {found.state.parent, found.results.parent} == {Path(f"/var/lib/gemel/{side}")}
    assert found.source.csv is not None
    assert found.source.csv.path == Path(f"/srv/gemel/{side}/{side}.csv")
    assert found.operator.address == "127.0.0.1:0"
    assert found.policy.approve == ()


def test_carole(tmp_path: Path) -> None:
    # Her loader makes the folder of the database, so the path's root is changed.
    text = (DEPLOY / "carole/carole.yaml").read_text().replace("/var/lib/gemel", f"{tmp_path}/var/lib/gemel")
    (tmp_path / "carole.yaml").write_text(text)
    found = load_carole(tmp_path / "carole.yaml")
    assert found.listen == "0.0.0.0:7443"
    assert found.keys == Path("/etc/gemel/carole/keys")
    assert found.store.database == f"sqlite:///{tmp_path}/var/lib/gemel/carole/carole.db"
    assert found.store.blobs == tmp_path / "var/lib/gemel/carole/blobs"


def test_coordinator() -> None:
    found = load_configuration(DEPLOY / "coordinator/coordinator.yaml", CoordinatorConfiguration)
    assert found.carole.address == "carole:7443"
    assert found.keys == Path("/etc/gemel/coordinator/keys")


@pytest.mark.parametrize("party", [ALICE, BOB], ids=lambda party: party.name)
def test_no_custodian_starts_before_its_operator_has_made_the_call(party, tmp_path: Path) -> None:
    made = provision(tmp_path / "parties", linker_names=["carole"])
    text = (DEPLOY / party.name / f"{party.name}.yaml").read_text()
    text = text.replace(f"/etc/gemel/{party.name}/keys", str(made.parties[party.name].path))
    (tmp_path / "configuration.yaml").write_text(text)
    with pytest.raises(GemelError, match="telephone the other custodian") as caught:
        Keyring.load(load_custodian(tmp_path / "configuration.yaml"), party)
    assert caught.value.code is ErrorCode.CONFIGURATION


@pytest.mark.parametrize(
    ("party", "load"), [("alice", load_custodian), ("bob", load_custodian), ("carole", load_carole)]
)
def test_every_commented_line_is_a_setting_too(party: str, load: Callable[[Path], object], tmp_path: Path) -> None:
    """What stands there as a comment, to be uncommented, is no key that the loader refuses."""
    text = (DEPLOY / party / f"{party}.yaml").read_text().replace("/var/lib/gemel", f"{tmp_path}/var/lib/gemel")
    csv = text[text.index("  csv:") : text.index("  # parquet:")] if "  csv:" in text else ""
    for old, new in (
        (csv, ""),
        ("  # database:\n", "  database:\n"),
        ("  #   url_file", "    url_file"),
        ("  #   query", "    query"),
        ("# seed_file", "seed_file"),
        ("# server_name: ...", "server_name: x"),
    ):
        assert party == "carole" or old in text
        text = text.replace(old, new) if old else text
    (tmp_path / "configuration.yaml").write_text(text)
    load(tmp_path / "configuration.yaml")
