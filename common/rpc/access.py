"""Access control: one table with the roles that may call each method of Carole and of a custodian's operator service.

A method that is not in the table is denied. A test compares the table with the service descriptors, so that a method
added to a ``.proto`` file without a line here fails the suite, and until then is denied to everyone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from types import MappingProxyType
from typing import Any

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import CUSTODIANS, Role
from gemel.common.versions import PROTOCOL

_COORDINATOR = frozenset({Role.COORDINATOR})
_STEWARD = frozenset({Role.STEWARD})
_ANALYST = frozenset({Role.ANALYST})
_COMPUTING = _COORDINATOR | _STEWARD | {Role.LINKER}
_PARTIES = CUSTODIANS | _COORDINATOR | _STEWARD

_CUSTODY = (
    "NextTask", "Approve", "Decline", "PostMessage", "ReportKeys", "BeginUpload", "PutChunk", "CommitUpload",
    "FetchArtifact", "PutArtifact", "FetchResult", "AcknowledgeResult", "PutVariables", "FetchVariables",
    "AcknowledgeVariables",
)  # fmt: skip
_COORDINATION = (
    "CreateProject", "ApproveProject", "AmendProject", "NewEpoch", "HandOver", "TakeOver", "GetProject",
    "ListProjects", "StartRun", "GetRun", "WatchRun", "FetchArtifact", "PutArtifact", "GetStatistics",
    "EraseProject",
)  # fmt: skip
_ANALYSIS = ("ListVariables", "FetchVariables", "AcknowledgeVariables")
_AUDIT = ("Witness",)
_RESTORATION = ("GetRestoration", "DecideRestoration")
_STEWARDSHIP = ("ListAssessed", "GetReport", "Decide", "HandOver", "ListEntries")
_COMPUTATION = ("AttendSession", "FetchSet", "SendMessage", "ReceiveMessage", "EndComputation")
_OPERATOR = (
    "Status", "Profile", "Specification", "Approve", "Decline", "Leakage", "Override", "ListCheckpoints",
    "ShowRestored", "DecideRestored", "FetchAlone", "Stop",
)  # fmt: skip

ACCESS: Mapping[str, frozenset[Role]] = MappingProxyType(
    {
        **{f"/linkage.v1.Custody/{method}": CUSTODIANS for method in _CUSTODY},
        **{f"/linkage.v1.Coordination/{method}": _COORDINATOR for method in _COORDINATION},
        **{f"/linkage.v1.Analysis/{method}": _ANALYST for method in _ANALYSIS},
        # Which coordinator and which steward, the specification of the session names.
        "/linkage.v1.Computation/NextComputation": _COORDINATOR | _STEWARD,
        # Carole's worker calls her service, with her own certificate.
        "/linkage.v1.Computation/OpenSession": frozenset({Role.LINKER}),
        **{f"/linkage.v1.Computation/{method}": _COMPUTING for method in _COMPUTATION},
        **{f"/linkage.v1.Audit/{method}": _PARTIES for method in _AUDIT},
        **{f"/linkage.v1.Restoration/{method}": _PARTIES for method in _RESTORATION},
        **{f"/linkage.v1.Stewardship/{method}": _STEWARD for method in _STEWARDSHIP},
        # A coordinator may read the steward's report; the decision and the audit log are the steward's alone.
        "/linkage.v1.Stewardship/GetReport": _COORDINATOR | _STEWARD,
        # The operator service listens on loopback only and admits one certificate: the custodian's own.
        **{f"/linkage.v1.Operator/{method}": CUSTODIANS for method in _OPERATOR},
        # Whether the service is up is no secret among members.
        **{f"/grpc.health.v1.Health/{method}": frozenset(Role) for method in ("Check", "Watch", "List")},
    }
)
"""Full method name to the roles that may call it."""

READING = frozenset(
    {
        *(f"/linkage.v1.Coordination/{method}" for method in ("GetProject", "ListProjects", "GetRun", "WatchRun")),
        "/linkage.v1.Coordination/GetStatistics",
        *(f"/linkage.v1.Analysis/{method}" for method in ("ListVariables", "FetchVariables")),
        # It countersigns what the caller has seen of the log, as every command does that only shows a state.
        "/linkage.v1.Audit/Witness",
        "/linkage.v1.Restoration/GetRestoration",
        *(f"/linkage.v1.Stewardship/{method}" for method in ("ListAssessed", "GetReport", "ListEntries")),
        *(f"/linkage.v1.Operator/{method}" for method in ("Status", "Profile", "Specification", "ListCheckpoints")),
        *(f"/linkage.v1.Operator/{method}" for method in ("Leakage", "ShowRestored")),
        *(f"/grpc.health.v1.Health/{method}" for method in ("Check", "Watch", "List")),
    }
)
"""Full names of the methods by which a dry run may call: they show a state and change none."""

PROTOCOL_KEY = "gemel-protocol"
"""Metadata of calls and of answers."""

OWN_PROTOCOL = ((PROTOCOL_KEY, str(PROTOCOL)),)

OLDEST_CALLERS: Mapping[Role, int] = MappingProxyType({role: 1 for role in Role if role is not Role.LINKER})
"""The oldest protocol of each role that a service of this release takes."""

OLDEST_SERVICE = 1
"""The oldest protocol of a service that a caller of this release takes."""

_NUMBER = re.compile(r"[1-9][0-9]{0,4}")


def require_caller(role: Role, metadata: Iterable[Any]) -> None:
    """Refuse a caller whose release is older than this service takes."""
    found, oldest = _protocol(metadata), OLDEST_CALLERS.get(role, PROTOCOL)
    if found < oldest:
        what = f"this service is of a newer release, and takes no {role} that speaks a protocol before {oldest}"
        where = "your release of Gemel"
        remedy = f"install the service's release, gemel {version('gemel')} with protocol {PROTOCOL}"
        raise GemelError(ErrorCode.WRONG_STATE, what, where=where, got=f"protocol {found}", remedy=remedy)


def require_service(metadata: Iterable[Any], where: str) -> None:
    """Refuse a service that is older than the protocol of its callers."""
    found = _protocol(metadata)
    if found < OLDEST_SERVICE:
        what = f"the service is of an older release than this program, which needs protocol {OLDEST_SERVICE}"
        remedy = (
            "wait until it is upgraded, which comes first, or use the release before until then; what was "
            "requested may have been done"
        )
        raise GemelError(ErrorCode.WRONG_STATE, what, where=where, got=f"protocol {found}", remedy=remedy)


def _protocol(metadata: Iterable[Any]) -> int:
    named = [value for key, value in metadata if key == PROTOCOL_KEY]
    return int(named[0]) if len(named) == 1 and _NUMBER.fullmatch(str(named[0])) else 0
