"""Carole's part in `release.variables`: she passes sealed columns from a custodian to a recipient, and reads none.

Sender and recipient are the caller's own, never taken from a request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import grpc

from gemel.carole.projects import Project, State
from gemel.carole.service.context import ServiceContext, known_id, project_name
from gemel.carole.service.project_lists import newest_first
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import SIDE_OF_ROLE, Role
from gemel.common.pki.members import Member
from gemel.common.rpc.pages import page
from gemel.common.rpc.server import caller
from gemel.common.rpc.trust import Trust
from gemel.common.specification.model.granted_variables import Transfer
from gemel.common.wire.chunks import Chunk
from gemel.common.wire.parties import side_from_wire, side_to_wire
from gemel.protos.linkage.v1 import variables_pb2, variables_pb2_grpc


def put_variables(
    service: ServiceContext, request: variables_pb2.PutVariablesRequest, member: Member
) -> variables_pb2.PutVariablesResponse:
    """Take a chunk of what a custodian sends to a recipient."""
    limits, transfer = service.limits, Transfer(SIDE_OF_ROLE[member.role], request.recipient)
    name, run, chunk = project_name(request.project), known_id(request.run), Chunk.of(request.chunk)
    service.store.variables.put(name, member.name, run, transfer, chunk, limits.max_upload_bytes, limits.quota)
    return variables_pb2.PutVariablesResponse()


def fetch_variables(
    service: ServiceContext, request: variables_pb2.FetchVariablesRequest, member: Member
) -> variables_pb2.FetchVariablesResponse:
    """A chunk of what a custodian has sent to the caller."""
    name, run = project_name(request.project), known_id(request.run)
    transfer = Transfer(side_from_wire(request.sender), recipient_name(member))
    chunk = service.store.variables.fetch(name, member.role, run, transfer, request.index)
    return variables_pb2.FetchVariablesResponse(chunk=chunk.message())


def acknowledge_variables(
    service: ServiceContext, request: variables_pb2.AcknowledgeVariablesRequest, member: Member
) -> variables_pb2.AcknowledgeVariablesResponse:
    """The caller confirms that it holds what a custodian has sent."""
    name, run = project_name(request.project), known_id(request.run)
    transfer = Transfer(side_from_wire(request.sender), recipient_name(member))
    service.store.variables.acknowledge(name, member.role, member.name, run, transfer, request.root)
    return variables_pb2.AcknowledgeVariablesResponse()


def recipient_name(member: Member) -> str:
    """How a specification names a recipient: a custodian by its side, an analyst by its name."""
    side = SIDE_OF_ROLE.get(member.role)
    return member.name if side is None else str(side)


def require_analysts(transfers: tuple[Transfer, ...], trust: Trust) -> None:
    """Refuse a specification that grants columns to an analyst who is no member of that role."""
    analysts = {member.name for member in trust.members.with_role(Role.ANALYST)}
    if missing := sorted({transfer.to for transfer in transfers if transfer.to_analyst} - analysts):
        raise GemelError(
            ErrorCode.SPECIFICATION,
            "columns are granted to a recipient that is no member with the role analyst",
            where="release.variables",
            got=", ".join(missing),
            remedy="enrol it (`gemel party enrol --role analyst`) and have all take the new membership list, or name"
            " alice or bob",
        )


class Analysis(variables_pb2_grpc.AnalysisServicer):
    """The analysts' service."""

    def __init__(self, service: ServiceContext) -> None:
        self._service = service

    def ListVariables(  # noqa: N802
        self, request: variables_pb2.ListVariablesRequest, context: grpc.ServicerContext
    ) -> variables_pb2.ListVariablesResponse:
        """The projects whose columns are granted to the caller, with their specifications; no run before a release."""
        listed = newest_first(self._service.store.projects.all(), request.after)
        found, following = page(self._granted(listed, recipient_name(caller(context))), request.maximum)
        return variables_pb2.ListVariablesResponse(projects=found, next=following)

    def FetchVariables(  # noqa: N802
        self, request: variables_pb2.FetchVariablesRequest, context: grpc.ServicerContext
    ) -> variables_pb2.FetchVariablesResponse:
        """A chunk of what a custodian has sent to the caller."""
        return fetch_variables(self._service, request, caller(context))

    def AcknowledgeVariables(  # noqa: N802
        self, request: variables_pb2.AcknowledgeVariablesRequest, context: grpc.ServicerContext
    ) -> variables_pb2.AcknowledgeVariablesResponse:
        """The caller confirms that it holds what a custodian has sent."""
        return acknowledge_variables(self._service, request, caller(context))

    def _granted(self, projects: Iterable[Project], own: str) -> Iterator[tuple[str, variables_pb2.VariableTransfers]]:
        """The transfers to a recipient, by project."""
        for project in projects:
            mine = [transfer for transfer in project.transfers if transfer.to == own]
            if not mine or project.state is State.ERASED:
                continue
            run = project.released_run if project.state is State.RELEASED else None
            yield (
                project.name,
                variables_pb2.VariableTransfers(
                    project=project.name,
                    specification=self._service.store.projects.specification(project.name),
                    run="" if run is None else run.run,
                    sent=[side_to_wire(transfer.sender) for transfer in mine if transfer in project.sent],
                    received=[side_to_wire(transfer.sender) for transfer in mine if transfer in project.received],
                ),
            )
