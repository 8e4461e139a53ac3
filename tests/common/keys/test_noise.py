"""The noise key and an assessment's keys: hidden, repeatable, others for every project and part, and never sent."""

from __future__ import annotations

import ast
import copy
import pickle

import pytest

from gemel.common.errors import GemelError
from gemel.common.keys.derivation import Purpose, Seed, derive
from gemel.common.keys.noise import AssessmentKeys, NoiseKey
from tests.architecture.tree import PRODUCT, REPOSITORY

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


OURS, THEIRS = NoiseKey(bytes(range(32))), NoiseKey(bytes(range(1, 33)))
ONE, OTHER = b"1" * 32, b"2" * 32


def drawn(keys: AssessmentKeys, part: str) -> tuple[bytes, bytes, int]:
    return (
        keys.throw_away_seed(part).reveal(),
        keys.throw_away_noise(part).reveal(),
        int(keys.generator(part).integers(2**62)),
    )


def test_they_repeat_and_differ_by_number_custodian_specification_and_part() -> None:
    def made() -> list[AssessmentKeys]:
        return [
            *(AssessmentKeys.of_number(number) for number in (0, 1, 12)),
            *(AssessmentKeys.of_custodian(own, digest) for own in (OURS, THEIRS) for digest in (ONE, OTHER)),
        ]

    first, again = ([drawn(keys, part) for keys in made() for part in ("blocks", "samples")] for _ in range(2))
    assert first == again
    assert len({value for each in first for value in each}) == 3 * 14


def test_they_are_no_keys_of_a_project_even_of_the_same_secret() -> None:
    """Whatever is known of an assessment's keys, a project's keys of the same 32 bytes are others."""
    secret = bytes(range(32))
    found = AssessmentKeys.of_custodian(NoiseKey(secret), ONE)
    own = [NoiseKey(secret).derive(project, "") for project in ("people", "assessment")]
    real = [derive(Seed(secret), "people", purpose, ONE) for purpose in Purpose]
    used = {secret, *(half for keys in (*own, *real) for half in (keys.k1, keys.k2))}
    assert not used & {value for value in drawn(found, "blocks") if isinstance(value, bytes)}


def test_only_the_assessment_signs_with_them() -> None:
    """What takes a seed or a noise key of them is the leakage library, which returns figures and sends nothing."""
    makers = {"throw_away_seed", "throw_away_noise"}
    users = {
        path.relative_to(REPOSITORY).parent.as_posix()
        for folder in PRODUCT.values()
        for path in (REPOSITORY / folder).rglob("*.py")
        if any(maker in path.read_text(encoding="utf-8") for maker in makers)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in makers
    }
    assert users == {"custodian/leakage"}


def test_they_are_not_shown_and_not_pickled() -> None:
    keys = AssessmentKeys.of_custodian(OURS, ONE)
    assert repr(keys) == "AssessmentKeys(hidden)"
    with pytest.raises(TypeError, match="must not be pickled"):
        pickle.dumps(keys)
