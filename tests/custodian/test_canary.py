"""The canary of mode block_keyed: whatever would keep two custodians' blocks apart shows before any upload."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from gemel.common.documents.document import read_provenance
from gemel.common.keys.derivation import Seed
from gemel.common.parties import Side
from gemel.common.specification import encoding_digest, load_specification, specification_digest
from gemel.custodian.cleaning import definition
from gemel.custodian.steps.seed_agreement import Canary, canary
from tests.custodian.conftest import SPECIFICATION
from tests.custodian.test_flow import CONTRIBUTED, eventually, running, shown, true_links
from tests.specifications import heading

SEED = Seed(bytes(range(32)))
BORN, NAME = "  - {name: born, keys: [{field: born}]}", "  - {name: name, keys: [{field: surname, prefix: 2}]}"
TEXT = f"""{heading("keyed", "block_keyed")}
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


@pytest.mark.parametrize(
    ("setting", "name"),
    [(BY_YEAR, "zoe"), ("only_similar: [smith]", "zoe"), ("only_similar: [\u017bywiec]", "zywiec")],
    ids=["beside a salt", "beside a list", "of the list"],
)
def test_what_cleans_otherwise_shows(setting: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of a name that has no salt and is on no list."""
    before = fresh(with_names(setting))
    cleaned = definition.TEXT_STEPS["accents"]
    monkeypatch.setitem(definition.TEXT_STEPS, "accents", lambda value: cleaned(value).replace(name, "z"))
    assert fresh(with_names(setting)) != before


# Granted columns at a custodian: a Carole who requests what she may not have, and passes on what was not sent.

GRANTED_TEXT = SPECIFICATION + "release: {variables: [{to: bob, alice: [postcode, surname]}]}\n"
N, RUN = 40, "0" * 32


@pytest.fixture
def world(make_world: Callable[..., Any]) -> Iterator[Any]:
    made = make_world(N, text=GRANTED_TEXT)
    with running(*made.folders):
        made.carole.wait_for(lambda: made.carole.state == CONTRIBUTED)
        yield made


def release(world: Any, run: str = RUN) -> None:
    carole = world.carole
    carole.acknowledged.clear()
    carole.release(true_links(carole), run=run)
    carole.wait_for(lambda: len(carole.acknowledged) == 2)


def refused(folder: Any, words: str) -> None:
    eventually(lambda: words in shown(folder).blocking_error)


def requested(world: Any, **changes: str) -> None:
    with world.carole.changed():
        for side, recipient in changes.items():
            world.carole.to_send[Side(side)] = recipient


def linked_of(folder: Any, run: str = RUN) -> Path:
    return Path(folder.configuration.results) / "people" / run / "linked.parquet"


def test_nothing_is_sent_before_the_share_or_to_whom_nothing_is_granted(world: Any) -> None:
    carole = world.carole
    carole.run = RUN
    requested(world, alice="bob")
    refused(world.alice, "after this custodian has its share of the run")
    assert not carole.variables
    carole.to_send.clear()
    release(world)
    requested(world, alice="institute", bob="alice")
    for folder in world.folders:
        refused(folder, "the approved specification grants no column")
    assert not carole.variables


def test_they_arrive_and_fit_and_no_other_message_is_taken_for_them(world: Any) -> None:
    carole = world.carole
    release(world)
    requested(world, alice="bob")
    carole.wait_for(lambda: (Side.ALICE, "bob") in carole.variables)
    sealed = carole.variables[Side.ALICE, "bob"]
    assert b"postcode" not in sealed
    with carole.changed():
        carole.to_receive[Side.BOB] = sealed[:-1] + bytes([sealed[-1] ^ 1])
    refused(world.bob, "does not open under this key and context")
    assert not linked_of(world.bob).exists()
    with carole.lock:
        carole.to_receive[Side.BOB] = sealed
    carole.wait_for(lambda: Side.BOB not in carole.to_receive)
    linked = pl.read_parquet(linked_of(world.bob))
    assert linked.columns == ["identifier", "link_id", "link_probability", "postcode", "surname"]
    assert linked.height == N
    # a7 is b7, and its postcode is 000007, which stays text.
    assert all(f"b{int(code)}" == name for name, code in linked.select("identifier", "postcode").iter_rows())
    provenance = read_provenance(linked_of(world.bob))
    assert provenance is not None
    assert provenance.specification_digest == specification_digest(load_specification(GRANTED_TEXT)).hex()
    release(world, "1" * 32)
    with carole.changed():
        carole.to_receive[Side.BOB] = sealed  # of the former run
    refused(world.bob, "does not open under this key and context")
    assert not linked_of(world.bob, "1" * 32).exists()


def test_another_share_than_the_one_acknowledged_is_no_ground_to_send(world: Any) -> None:
    carole = world.carole
    release(world)
    first = carole.shares[Side.ALICE]
    carole.release(true_links(carole).head(N // 2))
    assert carole.shares[Side.ALICE] != first
    requested(world, alice="bob")
    refused(world.alice, "another share of the run than the one that was acknowledged")
    assert not carole.variables


def test_a_source_that_lacks_a_linked_record_is_named_without_a_value(world: Any) -> None:
    release(world)
    good = world.alice.source.read_text()
    world.alice.source.write_text("\n".join(line for line in good.splitlines() if not line.startswith("a7,")) + "\n")
    requested(world, alice="bob")
    refused(world.alice, "no longer has every linked record once")
    assert "a7" not in shown(world.alice).blocking_error
    world.alice.source.write_text(good)
    world.carole.wait_for(lambda: (Side.ALICE, "bob") in world.carole.variables)
