"""Alice's and Bob's sides, as the wire numbers them."""

from __future__ import annotations

from gemel.common.errors import parameter
from gemel.common.parties import Side
from gemel.protos.linkage.v1 import project_pb2

_TO_WIRE = {Side.ALICE: project_pb2.SIDE_ALICE, Side.BOB: project_pb2.SIDE_BOB}
_FROM_WIRE = {number: side for side, number in _TO_WIRE.items()}


def side_to_wire(side: Side) -> project_pb2.Side:
    """The wire's number of a side."""
    return _TO_WIRE[side]


def side_from_wire(number: int) -> Side:
    """The side of a number from the wire; `GemelError` (PARAMETER) for any other number."""
    for known, side in _FROM_WIRE.items():
        if known == number:
            return side
    raise parameter("side", "the side must be Alice's or Bob's", str(number))
