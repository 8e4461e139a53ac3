"""Wrapping keys in a file, on a token and in a vault: one contract, and what each can refuse."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from gemel.common.configuration import parse_configuration
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.key_wrapper import SEALED_BYTES, WRAPPING, KeyWrapper, KeyWrappers, TokenPlace, VaultPlace
from gemel.common.keys.pkcs11_token import Pkcs11Token
from gemel.common.keys.transit_wrapper import TransitWrapper
from gemel.common.keys.vault import WRAPPED_BYTES, Vault, WrappingKeys
from gemel.common.keys.wrapping_configuration import WrappingSection, create_wrapping_key, open_wrapper
from tests.carole.refusals import refusal
from tests.common.keys.key_stores import SOFTHSM, TOKEN, TransitServer


def on_token(pin: Path, *labels: str) -> WrappingSection:
    section = {"module": str(SOFTHSM), "token": TOKEN, "keys": list(labels), "pin_file": str(pin)}
    return section_of({"pkcs11": section})


def in_vault(server: TransitServer, **other: str) -> WrappingSection:
    section = {"address": server.address, "key": "carole", "token_file": str(server.token_file)}
    return section_of({"vault": {**section, "authorities": str(server.authorities), **other}})


def section_of(wrapping: object) -> WrappingSection:
    text = yaml.safe_dump(json.loads(json.dumps({"listen": "127.0.0.1:0", "wrapping": wrapping})))
    return parse_configuration(text, WrappingSection, folder=Path(), where="carole.yaml")


@pytest.fixture(params=["file", "token", "vault"])
def wrapper(request: pytest.FixtureRequest) -> KeyWrapper:
    if request.param == "file":
        return WrappingKeys.create().rotated()
    if request.param == "token":
        section = on_token(request.getfixturevalue("pin"), "contract")
        if not request.config.stash.get(_MADE, False):
            create_wrapping_key(section.wrapping)
            request.config.stash[_MADE] = True
    else:
        section = in_vault(request.getfixturevalue("transit"))
        create_wrapping_key(section.wrapping)
    return open_wrapper(section.wrapping, Path("/nonexistent"))


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
    create_wrapping_key(on_token(pin, "of-2025").wrapping)
    wrapped = Vault(open_wrapper(on_token(pin, "of-2025").wrapping, Path("/nonexistent"))).create("upload-1")[1]
    create_wrapping_key(on_token(pin, "of-2025", "of-2026").wrapping)
    vault = Vault(open_wrapper(on_token(pin, "of-2025", "of-2026").wrapping, Path("/nonexistent")))
    assert not vault.is_current(wrapped)
    assert vault.is_current(vault.rewrap("upload-1", wrapped))
    with refusal(ErrorCode.EXISTS):
        create_wrapping_key(on_token(pin, "of-2025").wrapping)


def test_a_new_version_in_the_vault_wraps_and_the_old_one_unwraps(transit: TransitServer) -> None:
    create_wrapping_key(in_vault(transit).wrapping)
    wrapped = Vault(open_wrapper(in_vault(transit).wrapping, Path("/nonexistent"))).create("upload-1")[1]
    transit.rotate("carole")
    vault = Vault(open_wrapper(in_vault(transit).wrapping, Path("/nonexistent")))
    assert not vault.is_current(wrapped)
    assert vault.is_current(vault.rewrap("upload-1", wrapped))


def test_a_key_that_could_leave_the_token_is_refused(pin: Path) -> None:
    from pkcs11 import Attribute, KeyType

    # A login is of the whole process, so the session is opened as the wrapper opens its own.
    place = TokenPlace(module=SOFTHSM, token=TOKEN, pin_file=pin)
    with Pkcs11Token(place, WRAPPING)._open(rw=True) as session:
        attributes = {Attribute.EXTRACTABLE: True, Attribute.SENSITIVE: False}
        session.generate_key(KeyType.AES, 256, label="loose", store=True, template=attributes)
    error = refused(lambda: open_wrapper(on_token(pin, "loose").wrapping, Path("/nonexistent")))
    assert "not extractable" in error.what
    assert "can leave the token" in error.got


@pytest.mark.parametrize(
    ("change", "stated"),
    [
        ({"keys": ["none"]}, "the key none cannot be used"),
        ({"token": "other"}, "cannot be used"),
        ({"module": "/usr/lib/none.so"}, "cannot be used"),
    ],
)
def test_a_token_that_cannot_be_used_is_named(pin: Path, change: dict[str, object], stated: str) -> None:
    section = {"module": str(SOFTHSM), "token": TOKEN, "keys": ["x"], "pin_file": str(pin), **change}
    with refusal(ErrorCode.VAULT, stated) as caught:
        open_wrapper(section_of({"pkcs11": section}).wrapping, Path("/nonexistent"))
    assert pin.read_text() not in str(caught.value)


def refused(call: Callable[[], object]) -> GemelError:
    with pytest.raises(GemelError) as caught:
        call()
    return caught.value


def test_a_vault_that_cannot_be_used_is_named(transit: TransitServer, tmp_path: Path) -> None:
    nothing = Path("/nonexistent")
    assert "has no such key" in refused(lambda: open_wrapper(in_vault(transit).wrapping, nothing)).what
    create_wrapping_key(in_vault(transit).wrapping)
    transit.types["carole"] = "rsa-2048"
    assert refused(lambda: open_wrapper(in_vault(transit).wrapping, nothing)).got == "rsa-2048"
    transit.types["carole"] = "aes256-gcm96"
    wrapper = open_wrapper(in_vault(transit).wrapping, nothing)
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
    section = in_vault(transit, authorities=str(other.authorities))
    assert refused(lambda: create_wrapping_key(section.wrapping)).code is ErrorCode.UNAVAILABLE


@pytest.mark.parametrize(
    "wrapping",
    [
        {},
        {"vault": {"address": "http://vault:8200", "key": "k", "token_file": "t"}},
        {"vault": {"address": "https://vault", "key": "k", "token_file": "t"}, "pkcs11": {"module": "m"}},
        {"pkcs11": {"module": "m", "token": "t", "keys": [], "pin_file": "p"}},
    ],
)
def test_a_configuration_that_names_no_place_is_refused(wrapping: dict[str, object]) -> None:
    assert refused(lambda: section_of(wrapping)).code is ErrorCode.CONFIGURATION


def test_without_a_configured_place_no_key_is_made() -> None:
    assert refused(lambda: create_wrapping_key(None)).code is ErrorCode.CONFIGURATION


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
