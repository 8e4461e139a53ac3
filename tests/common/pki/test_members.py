"""The membership list: what it refuses, its pin, and the members who compute in mode shared."""

from __future__ import annotations

import itertools
import secrets
from dataclasses import replace
from pathlib import Path

import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, IdentityKey, PublicIdentity, in_groups
from gemel.common.keys.sealing_key import DefaultKey, SealingKey
from gemel.common.keys.suite import Suite
from gemel.common.parties import PARTIES, Role
from gemel.common.pki import Authority, Member, Members
from gemel.common.pki.certified_names import CertifiedNames, PinnedKey
from gemel.common.pki.list_pin import UNPINNED, ListPin, pin_line
from gemel.common.pki.members import compute_members, require_apart
from gemel.common.pki.sealing_suites import sealing_keys_of_another_suite
from gemel.common.rpc.trust import Trust
from gemel.common.specification import encoding_digest, load_specification
from gemel.coordinator.provisioning import Provisioned, provision
from tests.carole.refusals import refusal
from tests.specifications import heading


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


ROLES = (Role.CUSTODIAN_A, Role.CUSTODIAN_B, Role.LINKER, Role.COORDINATOR, Role.STEWARD)
STEWARDS, OTHER = DefaultKey.create(), DefaultKey.create()
LISTED = [
    Member(
        role.value,
        role,
        PinnedKey("a" * 64, f"{number}" * 64),
        PublicIdentity(IdentityKey.create().public),
        (STEWARDS if role is Role.STEWARD else DefaultKey.create()).public,
    )
    for number, role in enumerate(ROLES)
]
TEXT = (
    heading("shares", "shared")
    + "fields: [{name: born, kind: date, date: {order: ymd}}]\nblocking: [{name: born, keys: [{field: born}]}]\n"
    + "retention: {uploads_days: 1, results_days: 1, maps_days: 1}\n"
)


def test_the_three_are_found_by_their_names() -> None:
    found = compute_members(Members(LISTED), load_specification(TEXT))
    assert [member.name for member in found] == ["linker", "coordinator", "steward"]


def test_shares_for_other_members_are_another_encoding() -> None:
    spec = load_specification(TEXT)
    other = spec.model_copy(update={"compute": spec.compute.model_copy(update={"steward": "another"})})
    assert encoding_digest(other) != encoding_digest(spec)
    plain = [each.model_copy(update={"mode": "block_keyed"}) for each in (spec, other)]
    assert encoding_digest(plain[0]) == encoding_digest(plain[1])


@pytest.mark.parametrize(
    ("named", "got"),
    [
        ("coordinator: stranger", "who is no member"),
        ("coordinator: steward", "a steward"),
        ("steward: coordinator", "a coordinator"),
        ("steward: custodian-a", "a custodian-a"),
        ("coordinator: linker", "a linker"),
    ],
)
def test_another_member_or_role_is_refused(named: str, got: str) -> None:
    spec = load_specification(TEXT)
    name, _, member = named.partition(": ")
    other = spec.compute.model_copy(update={name: member})
    with refusal(ErrorCode.SPECIFICATION, got):
        compute_members(Members(LISTED), spec.model_copy(update={"compute": other}))


@pytest.mark.parametrize(
    ("what", "shared"),
    [
        ("a name", {"name": "steward"}),
        ("a certificate's key", {"certificate": LISTED[4].certificate}),
        ("an identity", {"identity": LISTED[4].identity}),
        ("a sealing key", {"sealing": LISTED[4].sealing}),
        ("a sealing key", {"sealing": DefaultKey(OTHER.mlkem, STEWARDS.x25519).public}),
        ("a sealing key", {"sealing": DefaultKey(STEWARDS.mlkem, OTHER.x25519).public}),
    ],
)
@pytest.mark.parametrize("place", [0, 2, 3])
def test_one_machine_in_two_roles_is_refused(place: int, what: str, shared: dict[str, object]) -> None:
    require_apart(LISTED)
    members = list(LISTED)
    members[place] = replace(members[place], **shared)  # type: ignore[arg-type]
    with pytest.raises(GemelError, match=f"{what} in common.*one machine's key in two roles"):
        require_apart(members)


def test_names_that_a_pki_certifies_are_compared() -> None:
    names = CertifiedNames(("a" * 64,), "one.example", "")
    others = CertifiedNames(("a" * 64,), "two.example", "")
    first, second = (replace(LISTED[place], certificate=each) for place, each in ((2, names), (3, others)))
    require_apart((first, second))
    with pytest.raises(GemelError, match="a DNS name"):
        require_apart((first, replace(second, certificate=names)))


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
