"""The membership list: read strictly, every error at once."""

from __future__ import annotations

import itertools
import secrets
from pathlib import Path

import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, IdentityKey
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.keys.suite import Suite
from gemel.common.parties import Role
from gemel.common.pki.members import Members
from gemel.common.pki.provisioning import PARTIES
from gemel.common.pki.sealing_renewal import sealing_keys_of_another_suite
from tests.carole.refusals import refusal


def entries() -> list[dict[str, str]]:
    return [
        {
            "name": name,
            "role": role.value,
            "authority": "a" * 64,
            "certificate": secrets.token_hex(32),
            "identity": Identity(IdentityKey.create()).public.hex,
            "sealing": SealingKey.create().public.hex,
        }
        for name, role in PARTIES.items()
    ]


def text_of(members: list[dict[str, str]]) -> str:
    lines = ["version: 1", "members:"]
    for member in members:
        for position, (key, value) in enumerate(member.items()):
            lines.append(f'  {"-" if position == 0 else " "} {key}: "{value}"')
    return "\n".join(lines) + "\n"


def mistakes_in(text: str) -> str:
    with refusal(ErrorCode.CONFIGURATION) as caught:
        Members.parse(text)
    return str(caught.value)


def test_a_list_is_read_written_and_read(tmp_path: Path) -> None:
    given = entries()
    members = Members.parse(text_of(given))
    (tmp_path / "members.yaml").write_text(members.dump())
    again = Members.load(tmp_path / "members.yaml")
    assert list(again) == list(members)
    assert len(again) == 5
    assert [member.name for member in again] == list(PARTIES)
    assert again.named("bob").identity.hex == given[1]["identity"]
    assert again.in_role(Role.LINKER).name == "carole"
    assert again.with_key(given[3]["certificate"]) == again.named("coordinator")
    assert again.with_key("f" * 64) is None


def test_names_and_digits_that_yaml_would_read_otherwise_survive() -> None:
    given = entries()
    given[0] |= {"name": "null", "certificate": "1" * 64}
    given[1] |= {"name": "123", "authority": "0" * 63 + "7"}
    given[2] |= {"name": "no", "authority": "1e3" + "0" * 61}
    members = Members.parse(text_of(given))
    assert list(Members.parse(members.dump())) == list(members)


def test_asking_for_who_is_not_there() -> None:
    members = Members.parse(text_of([*entries(), {**entries()[4], "name": "second"}]))
    with refusal(ErrorCode.NOT_FOUND):
        members.named("mallory")
    with pytest.raises(GemelError, match="expected one member in the role steward, got 2"):
        members.in_role(Role.STEWARD)


def test_every_error_is_reported_at_once() -> None:
    given = entries()
    given[0]["certificate"] = "A" * 64
    given[1]["role"] = "king"
    given[2]["name"] = "Carole"
    given[3]["identity"] = "0" * 64
    del given[4]["sealing"]
    text = text_of(given) + "extra: 1\n"
    reported = mistakes_in(text)
    assert reported.count("\n  - ") == 6
    for place in (
        "line 6, members[0].certificate",
        "members[1].role",
        "members[2].name",
        "members[3].identity",
        "members[4].sealing",
        "extra",
    ):
        assert place in reported
    assert "small order" in reported


def test_no_two_members_share_a_key_and_one_holds_each_role() -> None:
    given = entries()
    given[1] |= {key: given[0][key] for key in ("certificate", "identity")}
    given[2] |= {"sealing": given[0]["sealing"], "name": "alice", "role": "custodian-a"}
    del given[3]
    reported = mistakes_in(text_of(given))
    for expected in (
        "every member must have a name of its own",
        "every member must have a certificate key of its own",
        "every member must have an identity of its own",
        "every member must have a sealing key of its own",
        "there must be exactly one custodian-a, got 2",
        "there must be exactly one linker, got 0",
        "there must be at least one coordinator",
    ):
        assert expected in reported
    assert reported.count("\n  - ") == 7


def test_a_steward_may_be_absent_and_a_second_coordinator_present() -> None:
    given = entries()
    given[4]["role"] = "coordinator"
    assert len(Members.parse(text_of(given))) == 5


def test_a_sealing_key_of_either_suite_is_read() -> None:
    given = entries()
    key = SealingKey.create(Suite.APPROVED).public
    given[0]["sealing"] = key.hex
    members = Members.parse(text_of(given))
    assert members.named("alice").sealing == key
    assert list(Members.parse(members.dump())) == list(members)
    assert sealing_keys_of_another_suite(Suite.APPROVED, members) == list(PARTIES)[1:]
    assert sealing_keys_of_another_suite(Suite.DEFAULT, members) == []


def test_what_is_no_sealing_key_of_either_suite_is_refused() -> None:
    given = entries()
    default, approved = (SealingKey.create(suite).public.hex for suite in (Suite.DEFAULT, Suite.APPROVED))
    beside = approved[:-2] + ("00" if approved[-2:] != "00" else "01")  # a point beside the curve
    for digits, mistake in (
        ("f" * len(default), "no public key of ML-KEM-768"),
        (beside, "no public key of ML-KEM-1024 and P-384"),
        (default[:-2], "expected 2432 or 3330 lower-case hexadecimal digits, got 2430 characters"),
    ):
        given[0]["sealing"] = digits
        assert mistake in mistakes_in(text_of(given))


@pytest.mark.parametrize("version", ["0", "2", "'1'", "1.0", "true"])
def test_another_version_is_refused(version: str) -> None:
    assert "version" in mistakes_in(text_of(entries()).replace("version: 1", f"version: {version}"))


@pytest.mark.parametrize("name", ["", "-a", "a-", "a_b", "A", "a" * 33, "../alice", "a\\n", "alice "])
def test_a_name_that_could_be_taken_for_a_path_or_another_is_refused(name: str) -> None:
    given = entries()
    given[0]["name"] = name
    assert "members[0].name" in mistakes_in(text_of(given))


def test_a_key_given_twice_is_an_error() -> None:
    text = text_of(entries())
    first, second = itertools.islice((line for line in text.splitlines() if "role" in line), 2)
    assert "given twice" in mistakes_in(text.replace(first, f"{first}\n{second}"))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(GemelError, match=r"members\.yaml"):
        Members.load(tmp_path / "members.yaml")
