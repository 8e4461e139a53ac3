"""Sides and compute parties, as the wire numbers them."""

from __future__ import annotations

from gemel.common.errors import parameter
from gemel.common.parties import ComputeParty, Side
from gemel.protos.linkage.v1 import computation_pb2, project_pb2

_SIDES = {Side.ALICE: project_pb2.SIDE_ALICE, Side.BOB: project_pb2.SIDE_BOB}
_PARTIES = {
    ComputeParty.CAROLE: computation_pb2.COMPUTE_PARTY_CAROLE,
    ComputeParty.COORDINATOR: computation_pb2.COMPUTE_PARTY_COORDINATOR,
    ComputeParty.STEWARD: computation_pb2.COMPUTE_PARTY_STEWARD,
}


def side_to_wire(side: Side) -> project_pb2.Side:
    return _SIDES[side]


def side_from_wire(number: int) -> Side:
    """The side of a number from the wire; `GemelError` (PARAMETER) for any other number."""
    for side, on_wire in _SIDES.items():
        if on_wire == number:
            return side
    raise parameter("side", "the side must be Alice's or Bob's", str(number))


def party_to_wire(party: ComputeParty) -> computation_pb2.ComputeParty:
    return _PARTIES[party]


def party_from_wire(number: int) -> ComputeParty:
    """The compute party of a number from the wire; `GemelError` (PARAMETER) for any other number."""
    for party, on_wire in _PARTIES.items():
        if on_wire == number:
            return party
    raise parameter("party", "expected a compute party", str(number))
