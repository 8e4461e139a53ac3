"""A list that the configuration does not pin is not taken, at a start and while a service runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import in_groups
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import Role
from gemel.common.pki import Authority, Members, Provisioned, provision
from gemel.common.pki.list_pin import UNPINNED, ListPin, pin_line
from gemel.common.rpc.trust import Trust
from tests.carole.refusals import refusal


@pytest.fixture
def made(tmp_path: Path) -> Provisioned:
    return provision(tmp_path / "parties")


@pytest.fixture
def config(tmp_path: Path, made: Provisioned) -> Path:
    """A configuration that pins the list; what else is in it does not matter here."""
    path = tmp_path / "carole.yaml"
    path.write_text(f"listen: 127.0.0.1:0\n{pin_line(in_groups(made.members.digest))}\n")
    return path


def forged(members: Members) -> Members:
    """The list with another sealing key of the coordinator, who resolves: handles would be sealed to its maker."""
    key = SealingKey.create().public
    return Members(replace(each, sealing=key) if each.name == "coordinator" else each for each in members)


def test_the_pinned_list_is_taken_and_no_other(made: Provisioned, config: Path) -> None:
    path = made.parties["carole"].members
    assert list(ListPin(config).load(path)) == list(made.members)
    path.write_text(forged(made.members).dump())
    with refusal(ErrorCode.CONFIGURATION, "is not the one that `members_digest`") as caught:
        ListPin(config).load(path)
    assert in_groups(forged(made.members).digest) not in config.read_text()
    assert in_groups(Members.load(path).digest) in caught.value.got
    assert UNPINNED.load(path).digest != made.members.digest
    config.write_text("listen: 127.0.0.1:0\n" + pin_line())
    assert ListPin(config).load(path).digest != made.members.digest


@pytest.mark.parametrize("digest", ["12ab", "x" * 64, 5])
def test_what_is_no_digest_is_refused(made: Provisioned, config: Path, digest: object) -> None:
    config.write_text(f"members_digest: {digest}\n")
    with pytest.raises(GemelError, match="members_digest"):
        ListPin(config).load(made.parties["carole"].members)


def test_a_comment_in_the_list_does_not_change_its_digest(made: Provisioned, config: Path) -> None:
    path = made.parties["carole"].members
    path.write_text("# received on Monday\n" + path.read_text())
    assert ListPin(config).load(path).digest == made.members.digest


@pytest.mark.parametrize("first", ["list", "pin"])
def test_a_running_service_takes_a_new_list_with_its_pin(made: Provisioned, config: Path, first: str) -> None:
    """In either order; in between the former list stays in force."""
    carole, new = made.parties["carole"], forged(made.members)
    trust = Trust(carole.path, Role.LINKER, pin=ListPin(config))
    steps = {
        "list": lambda: carole.members.write_text(new.dump()),
        "pin": lambda: config.write_text(pin_line(new.digest.hex()) + "\n"),
    }
    steps.pop(first)()
    with pytest.raises(GemelError, match="is not the one that `members_digest`"):
        trust.reload()
    assert trust.members.digest == made.members.digest
    assert not trust.reload()
    (second,) = steps.values()
    second()
    assert trust.reload()
    assert trust.members.digest == new.digest


def test_no_authority_is_added_by_which_another_service_would_be_carole(made: Provisioned, config: Path) -> None:
    alice = made.parties["alice"]
    good, foreign = alice.linker.read_bytes(), Authority.create("Another").pem
    for pem in (foreign, good + foreign):
        alice.linker.write_bytes(pem)
        Trust(alice.path, Role.CUSTODIAN_A)
        with pytest.raises(GemelError, match="authorities that the pinned membership list does not have") as caught:
            Trust(alice.path, Role.CUSTODIAN_A, pin=ListPin(config))
        assert caught.value.where == str(alice.linker)
    alice.linker.write_bytes(good)
    trust = Trust(alice.path, Role.CUSTODIAN_A, pin=ListPin(config))
    alice.linker.write_bytes(good + foreign)
    with pytest.raises(GemelError, match="does not have for Carole"):
        trust.reload()
    assert trust.tls.linker == good
