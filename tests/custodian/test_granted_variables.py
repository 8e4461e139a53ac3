"""Granted columns at a custodian: a Carole who requests what she may not have, and passes on what was not sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from gemel.common.documents.document import read_provenance
from gemel.common.parties import Side
from gemel.common.specification import load_specification, specification_digest
from tests.custodian.conftest import SPECIFICATION
from tests.custodian.test_flow import CONTRIBUTED, eventually, running, shown, true_links

TEXT = SPECIFICATION + "release: {variables: [{to: bob, alice: [postcode, surname]}]}\n"
N, RUN = 40, "0" * 32


@pytest.fixture
def world(make_world: Callable[..., Any]) -> Iterator[Any]:
    made = make_world(N, text=TEXT)
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
    with world.carole.lock:
        for side, recipient in changes.items():
            world.carole.to_send[Side(side)] = recipient
        world.carole.lock.notify_all()


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
    with carole.lock:
        carole.to_receive[Side.BOB] = sealed[:-1] + bytes([sealed[-1] ^ 1])
        carole.lock.notify_all()
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
    assert provenance.specification_digest == specification_digest(load_specification(TEXT)).hex()
    release(world, "1" * 32)
    with carole.lock:
        carole.to_receive[Side.BOB] = sealed  # of the former run
        carole.lock.notify_all()
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
