"""An identity in a file, on a token and in a vault: one contract, and what each can refuse."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from gemel.common.configuration import parse_configuration
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, IdentityKey, SigningPurpose
from gemel.common.keys.identity_configuration import (
    IdentityConfiguration,
    IdentitySection,
    check_identity,
    create_identity,
    open_identity,
)
from gemel.common.keys.key_wrapper import IDENTITY, TokenPlace
from gemel.common.keys.pkcs11_token import Pkcs11Token
from gemel.common.parties import Role, Side
from gemel.common.pki import Authority, Members, PartyFolder, accept, assemble, certify, enrol
from gemel.common.pki.enrolment_requests import load_enrolment_request
from gemel.common.pki.provisioning import PARTIES
from gemel.custodian.agreement.agreement import Agreement
from gemel.custodian.agreement.agreement_messages import Terms
from tests.common.keys.key_stores import SOFTHSM, TOKEN, TransitServer

NOWHERE = Path("/nonexistent")


def on_token(pin: Path, label: str, **other: object) -> IdentityConfiguration:
    section = {"module": str(SOFTHSM), "token": TOKEN, "key": label, "pin_file": str(pin)}
    return configured({"pkcs11": {**section, **other}})


def in_vault(server: TransitServer, **other: object) -> IdentityConfiguration:
    section = {"address": server.address, "key": "carole", "token_file": str(server.token_file)}
    return configured({"vault": {**section, "authorities": str(server.authorities), **other}})


def configured(identity: object) -> IdentityConfiguration:
    text = yaml.safe_dump(json.loads(json.dumps({"listen": "127.0.0.1:0", "identity": identity})))
    found = parse_configuration(text, IdentitySection, folder=Path(), where="carole.yaml").identity
    assert found is not None
    return found


@pytest.fixture(params=["token", "vault"])
def place(request: pytest.FixtureRequest) -> IdentityConfiguration:
    """A place in which an identity has been made."""
    if request.param == "token":
        made = on_token(
            request.getfixturevalue("pin"), f"identity {len(request.node.nodeid)}-{request.node.name[-40:]}"
        )
    else:
        made = in_vault(request.getfixturevalue("transit"))
    create_identity(made)
    return made


def refused(call: Callable[[], object]) -> GemelError:
    with pytest.raises(GemelError) as caught:
        call()
    return caught.value


def test_it_signs_as_a_file_does_and_is_the_same_after_a_restart(place: IdentityConfiguration) -> None:
    identity = open_identity(place, NOWHERE)
    signature = identity.sign(SigningPurpose.APPROVAL, b"ab", b"c")
    identity.public.verify(signature, SigningPurpose.APPROVAL, b"ab", b"c")
    assert not identity.public.is_signed(signature, SigningPurpose.APPROVAL, b"a", b"bc")
    again = open_identity(place, NOWHERE)
    assert again.public == identity.public
    assert again.sign(SigningPurpose.APPROVAL, b"ab", b"c") == signature
    check_identity(place, NOWHERE, again)
    assert not any(part in repr(again) for part in ("4711", "hvs."))


def test_a_party_enrols_and_accepts_with_it_and_no_file(place: IdentityConfiguration, tmp_path: Path) -> None:
    identity, authority = open_identity(place, NOWHERE), Authority.create("authority")
    for name, role in PARTIES.items():
        enrol(tmp_path / name, name, role, (), identity if role is Role.LINKER else None)
    carole = PartyFolder(tmp_path / "carole")
    assert not carole.identity.exists()
    requests = [load_enrolment_request(PartyFolder(tmp_path / name).enrolment_request) for name in PARTIES]
    assert requests[2].identity == identity.public
    certificates = {request.name: certify(authority, request) for request in requests}
    listed = assemble(requests, certificates, authority.pem).dump()
    arguments = (carole.path, "carole", certificates["carole"], listed, authority.pem)
    accept(*arguments, identity)
    assert Members.load(carole.members).in_role(Role.LINKER).identity == identity.public
    other = Identity(IdentityKey.create())
    assert "another identity key for carole" in refused(lambda: accept(*arguments, other)).what
    assert refused(lambda: accept(*arguments)).code is ErrorCode.CONFIGURATION


def test_a_seed_is_agreed_with_it(place: IdentityConfiguration) -> None:
    terms = Terms(project="trial", encoding_digest=bytes(32), epoch=1)
    alice, bob = open_identity(place, NOWHERE), Identity(IdentityKey.create())
    first = Agreement(terms, Side.ALICE, alice, bob.public)
    second = Agreement(terms, Side.BOB, bob, alice.public)
    second.accept_offer(first.offer)
    first.accept_offer(second.offer)
    from_alice, from_bob = first.confirm(bytes(32)), second.confirm(bytes(32))
    first.accept_confirmation(from_bob)
    second.accept_confirmation(from_alice)
    assert first.seed == second.seed


def test_an_identity_is_made_once_on_a_token(pin: Path) -> None:
    create_identity(on_token(pin, "once"))
    assert refused(lambda: create_identity(on_token(pin, "once"))).code is ErrorCode.EXISTS


def test_a_key_that_could_leave_the_token_is_refused(pin: Path) -> None:
    from pkcs11 import Attribute, KeyType, Mechanism

    loose = {Attribute.EXTRACTABLE: True, Attribute.SENSITIVE: False}
    with Pkcs11Token(TokenPlace(module=SOFTHSM, token=TOKEN, pin_file=pin), IDENTITY)._open(rw=True) as session:
        curve = {Attribute.EC_PARAMS: bytes.fromhex("06032b6570")}
        parameters = session.create_domain_parameters(KeyType.EC_EDWARDS, curve, local=True)
        made = Mechanism.EC_EDWARDS_KEY_PAIR_GEN
        parameters.generate_keypair(mechanism=made, label="loose identity", store=True, private_template=loose)
    error = refused(lambda: open_identity(on_token(pin, "loose identity"), NOWHERE))
    assert (error.code, error.got) == (ErrorCode.VAULT, "a key that can leave the token")


@pytest.mark.parametrize(
    ("change", "stated"),
    [
        ({"key": "none"}, "the key none cannot be used"),
        ({"token": "other"}, "cannot be used"),
        ({"module": "/usr/lib/none.so"}, "cannot be used"),
    ],
)
def test_a_token_that_cannot_be_used_is_named(pin: Path, change: dict[str, object], stated: str) -> None:
    error = refused(lambda: open_identity(on_token(pin, "x", **change), NOWHERE))
    assert stated in error.what
    assert "under `identity` in the configuration" in error.remedy
    assert "4711" not in str(error)


REFUSED_PIN = """
import sys
from gemel.common.errors import GemelError
from gemel.common.keys.key_wrapper import IDENTITY, TokenPlace
from gemel.common.keys.pkcs11_token import Pkcs11Token

