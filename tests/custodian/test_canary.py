"""The canary of mode block_keyed: whatever would keep two custodians' blocks apart shows before any upload."""

from __future__ import annotations

from functools import cache

import pytest

from gemel.common.keys.derivation import Seed
from gemel.common.parties import Side
from gemel.common.specification import encoding_digest, load_specification
from gemel.custodian.cleaning import definition
from gemel.custodian.steps.seed_agreement import Canary, canary

SEED = Seed(bytes(range(32)))
BORN, NAME = "  - {name: born, keys: [{field: born}]}", "  - {name: name, keys: [{field: surname, prefix: 2}]}"
TEXT = f"""
version: 1
project: keyed
mode: block_keyed
custodians: {{alice: {{identifier: id}}, bob: {{identifier: id}}}}
fields:
  - {{name: surname, kind: name, bits: 64}}
  - {{name: given, kind: name, bits: 64, key_domain: surname}}
  - {{name: born, kind: date, date: {{order: ymd}}, bits: 64}}
blocking:
{BORN}
{NAME}
retention: {{uploads_days: 1, results_days: 1, maps_days: 1}}
"""


def fresh(text: str, *, digest_of: str | None = None, side: Side = Side.ALICE) -> Canary:
    spec = load_specification(text)
    digest = encoding_digest(spec if digest_of is None else load_specification(digest_of))
    return canary(spec, digest, side, SEED, 1)


made = cache(fresh)
"""`fresh`, where nothing but its parameters changes."""


def test_both_sides_have_the_same() -> None:
    assert made(TEXT) == made(TEXT, side=Side.BOB)
    assert made(TEXT) == made(TEXT.replace("{alice: {identifier: id}", "{alice: {identifier: key}"))


@pytest.mark.parametrize("mode", ["block_keyed", "open"])
def test_fields_of_several_columns_on_one_side_or_of_other_names(mode: str) -> None:
    text = TEXT.replace("mode: block_keyed", f"mode: {mode}")
    one = "kind: date, "
    for columns in ("{alice: [y, m, d], bob: dob}", "{alice: surname, bob: [d, m, y, t]}", "{alice: given, bob: x}"):
        composed = text.replace(one, f"{one}columns: {columns}, ")
        assert composed != text
        assert made(composed) == made(composed, side=Side.BOB) == made(text)


@pytest.mark.parametrize("mode", ["block_keyed", "open"])
def test_noise_is_each_custodians_own_and_not_in_it(mode: str) -> None:
    text = TEXT.replace("mode: block_keyed", f"mode: {mode}").replace("kind: name, bits: 64", "kind: name, bits: 128")
    noisy = text.replace("bits: 128", "bits: 128, randomised_response: 0.1")
    assert made(noisy) == made(noisy, side=Side.BOB)
    # Different probabilities of randomised response are still distinguished, by the encoding digests.
    assert made(noisy) != made(text)
    assert made(noisy, digest_of=text) == made(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"{BORN}\n{NAME}", f"{NAME}\n{BORN}"),
        (", key_domain: surname", ""),
        ("prefix: 2}]", "prefix: 2}], split: born"),
        ("prefix: 2", "prefix: 3"),
        ("mode: block_keyed", "mode: open"),
    ],
)
def test_another_rule_order_key_domain_or_split_is_another_canary(old: str, new: str) -> None:
    assert old in TEXT
    assert made(TEXT.replace(old, new)) != made(TEXT)
    # Not only because another encoding digest gives other keys: what is signed differs as well.
    assert made(TEXT.replace(old, new), digest_of=TEXT) != made(TEXT)


OPEN = TEXT.replace("mode: block_keyed", "mode: open")
BY_YEAR, BY_MONTH = (f"salt: {{field: born, part: {part}}}" for part in ("year", "month"))


def with_names(setting: str) -> str:
    return OPEN.replace("kind: name, bits: 64", f"kind: name, bits: 64, {setting}")


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (OPEN, with_names(BY_YEAR)),
        (with_names(BY_YEAR), with_names(BY_MONTH)),
        (OPEN, with_names("only_similar: [smith]")),
        (with_names("only_similar: [smith]"), with_names("only_similar: [smith, smyth]")),
    ],
)
def test_another_salt_or_list_is_another_canary(mine: str, theirs: str) -> None:
    assert made(mine) == made(mine, side=Side.BOB)
    assert made(mine) != made(theirs)
    assert made(mine, digest_of=OPEN) != made(theirs, digest_of=OPEN)


@pytest.mark.parametrize("setting", [BY_YEAR, "only_similar: [smith]"])
def test_what_cleans_or_cuts_otherwise_shows_beside_a_salt_or_a_list(
    setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a name that has no salt and is on no list: another cleaning of it must show all the same."""
    before = fresh(with_names(setting))
    cleaned = definition.TEXT_STEPS["accents"]
    monkeypatch.setitem(definition.TEXT_STEPS, "accents", lambda value: cleaned(value).replace("zoe", "zo"))
    assert fresh(with_names(setting)) != before


def test_a_list_that_is_cleaned_otherwise_is_another_canary(monkeypatch: pytest.MonkeyPatch) -> None:
    text = with_names("only_similar: [\u017bywiec]")
    before = fresh(text)
    cleaned = definition.TEXT_STEPS["accents"]
    monkeypatch.setitem(definition.TEXT_STEPS, "accents", lambda value: cleaned(value).replace("zywiec", "z"))
    assert fresh(text) != before
