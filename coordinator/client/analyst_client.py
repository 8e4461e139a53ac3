"""The analyst's client: columns of linked records that custodians have sealed to it, put together as one linked file.

It is no party to the linkage: what it verifies is that both custodians have signed what they send for one
specification, run and recipient. Ids, probabilities and values come from them; nothing of a record comes from Carole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from gemel.common.documents.document import LINKED_FILES
from gemel.common.durable import whole_file
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import Role, Side
from gemel.common.pki.members import Member, Members
from gemel.common.rpc.client import Connection
from gemel.common.rpc.transfer import Fetch
from gemel.common.specification import Specification, load_specification, specification_digest
from gemel.common.specification.model.granted_variables import Transfer
from gemel.common.wire.granted_variables import DRAWS, ID, LINKS, VALUES, Expected, VariablesContext, open_variables
from gemel.common.wire.parties import side_from_wire, side_to_wire
from gemel.coordinator.analysis.linked_file import JoinedShare, joined
from gemel.coordinator.client.connection import client
from gemel.coordinator.client.coordinator_client import listed
from gemel.custodian.steps.share import run_provenance
from gemel.protos.linkage.v1 import variables_pb2, variables_pb2_grpc
from gemel.records.table import numbers_of


@dataclass(frozen=True)
class GrantedProject:
    """A project that grants the analyst columns."""

    spec: Specification
    run: str
    due: tuple[Side, ...]
    sent: frozenset[Side]
    received: frozenset[Side]

    @property
    def missing(self) -> tuple[Side, ...]:
        """The custodians whose columns are not there yet."""
        return tuple(side for side in self.due if side not in self.sent)

    @property
    def state(self) -> str:
        """Where it stands, in words."""
        if not self.run:
            return "not released"
        if self.missing:
            return f"waits for {' and '.join(side.title() for side in self.missing)}"
        return "received" if self.received >= set(self.due) else "ready to fetch"

    def document(self) -> dict[str, Any]:
        """The same as plain values, for programs."""
        sides = {"due": self.due, "sent": sorted(self.sent), "received": sorted(self.received)}
        plain = {name: [str(side) for side in found] for name, found in sides.items()}
        return {"project": self.spec.project, "run": self.run or None, "state": self.state, **plain}


@dataclass(frozen=True)
class ReceivedFile:
    """The linked records of a run with the granted columns, as tables by the name of their file."""

    spec: Specification
    run: str
    tables: Mapping[str, pl.DataFrame] = field(repr=False)

    def write(self, folder: Path) -> list[Path]:
        """Write a Parquet file for each table, with its provenance, for its owner's eyes only; their paths."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        paths = []
        for name, table in self.tables.items():
            provenance = run_provenance(self.spec, self.run, name, Side, exact=False)
            paths.append(folder / LINKED_FILES[name])
            with whole_file(paths[-1]) as file:
                table.write_parquet(file, metadata=provenance.metadata())
        return paths