token = Pkcs11Token(TokenPlace(module=sys.argv[1], token=sys.argv[2], pin_file=sys.argv[3]), IDENTITY)
for module in (sys.argv[1], "/nonexistent"):
    token._module = module
    try:
        token.use(lambda session: None)
    except GemelError as error:
        print(error.code.name, error.got, error.what.partition(",")[0])
"""


def test_a_pin_that_a_token_has_refused_is_not_tried_again(pin: Path, tmp_path: Path) -> None:
    """Tokens lock after a few wrong ones, and readiness looks every few seconds. In a process that is not logged in.

    The second time there is no library any more: whoever tried would say so.
    """
    wrong = tmp_path / "pin"
    wrong.touch(mode=0o600)
    wrong.write_text("0815")
    command = [sys.executable, "-c", REFUSED_PIN, str(SOFTHSM), TOKEN, str(wrong)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == 2 * ["VAULT PinIncorrect the token has refused the PIN"]
    assert pin.exists()


def test_a_vault_that_points_elsewhere_does_not_get_the_token_sent_there(
    transit: TransitServer, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = TransitServer(tmp_path / "other")
    try:
        create_identity(in_vault(transit))
        both = tmp_path / "both.pem"
        both.write_bytes(transit.authorities.read_bytes() + other.authorities.read_bytes())
        transit.moved_to = other.address
        error = refused(lambda: open_identity(in_vault(transit, authorities=str(both)), NOWHERE))
        assert (error.code, other.calls) == (ErrorCode.VAULT, 0), error
    finally:
        other.stop()


def test_a_rotation_in_the_vault_is_another_identity_that_is_not_taken_unasked(transit: TransitServer) -> None:
    identity = create_identity(in_vault(transit))
    transit.rotate("carole")
    assert open_identity(in_vault(transit), NOWHERE).public == identity.public
    assert identity.sign(SigningPurpose.APPROVAL, b"x")
    assert open_identity(in_vault(transit, version=2), NOWHERE).public != identity.public
    assert "no such version" in refused(lambda: open_identity(in_vault(transit, version=3), NOWHERE)).what


def test_a_vault_that_cannot_be_used_is_named(transit: TransitServer) -> None:
    assert "has no such key" in refused(lambda: open_identity(in_vault(transit), NOWHERE)).what
    identity = create_identity(in_vault(transit))
    for way in ("exportable", "derived", "allow_plaintext_backup"):
        transit.open_ways = (way,)
        assert refused(lambda: open_identity(in_vault(transit), NOWHERE)).got == f"ed25519, {way}"
    transit.open_ways = ()
    transit.types["carole"] = "aes256-gcm96"
    assert refused(lambda: open_identity(in_vault(transit), NOWHERE)).got == "aes256-gcm96"
    transit.token = "hvs.renewed"
    error = refused(lambda: identity.sign(SigningPurpose.APPROVAL, b"x"))
    assert (error.code, "hvs." in str(error)) == (ErrorCode.VAULT, False)
    transit.token_file.write_text(transit.token)
    assert identity.sign(SigningPurpose.APPROVAL, b"x")
    transit.stop()
    error = refused(lambda: check_identity(in_vault(transit), NOWHERE, identity))
    assert (error.code, "the vault of the identity" in error.what) == (ErrorCode.UNAVAILABLE, True)


def test_a_wrong_signature_goes_nowhere(transit: TransitServer) -> None:
    """A vault restored with another key of this name, or a token at fault."""
    identity = create_identity(in_vault(transit))
    transit.keys["carole"][0] = bytes(32)
    error = refused(lambda: identity.sign(SigningPurpose.APPROVAL, b"x"))
    assert (error.code, "another key" in error.what) == (ErrorCode.VAULT, True)
    answer = transit.answer
    for signature in ("vault:v1:!", "vault:v1:" + base64.b64encode(bytes(64)).decode(), "another form"):
        transit.answer = lambda *a, made=signature: (200, {"signature": made}) if a[0] == "sign" else answer(*a)  # type: ignore[method-assign]
        assert refused(lambda: identity.sign(SigningPurpose.APPROVAL, b"x")).code is ErrorCode.VAULT


@pytest.mark.parametrize(
    "identity",
    [
        {},
        {"vault": {"address": "http://vault:8200", "key": "k", "token_file": "t"}},
        {"vault": {"address": "https://vault", "key": "k", "token_file": "t", "version": 0}},
        {"vault": {"address": "https://vault", "key": "k", "token_file": "t"}, "pkcs11": {"module": "m"}},
        {"pkcs11": {"module": "m", "token": "t", "keys": ["k"], "pin_file": "p"}},
    ],
)
def test_a_configuration_that_names_no_place_is_refused(identity: dict[str, object]) -> None:
    assert refused(lambda: configured(identity)).code is ErrorCode.CONFIGURATION


def test_without_a_configured_place_none_is_made() -> None:
    error = refused(lambda: create_identity(None))
    assert (error.code, error.where) == (ErrorCode.CONFIGURATION, "identity")
