"""The configuration that a member of the ceremony gets, by its role."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemel.common.configuration import parse_configuration
from gemel.common.parties import Role
from gemel.coordinator.client.client_configuration import CoordinatorConfiguration
from gemel.party.configurations import WRITERS, Joined, configure
from gemel.party.membership_file import Membership
from gemel.party.place import PROGRAM, Place
from tests.vectors.make_formats import MEMBERS


def test_every_role_has_a_program_and_what_writes_its_configuration() -> None:
    assert PROGRAM.keys() == set(Role)
    assert WRITERS.keys() == set(Role)


@pytest.mark.parametrize("role", [Role.COORDINATOR, Role.STEWARD, Role.ANALYST])
def test_a_members_commands_read_the_configuration_that_it_gets(role: Role, tmp_path: Path) -> None:
    place = Place(tmp_path, "institute", role, tmp_path)
    text = configure(Joined(place, Membership("carole.example:7443", MEMBERS, b"", {})))
    found = parse_configuration(text, CoordinatorConfiguration, folder=tmp_path, where=place.configuration.name)
    assert (found.carole.address, found.keys) == ("carole.example:7443", tmp_path / "keys")
    assert found.members_digest
    assert place.configuration.name == f"{PROGRAM[role]}.yaml"
