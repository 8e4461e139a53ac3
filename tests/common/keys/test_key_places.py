"""Identities and wrapping keys in a file, on a token and in a vault: one contract each, and what each can refuse."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gemel.common.configuration import parse_configuration
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, IdentityKey, SigningPurpose
from gemel.common.keys.identity_configuration import IdentityConfiguration, check_identity, open_identity
from gemel.common.keys.key_wrapper import (
    IDENTITY,
    SEALED_BYTES,
    WRAPPING,
    KeyWrapper,
    KeyWrappers,
    TokenPlace,
    VaultPlace,
)
from gemel.common.keys.pkcs11_token import Pkcs11Token
from gemel.common.keys.transit_wrapper import TransitWrapper
from gemel.common.keys.vault import WRAPPED_BYTES, Vault, WrappingKeys
from gemel.common.keys.wrapping_configuration import open_wrapper
from gemel.common.parties import PARTIES, Role, Side
from gemel.common.pki import Authority, Members, PartyFolder, assemble, certify, checked, enrol
from gemel.common.pki.enrolment_requests import load_enrolment_request
from gemel.custodian.agreement.agreement import Agreement
from gemel.custodian.agreement.agreement_messages import Terms
from gemel.party.own_keys import IdentitySection, WrappingSection, create_identity, create_wrapping_key
from tests.carole.refusals import refusal
from tests.common.keys.key_stores import SOFTHSM, TOKEN, TransitServer, softhsm


@pytest.fixture(scope="session")
def pin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file with the PIN of a token, one for the process: its library is opened once."""
    return softhsm(tmp_path_factory.mktemp("softhsm"))


@pytest.fixture
def transit(tmp_path: Path) -> Iterator[TransitServer]:
    """A vault."""
    folder = tmp_path / "vault"
    folder.mkdir()
    server = TransitServer(folder)
    yield server
    server.stop()


def token_place(pin: Path, **named: object) -> dict[str, object]:
    return {"pkcs11": {"module": str(SOFTHSM), "token": TOKEN, "pin_file": str(pin), **named}}


def vault_place(server: TransitServer, **named: object) -> dict[str, object]:
    section = {"address": server.address, "key": "carole", "token_file": str(server.token_file)}
    return {"vault": {**section, "authorities": str(server.authorities), **named}}


def wrapping(place: object) -> Any:
    return _read(WrappingSection, wrapping=place).wrapping


def identity_in(place: object) -> Any:
    return _read(IdentitySection, identity=place).identity


def _read(model: type[Any], **sections: object) -> Any:
    text = yaml.safe_dump(json.loads(json.dumps({"listen": "127.0.0.1:0", **sections})))
    return parse_configuration(text, model, folder=Path(), where="carole.yaml")


NOWHERE = Path("/nonexistent")


@pytest.fixture(params=["file", "token", "vault"])
def wrapper(request: pytest.FixtureRequest) -> KeyWrapper:
    if request.param == "file":
        return WrappingKeys.create().rotated()
    if request.param == "token":
        section = wrapping(token_place(request.getfixturevalue("pin"), keys=["contract"]))
        if not request.config.stash.get(_MADE, False):
            create_wrapping_key(section)
            request.config.stash[_MADE] = True
    else:
        section = wrapping(vault_place(request.getfixturevalue("transit")))
        create_wrapping_key(section)
    return open_wrapper(section, NOWHERE)


_MADE = pytest.StashKey[bool]()


def test_a_key_comes_back_where_it_belongs_and_nowhere_else(wrapper: KeyWrapper) -> None:
    key, here = bytes(range(32)), wrapper.current_id
    sealed = wrapper.wrap(key, b"upload-1")
    assert len(sealed) == SEALED_BYTES
    assert key not in sealed
    assert wrapper.wrap(key, b"upload-1") != sealed
    assert wrapper.knows(here)
    assert not wrapper.knows(b"another!")
    assert wrapper.unwrap(here, sealed, b"upload-1") == key
    assert wrapper.unwrap(here, sealed, b"upload-2") is None
    for position in (0, 20, SEALED_BYTES - 1):
        changed = bytearray(sealed)
        changed[position] ^= 1
        assert wrapper.unwrap(here, bytes(changed), b"upload-1") is None


