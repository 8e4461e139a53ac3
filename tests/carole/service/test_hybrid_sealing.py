"""A specification with `sealing: hybrid`: nothing is sealed to a key of a former release, by Carole or a custodian."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.sealing_key import FormerKey
from gemel.common.pki import Members, Provisioned
from gemel.common.specification import load_specification
from gemel.coordinator.commands.spec import _lacking
from tests.carole.deployment import SPECIFICATION, Deployment

HYBRID = f"{SPECIFICATION}sealing: hybrid\n"


def with_former_key(members: Members, name: str) -> Members:
    """The list in which one member has the key of a former release."""
    key = FormerKey(X25519PrivateKey.generate()).public
    return Members(replace(member, sealing=key) if member.name == name else member for member in members)


@pytest.fixture
def deployment(parties: Provisioned, tmp_path: Path) -> Iterator[Deployment]:
    path = tmp_path / "members.yaml"
    path.write_text(with_former_key(parties.members, "bob").dump())
    keys = parties.parties["carole"].path
    made = Deployment(parties, tmp_path / "carole", (f"keys: {keys}", f"keys: {keys}\nmembers: {path}"))
    made.start()
    yield made
    made.stop()


def test_a_project_is_refused_while_the_list_has_a_former_key(deployment: Deployment, parties: Provisioned) -> None:
    coordinator = deployment.coordinator()
    with pytest.raises(GemelError, match="sealing keys of X25519 alone") as caught:
        coordinator.create(HYBRID)
    assert caught.value.code is ErrorCode.SPECIFICATION
    assert "such a key of bob" in str(caught.value)
    assert "gemel party renew-sealing" in caught.value.remedy
    coordinator.create(SPECIFICATION)  # without the section it goes on as before
    (deployment.root.parent / "members.yaml").write_text(parties.members.dump())
    deployment.restart()
    deployment.coordinator().create(HYBRID.replace("project: trial", "project: second"))


def test_the_check_of_a_specification_warns(parties: Provisioned) -> None:
    spec, former = load_specification(HYBRID), with_former_key(parties.members, "bob")
    assert ["bob has a sealing key of X25519 alone" in note for note in _lacking(spec, former)] == [True]
    assert _lacking(load_specification(SPECIFICATION), former) == []
    assert _lacking(spec, parties.members) == []
    assert _lacking(spec, with_former_key(parties.members, "steward")) == []
