"""What keeps a project from going on at a custodian is reported to Carole as a kind, and withdrawn once mended."""

from __future__ import annotations

import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.custodian.agent import condition_of
from gemel.custodian.operator.control import Control
from gemel.custodian.service import CustodianService
from gemel.protos.linkage.v1 import project_pb2
from tests.custodian.test_flow import eventually, running, shown
from tests.custodian.test_gate_in_service import REFUSING, leaky


@pytest.mark.parametrize("code", ErrorCode)
def test_every_error_has_a_kind(code: ErrorCode) -> None:
    assert condition_of(code) in set(project_pb2.CustodianCondition.values()) - {0}


def test_records_above_the_limit_until_the_operator_overrides(make_world) -> None:
    world = make_world(text=REFUSING)
    service = CustodianService(world.alice.party, world.alice.configuration, leaky)
    service.start()
    try:
        with running(world.bob):
            leakage = {"people": project_pb2.CUSTODIAN_CONDITION_LEAKAGE}
            eventually(lambda: world.carole.conditions.get(Side.ALICE) == leakage)
            with Control.open(world.alice.config, world.alice.party) as control:
                control.override("people", "a public register")
            eventually(lambda: world.carole.conditions.get(Side.ALICE) == {})
    finally:
        service.close()


def test_a_source_that_does_not_fit_until_it_is_mended(make_world) -> None:
    world = make_world()
    whole = world.alice.source.read_text()
    world.alice.source.write_text(whole.replace("surname", "nom", 1))
    with running(world.alice):
        source = {"people": project_pb2.CUSTODIAN_CONDITION_SOURCE}
        eventually(lambda: world.carole.conditions.get(Side.ALICE) == source)
        world.alice.source.write_text(whole)
        eventually(lambda: world.carole.conditions.get(Side.ALICE) == {})


def test_caroles_own_failure_is_shown_to_the_operator_and_not_reported_to_her(make_world) -> None:
    world = make_world()
    failing = True

    def before(method: str, side: Side) -> None:
        if failing and method == "Approve":
            raise GemelError(ErrorCode.STORAGE_FULL, "a chunk cannot be stored", where="/var/lib/gemel/carole/blobs")

    world.carole.before = before
    with running(world.alice):
        eventually(lambda: "storage is full" in shown(world.alice).blocking_error)
        assert "/var/lib" not in shown(world.alice).blocking_error
        polls = len(world.carole.calls)
        eventually(lambda: len(world.carole.calls) > polls + 3)
        assert world.carole.conditions[Side.ALICE] == {}
        failing = False
        world.carole.wait_for(lambda: Side.ALICE in world.carole.approved)
        eventually(lambda: shown(world.alice).blocking_error == "")


def test_an_operator_who_has_not_decided_and_then_declines(make_world) -> None:
    world = make_world(approve=False)
    with running(world.alice):
        approval = {"people": project_pb2.CUSTODIAN_CONDITION_APPROVAL}
        eventually(lambda: world.carole.conditions.get(Side.ALICE) == approval)
        with Control.open(world.alice.config, world.alice.party) as control:
            control.decline("people", "no agreement")
        eventually(lambda: world.carole.conditions.get(Side.ALICE) == {})
        assert "declined" in shown(world.alice).blocking_error