def test_data_is_encrypted_and_read_through_a_vault(wrapper: KeyWrapper) -> None:
    vault = Vault(wrapper)
    key, wrapped = vault.create("upload-1")
    assert len(wrapped) == WRAPPED_BYTES
    assert vault.unwrap("upload-1", wrapped).decrypt(3, key.encrypt(3, b"content")) == b"content"
    with refusal(ErrorCode.VAULT):
        vault.unwrap("upload-2", wrapped)
    with pytest.raises(GemelError, match="the wrapping key of this data key is not here"):
        Vault(WrappingKeys.create()).unwrap("upload-1", wrapped)


def test_from_the_file_to_another_place(wrapper: KeyWrapper, tmp_path: Path) -> None:
    """Both unwrap until everything is rewrapped; then the file may go."""
    file = WrappingKeys.create()
    before = Vault(file).protect("seed", b"secret")
    both = Vault(KeyWrappers([wrapper, file]))
    assert both.reveal("seed", before) == b"secret"
    assert not both.is_current(before[:WRAPPED_BYTES])
    moved = both.rewrap("seed", before[:WRAPPED_BYTES]) + before[WRAPPED_BYTES:]
    assert both.is_current(moved[:WRAPPED_BYTES])
    assert Vault(wrapper).reveal("seed", moved) == b"secret"


def test_a_new_key_on_the_token_wraps_and_the_old_one_unwraps(pin: Path) -> None:
    create_wrapping_key(wrapping(token_place(pin, keys=["of-2025"])))
    wrapped = Vault(open_wrapper(wrapping(token_place(pin, keys=["of-2025"])), NOWHERE)).create("upload-1")[1]
    create_wrapping_key(wrapping(token_place(pin, keys=["of-2025", "of-2026"])))
    vault = Vault(open_wrapper(wrapping(token_place(pin, keys=["of-2025", "of-2026"])), NOWHERE))
    assert not vault.is_current(wrapped)
    assert vault.is_current(vault.rewrap("upload-1", wrapped))
    with refusal(ErrorCode.EXISTS):
        create_wrapping_key(wrapping(token_place(pin, keys=["of-2025"])))


def test_a_new_version_in_the_vault_wraps_and_the_old_one_unwraps(transit: TransitServer) -> None:
    create_wrapping_key(wrapping(vault_place(transit)))
    wrapped = Vault(open_wrapper(wrapping(vault_place(transit)), NOWHERE)).create("upload-1")[1]
    transit.rotate("carole")
    vault = Vault(open_wrapper(wrapping(vault_place(transit)), NOWHERE))
    assert not vault.is_current(wrapped)
    assert vault.is_current(vault.rewrap("upload-1", wrapped))


def test_a_wrapping_key_that_could_leave_the_token_is_refused(pin: Path) -> None:
    from pkcs11 import Attribute, KeyType

    # A login is of the whole process, so the session is opened as the wrapper opens its own.
    place = TokenPlace(module=SOFTHSM, token=TOKEN, pin_file=pin)
    with Pkcs11Token(place, WRAPPING)._open(rw=True) as session:
        attributes = {Attribute.EXTRACTABLE: True, Attribute.SENSITIVE: False}
        session.generate_key(KeyType.AES, 256, label="loose", store=True, template=attributes)
    error = refused(lambda: open_wrapper(wrapping(token_place(pin, keys=["loose"])), NOWHERE))
    assert "not extractable" in error.what
    assert "can leave the token" in error.got


def refused(call: Callable[[], object]) -> GemelError:
    with pytest.raises(GemelError) as caught:
        call()
    return caught.value


def test_a_vault_that_cannot_wrap_is_named(transit: TransitServer, tmp_path: Path) -> None:
    nothing = Path("/nonexistent")
    assert "has no such key" in refused(lambda: open_wrapper(wrapping(vault_place(transit)), nothing)).what
    create_wrapping_key(wrapping(vault_place(transit)))
    transit.types["carole"] = "rsa-2048"
    assert refused(lambda: open_wrapper(wrapping(vault_place(transit)), nothing)).got == "rsa-2048"
    transit.types["carole"] = "aes256-gcm96"
    wrapper = open_wrapper(wrapping(vault_place(transit)), nothing)
    sealed = wrapper.wrap(bytes(32), b"a")
    # An agent renews the token while the service runs.
    transit.token = "hvs.renewed"
    error = refused(lambda: wrapper.unwrap(wrapper.current_id, sealed, b"a"))
    assert (error.code, "hvs." in str(error)) == (ErrorCode.VAULT, False)
    transit.token_file.write_text(transit.token)
    assert wrapper.unwrap(wrapper.current_id, sealed, b"a") == bytes(32)
    transit.stop()
    error = refused(lambda: wrapper.unwrap(wrapper.current_id, sealed, b"a"))
    assert error.code is ErrorCode.UNAVAILABLE
    transit.token_file.chmod(0o644)
    assert refused(lambda: wrapper.wrap(bytes(32), b"a")).code is ErrorCode.CONFIGURATION


