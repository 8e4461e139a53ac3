"""The compute parties, as the wire numbers them."""

from __future__ import annotations

from gemel.common.errors import parameter
from gemel.common.sharing.compute_parties import ComputeParty
from gemel.protos.linkage.v1 import computation_pb2

_TO_WIRE = {
    ComputeParty.CAROLE: computation_pb2.COMPUTE_PARTY_CAROLE,
    ComputeParty.COORDINATOR: computation_pb2.COMPUTE_PARTY_COORDINATOR,
    ComputeParty.STEWARD: computation_pb2.COMPUTE_PARTY_STEWARD,
}
_FROM_WIRE = {int(number): party for party, number in _TO_WIRE.items()}


def party_to_wire(party: ComputeParty) -> computation_pb2.ComputeParty:
    """The wire's number of a party."""
    return _TO_WIRE[party]


def party_from_wire(number: int) -> ComputeParty:
    """The party of a number from the wire; `GemelError` (PARAMETER) for any other number."""
    found = _FROM_WIRE.get(number)
    if found is None:
        raise parameter("party", "expected a compute party", str(number))
    return found
