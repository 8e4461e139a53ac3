"""The noise key: hidden, its own length, and other keys for every project and key domain."""

from __future__ import annotations

import copy
import pickle

import pytest

from gemel.common.errors import GemelError
from gemel.common.keys.noise import NoiseKey

KEY = NoiseKey(bytes(range(32)))


def test_each_project_and_domain_has_its_own_keys() -> None:
    derived = {
        (keys.k1, keys.k2)
        for secret in (bytes(range(32)), bytes(range(1, 33)))
        for project in ("people", "others")
        for domain in ("surname", "given", "")
        for keys in [NoiseKey(secret).derive(project, domain)]
    }
    assert len(derived) == 12
    assert len({half for keys in derived for half in keys}) == 24
    assert KEY.derive("people", "surname") == KEY.derive("people", "surname")


def test_generated_keys_differ() -> None:
    assert len({NoiseKey.generate().reveal() for _ in range(50)}) == 50


def test_it_is_not_shown_and_not_pickled() -> None:
    keys = KEY.derive("people", "surname")
    for text in (repr(KEY), str(KEY), repr([KEY]), repr(keys)):
        for secret in (KEY.reveal(), keys.k1, keys.k2):
            assert secret.hex() not in text
            assert repr(secret)[2:-1] not in text
    for attempt in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="must not be pickled"):
            attempt(KEY)


def test_another_length_is_refused_without_showing_it() -> None:
    with pytest.raises(GemelError) as caught:
        NoiseKey(b"\xab" * 31)
    assert "31 bytes" in str(caught.value)
    assert "ab" * 4 not in str(caught.value)
