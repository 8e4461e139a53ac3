"""A custodian in trusted mode: its policy must name the mode, its screen shows what is sent, and values arrive."""

from __future__ import annotations

import io

from rich.console import Console

from gemel.common.parties import Side
from gemel.common.signatures.signature_sets import unpack_values
from gemel.custodian.operator import screen
from gemel.custodian.operator.control import Control
from tests.custodian.conftest import SPECIFICATION
from tests.custodian.test_flow import CONTRIBUTED, eventually, running, shown

TRUSTED = SPECIFICATION.replace("mode: open", "mode: trusted")


def test_a_policy_that_does_not_name_the_mode_approves_nothing_in_it(make_world, monkeypatch) -> None:
    world = make_world(text=TRUSTED)
    with running(world.alice, world.bob):
        eventually(lambda: shown(world.alice).waits_for_operator and shown(world.bob).waits_for_operator)
        assert world.carole.approved == set()
        output = io.StringIO()
        monkeypatch.setattr(screen, "console", Console(file=output, width=200))
        with Control.open(world.alice.config, world.alice.party) as control:
            status = control.status()
            screen.show_status(status, world.alice.party)
            assert "trusted: values are sent" in output.getvalue()
            assert screen.status_json(status)["projects"][0]["values_sent"] is True
            found = control.specification("people")
            assert "VALUES THEMSELVES ARE SENT" in found.notes[0]
            # The operator may do what the policy may not.
            control.approve("people", found.digest)
        world.carole.wait_for(lambda: world.carole.approved == {Side.ALICE})


def test_a_policy_that_names_it_does_and_values_arrive(make_world) -> None:
    world = make_world(text=TRUSTED)
    for folder in world.folders:
        text = folder.config.read_text()
        assert "  approve:" in text
        folder.config.write_text(text.replace("  approve:", "  modes: [open, trusted]\n  approve:", 1))
    with running(world.alice, world.bob):
        world.carole.wait_for(lambda: world.carole.state == CONTRIBUTED)
    for side in Side:
        part = world.carole.contribution(side)
        field = part.fields["surname"]
        assert field.content == "values"
        values = unpack_values(field.signatures, "surname")
        assert len(values) == field.n_distinct
        assert all(value == value.casefold() and value.isprintable() for value in values)
        assert part.blocks["born"].any()