class Analyst:
    """An analyst, connected to Carole."""

    def __init__(self, connection: Connection, own: Member, key: SealingKey, members: Members) -> None:
        self._connection = connection
        self._stub: variables_pb2_grpc.AnalysisStub = connection.stub(variables_pb2_grpc.AnalysisStub)
        self._own = own
        self._key = key
        self._members = members

    def projects(self) -> list[GrantedProject]:
        """The projects whose specifications grant this analyst columns, oldest first."""
        request = variables_pb2.ListVariablesRequest
        pages = listed(self._connection, self._stub.ListVariables, request, "list of granted columns")
        return [self._project(reported) for response in pages for reported in response.projects][::-1]

    def project(self, name: str) -> GrantedProject:
        """The project of this name; NOT_FOUND if it grants the analyst nothing."""
        for project in self.projects():
            if project.spec.project == name:
                return project
        raise GemelError(
            ErrorCode.NOT_FOUND,
            f"no specification of this project grants columns to {self._own.name}",
            where=name[:80],
            remedy="see `gemel analyst list`; a project that is erased is not in it",
        )

    def fetch(self, project: GrantedProject) -> tuple[ReceivedFile, Mapping[Side, bytes]]:
        """What the custodians have sent, verified and put together; with the digests by which it is acknowledged.

        WRONG_STATE if nothing is released, or a custodian has yet to send; SEALED, SIGNATURE or UPLOAD_CORRUPT if what
        arrives is not what they have signed for this specification and run; PARAMETER if it is of two runs.
        """
        where = f"project {project.spec.project}"
        if not project.run or project.missing:
            waits = " and ".join(side.title() for side in project.missing)
            raise GemelError(
                ErrorCode.WRONG_STATE,
                f"{waits} has yet to send its columns" if project.run else "no result has been released",
                where=where,
                remedy="try again when it has, or ask the coordinator where the project stands",
            )
        drawn = project.spec.release.drawn_to(Transfer(project.due[0], self._own.name))
        names = (LINKS, DRAWS) if drawn else (LINKS,)
        received, roots = {}, {}
        for side in project.due:
            received[side], roots[side] = self._received(project, side, names)
        tables = {name: _linked(project, name, received) for name in names}
        return ReceivedFile(project.spec, project.run, tables), roots

    def acknowledge(self, project: GrantedProject, roots: Mapping[Side, bytes]) -> None:
        """Confirm to Carole that the columns are held."""
        for side, root in roots.items():
            request = variables_pb2.AcknowledgeVariablesRequest(
                project=project.spec.project, run=project.run, sender=side_to_wire(side), root=root
            )
            self._connection.call(self._stub.AcknowledgeVariables, request, attempts=3)

    def _received(
        self, project: GrantedProject, side: Side, names: tuple[str, ...]
    ) -> tuple[dict[str, pl.DataFrame], bytes]:
        name, run = project.spec.project, project.run

        def request(index: int) -> variables_pb2.FetchVariablesRequest:
            return variables_pb2.FetchVariablesRequest(project=name, run=run, sender=side_to_wire(side), index=index)

        columns = project.spec.release.granted_columns(Transfer(side, self._own.name))
        about = VariablesContext(
            name, run, side, specification_digest(project.spec), self._own.name, project.spec.suite
        )
        fetched = Fetch(self._connection, self._stub.FetchVariables, request, about.where)
        sender = self._members.in_role(side.role).identity
        tables = open_variables(self._key, sender, about, fetched, Expected(columns, None, names))
        tables[VALUES] = tables[VALUES].select(ID, *(numbers_of(tables[VALUES][column]) for column in columns))
        return tables, fetched.root

    def _project(self, reported: variables_pb2.VariableTransfers) -> GrantedProject:
        spec = load_specification(reported.specification, f"the specification of project {reported.project}")
        if spec.project != reported.project:
            raise GemelError(
                ErrorCode.SPECIFICATION,
                "Carole shows the specification of another project",
                where=f"project {reported.project[:80]}",
                remedy="report it to her operator",
            )
        due = tuple(transfer.sender for transfer in spec.release.transfers if transfer.to == self._own.name)
        sent, received = (frozenset(map(side_from_wire, sides)) for sides in (reported.sent, reported.received))
        return GrantedProject(spec, reported.run, due, sent, received)


@contextmanager
def connect_analyst(config: Path) -> Iterator[Analyst]:
    """An analyst connected to the Carole of its configuration, ``analyst.yaml``; errors as `client`."""
    with client(config, Role.ANALYST, checked=False) as found:
        key = SealingKey.load(found.folder.sealing)
        yield Analyst(found.connection, found.members.holding(key), key, found.members)


def _linked(project: GrantedProject, name: str, received: Mapping[Side, Mapping[str, pl.DataFrame]]) -> pl.DataFrame:
    """A table of links or of drawn links, with the columns of those that have sent some."""
    key = "link_id" if name == LINKS else "pair_id"
    shares = {}
    for side, tables in received.items():
        table = tables[name].join(tables[VALUES], left_on=key, right_on=ID, how="left", maintain_order="left")
        provenance = run_provenance(project.spec, project.run, name, (side,), exact=False)
        shares[side] = JoinedShare(table, provenance, f"what {side.title()} has sent")
    return joined(shares, identifiers=False)
