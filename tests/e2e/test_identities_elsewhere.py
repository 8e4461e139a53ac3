"""A linkage in which no identity is a file: Carole's and the coordinator's on a token, the custodians' in a vault."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gemel.carole.service.supervisor import Supervisor
from gemel.command import app
from gemel.common.configuration import load_configuration, parse_configuration
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.members import Members
from gemel.party.own_keys import IdentitySection
from tests.common.keys.key_stores import TransitServer, softhsm
from tests.e2e.deployment import STATE, Deployment, specification
from tests.typed import printed

REPOSITORY = Path(__file__).resolve().parents[2]
MANUAL = (REPOSITORY / "deploy" / "README.md").read_text()
TOKEN, VAULT = re.findall(r"```yaml\n(identity:.*?)```", MANUAL, flags=re.DOTALL)


def test_both_blocks_of_the_manual_are_valid() -> None:
    read = [
        parse_configuration(text, IdentitySection, folder=Path(), where="README").identity for text in (TOKEN, VAULT)
    ]
    assert [place.vault is None for place in read if place is not None] == [True, False]


def move(made: Deployment, configs: dict[str, Path], places: dict[str, str]) -> None:
    """Make the identities where `places` says, and the membership list and what rests on it with them."""
    listed = {member.name: member for member in made.made.members}
    for name, block in places.items():
        configs[name].write_text(configs[name].read_text() + block)
        shown = printed("party", "identity", "--config", configs[name])
        folder = PartyFolder(made.folders[name])
        identity = open_identity(load_configuration(configs[name], IdentitySection).identity, folder.identity)
        assert identity.public.fingerprint in shown
        listed[name] = replace(listed[name], identity=identity.public)
        folder.identity.unlink()
    before, members = made.made.members, Members(listed.values())
    for name, path in made.folders.items():
        PartyFolder(path).members.write_text(members.dump())
        text = configs[name].read_text() if name in configs else ""
        for member in before:
            text = text.replace(member.identity.fingerprint, members.named(member.name).identity.fingerprint)
        if text:
            configs[name].write_text(text)
    # The log begins with the identity that Carole has now.
    shutil.rmtree(made.folders["carole"] / "store")
    printed("carole", "init", "--config", made.carole_yaml)


def test_files_are_linked(deploy: Callable[..., Deployment], tmp_path: Path) -> None:
    text = specification("elsewhere")
    made = deploy(text)
    (tmp_path / "vault").mkdir()
    vault = TransitServer(tmp_path / "vault")
    configs = {side.value: path for side, path in made.configs.items()}
    configs |= {"carole": made.carole_yaml, "coordinator": made.coordinator_yaml}
    on_token = TOKEN.replace("keys/token.pin", str(softhsm(tmp_path)))
    in_vault = VAULT.replace("https://vault.example:8200", vault.address)
    for name, file in (("token", vault.token_file), ("pem", vault.authorities)):
        in_vault = in_vault.replace(f"keys/vault.{name}", str(file))
    move(
        made,
        configs,
        {
            "carole": on_token,
            "coordinator": on_token.replace("carole-identity", "coordinator-identity"),
            "alice": in_vault.replace("carole-identity", "alice-identity"),
            "bob": in_vault.replace("carole-identity", "bob-identity"),
        },
    )
    made.start_carole(Supervisor)
    made.start_custodians()
    project, run = made.link(text)
    assert run.links > 0
    assert made.status(project).state == STATE.PROJECT_STATE_RELEASED
    assert "Intact" in printed("audit", "verify", "--config", made.carole_yaml)
    assert "failed" not in printed("carole", "check", "--config", made.carole_yaml)
    vault.stop()


def test_a_list_with_another_identity_is_refused_at_the_start(deploy: Callable[..., Deployment]) -> None:
    made = deploy(specification("other"))
    listed = {member.name: member for member in made.made.members}
    swapped = replace(listed["carole"], identity=listed["alice"].identity)
    other = replace(listed["alice"], identity=listed["carole"].identity)
    members = Members([swapped, other, *(listed[name] for name in listed if name not in ("carole", "alice"))])
    PartyFolder(made.folders["carole"]).members.write_text(members.dump())
    ran = CliRunner().invoke(app, ["carole", "check", "--config", str(made.carole_yaml)])
    assert "another identity key for carole" in ran.output
    with pytest.raises(Exception, match="another identity key for carole"):
        made.start_carole()