def test_a_vault_of_another_authority_is_not_believed(transit: TransitServer, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = TransitServer(tmp_path / "other")
    other.stop()
    section = wrapping(vault_place(transit, authorities=str(other.authorities)))
    assert refused(lambda: create_wrapping_key(section)).code is ErrorCode.UNAVAILABLE


@pytest.mark.parametrize(("missing", "extra"), [("pkcs11", ".[pkcs11]"), ("hvac", ".[vault]")])
def test_a_missing_extra_names_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, missing: str, extra: str
) -> None:
    pin = tmp_path / "pin"
    pin.touch(mode=0o600)
    monkeypatch.setitem(__import__("sys").modules, missing, None)
    make: Callable[[], object] = lambda: (  # noqa: E731
        Pkcs11Token(TokenPlace(module=SOFTHSM, token=TOKEN, pin_file=pin), WRAPPING)
        if missing == "pkcs11"
        else TransitWrapper(VaultPlace(address="https://vault", key="k", token_file=Path("t")))
    )
    error = refused(make)
    assert error.code is ErrorCode.MODULE_MISSING
    assert extra in error.remedy


@pytest.fixture(params=["token", "vault"])
def place(request: pytest.FixtureRequest) -> IdentityConfiguration:
    """A place in which an identity has been made."""
    if request.param == "token":
        label = f"identity {len(request.node.nodeid)}-{request.node.name[-40:]}"
        made = identity_in(token_place(request.getfixturevalue("pin"), key=label))
    else:
        made = identity_in(vault_place(request.getfixturevalue("transit")))
    create_identity(made)
    return made


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
    checked(*arguments, identity).put()
    assert Members.load(carole.members).in_role(Role.LINKER).identity == identity.public
    other = Identity(IdentityKey.create())
    assert "another identity key for carole" in refused(lambda: checked(*arguments, other).put()).what
    assert refused(lambda: checked(*arguments).put()).code is ErrorCode.CONFIGURATION


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
    create_identity(identity_in(token_place(pin, key="once")))
    assert refused(lambda: create_identity(identity_in(token_place(pin, key="once")))).code is ErrorCode.EXISTS


def test_a_key_that_could_leave_the_token_is_refused(pin: Path) -> None:
    from pkcs11 import Attribute, KeyType, Mechanism

    loose = {Attribute.EXTRACTABLE: True, Attribute.SENSITIVE: False}
    with Pkcs11Token(TokenPlace(module=SOFTHSM, token=TOKEN, pin_file=pin), IDENTITY)._open(rw=True) as session:
        curve = {Attribute.EC_PARAMS: bytes.fromhex("06032b6570")}
        parameters = session.create_domain_parameters(KeyType.EC_EDWARDS, curve, local=True)
        made = Mechanism.EC_EDWARDS_KEY_PAIR_GEN
        parameters.generate_keypair(mechanism=made, label="loose identity", store=True, private_template=loose)
    error = refused(lambda: open_identity(identity_in(token_place(pin, key="loose identity")), NOWHERE))
    assert (error.code, error.got) == (ErrorCode.VAULT, "a key that can leave the token")


@pytest.mark.parametrize("section", ["wrapping", "identity"])
@pytest.mark.parametrize(
    ("label", "change", "stated"),
    [
        ("none", {}, "the key none cannot be used"),
        ("x", {"token": "other"}, "cannot be used"),
        ("x", {"module": "/usr/lib/none.so"}, "cannot be used"),
    ],
)
def test_a_token_that_cannot_be_used_is_named(
    pin: Path, section: str, label: str, change: dict[str, object], stated: str
) -> None:
    if section == "wrapping":
        error = refused(lambda: open_wrapper(wrapping(token_place(pin, keys=[label], **change)), NOWHERE))
    else:
        error = refused(lambda: open_identity(identity_in(token_place(pin, key=label, **change)), NOWHERE))
    assert error.code is ErrorCode.VAULT
    assert stated in error.what
    assert f"under `{section}` in the configuration" in error.remedy
    assert pin.read_text() not in str(error)


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
        create_identity(identity_in(vault_place(transit)))
        both = tmp_path / "both.pem"
        both.write_bytes(transit.authorities.read_bytes() + other.authorities.read_bytes())
        transit.moved_to = other.address
        error = refused(lambda: open_identity(identity_in(vault_place(transit, authorities=str(both))), NOWHERE))
        assert (error.code, other.calls) == (ErrorCode.VAULT, 0), error
    finally:
        other.stop()


