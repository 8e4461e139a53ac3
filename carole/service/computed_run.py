"""A run of mode shared as it is offered to the coordinator and the steward, who verify all of it themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gemel.carole.projects import Project
from gemel.carole.service.context import ServiceContext
from gemel.carole.service.wire import approvals_to_wire
from gemel.carole.store.payloads.stored_sets import StoredContribution
from gemel.carole.store.uploads import SharesOfUpload
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.rpc.limits import MAX_MESSAGE_BYTES
from gemel.common.specification import Specification
from gemel.common.wire.manifest import Manifest, manifest_to_wire
from gemel.protos.linkage.v1 import computation_pb2


@dataclass(frozen=True)
class ComputedRun:
    """What a session is opened for.

    Attributes
    ----------
    spec
        Names who takes part besides Carole.
    offer
        What the two read of it, but for the session.
    contributions
        Alice's and Bob's.
    """

    spec: Specification
    offer: computation_pb2.NextComputationResponse
    contributions: Mapping[Side, StoredContribution]


def computed_run(service: ServiceContext, name: str, run: str) -> ComputedRun:
    """What a session of a run is opened for.

    Raises
    ------
    GemelError
        NOT_FOUND; WRONG_STATE if the run is not active, or not of mode shared.
    """
    text, spec = service.specification(name)
    project = service.store.projects.get(name)
    active = project.active_run
    if active is None or active.run != run or spec.mode != "shared":
        raise GemelError(
            ErrorCode.WRONG_STATE, "the run is not active, or not of mode shared", where=f"{name}, run {run}"
        )
    opened = {side: service.store.uploads.open(name, side) for side in Side}
    inputs = [_input(project, side, service.store.uploads.shares(name, side)) for side in Side]
    offer = computation_pb2.NextComputationResponse(
        project=name,
        specification=text,
        run=run,
        epoch=project.epoch,
        approvals=approvals_to_wire(project),
        inputs=inputs,
    )
    return ComputedRun(spec, offer, opened)


def require_size(offer: computation_pb2.NextComputationResponse) -> None:
    """Refuse an offer that fits into no message, with UPLOAD_LIMIT."""
    if offer.ByteSize() > MAX_MESSAGE_BYTES:
        raise GemelError(
            ErrorCode.UPLOAD_LIMIT,
            "the specification and the layouts of both contributions must fit into a message",
            where=offer.project,
            got=f"{offer.ByteSize()} bytes for {MAX_MESSAGE_BYTES}",
        )


def _input(project: Project, side: Side, found: SharesOfUpload) -> computation_pb2.ComputationInput:
    manifest = Manifest(
        project.name,
        side,
        found.epoch,
        project.encoding_digest,
        project.reports[side].key_check_value,
        found.layout,
        found.sealed_seeds,
    )
    return computation_pb2.ComputationInput(upload=found.upload, manifest=manifest_to_wire(manifest))