def test_a_rotation_in_the_vault_is_another_identity_that_is_not_taken_unasked(transit: TransitServer) -> None:
    identity = create_identity(identity_in(vault_place(transit)))
    transit.rotate("carole")
    assert open_identity(identity_in(vault_place(transit)), NOWHERE).public == identity.public
    assert identity.sign(SigningPurpose.APPROVAL, b"x")
    assert open_identity(identity_in(vault_place(transit, version=2)), NOWHERE).public != identity.public
    assert (
        "no such version" in refused(lambda: open_identity(identity_in(vault_place(transit, version=3)), NOWHERE)).what
    )


def test_a_vault_that_cannot_be_used_is_named(transit: TransitServer) -> None:
    assert "has no such key" in refused(lambda: open_identity(identity_in(vault_place(transit)), NOWHERE)).what
    identity = create_identity(identity_in(vault_place(transit)))
    for way in ("exportable", "derived", "allow_plaintext_backup"):
        transit.open_ways = (way,)
        assert refused(lambda: open_identity(identity_in(vault_place(transit)), NOWHERE)).got == f"ed25519, {way}"
    transit.open_ways = ()
    transit.types["carole"] = "aes256-gcm96"
    assert refused(lambda: open_identity(identity_in(vault_place(transit)), NOWHERE)).got == "aes256-gcm96"
    transit.token = "hvs.renewed"
    error = refused(lambda: identity.sign(SigningPurpose.APPROVAL, b"x"))
    assert (error.code, "hvs." in str(error)) == (ErrorCode.VAULT, False)
    transit.token_file.write_text(transit.token)
    assert identity.sign(SigningPurpose.APPROVAL, b"x")
    transit.stop()
    error = refused(lambda: check_identity(identity_in(vault_place(transit)), NOWHERE, identity))
    assert (error.code, "the vault of the identity" in error.what) == (ErrorCode.UNAVAILABLE, True)


def test_a_wrong_signature_goes_nowhere(transit: TransitServer) -> None:
    """A vault restored with another key of this name, or a token at fault."""
    identity = create_identity(identity_in(vault_place(transit)))
    transit.keys["carole"][0] = bytes(32)
    error = refused(lambda: identity.sign(SigningPurpose.APPROVAL, b"x"))
    assert (error.code, "another key" in error.what) == (ErrorCode.VAULT, True)
    answer = transit.answer
    for signature in ("vault:v1:!", "vault:v1:" + base64.b64encode(bytes(64)).decode(), "another form"):
        transit.answer = lambda *a, made=signature: (200, {"signature": made}) if a[0] == "sign" else answer(*a)  # type: ignore[method-assign]
        assert refused(lambda: identity.sign(SigningPurpose.APPROVAL, b"x")).code is ErrorCode.VAULT


VAULT = {"key": "k", "token_file": "t"}


@pytest.mark.parametrize(
    ("read", "place"),
    [
        *((read, {}) for read in (wrapping, identity_in)),
        *((read, {"vault": {"address": "http://vault:8200", **VAULT}}) for read in (wrapping, identity_in)),
        *(
            (read, {"vault": {"address": "https://vault", **VAULT}, "pkcs11": {"module": "m"}})
            for read in (wrapping, identity_in)
        ),
        (wrapping, {"pkcs11": {"module": "m", "token": "t", "keys": [], "pin_file": "p"}}),
        (identity_in, {"pkcs11": {"module": "m", "token": "t", "keys": ["k"], "pin_file": "p"}}),
        (identity_in, {"vault": {"address": "https://vault", **VAULT, "version": 0}}),
    ],
)
def test_a_configuration_that_names_no_place_is_refused(
    read: Callable[[object], object], place: dict[str, object]
) -> None:
    assert refused(lambda: read(place)).code is ErrorCode.CONFIGURATION


def test_without_a_configured_place_no_key_is_made() -> None:
    for create, where in ((create_wrapping_key, "wrapping"), (create_identity, "identity")):
        error = refused(lambda create=create: create(None))  # type: ignore[misc]
        assert (error.code, error.where) == (ErrorCode.CONFIGURATION, where)
