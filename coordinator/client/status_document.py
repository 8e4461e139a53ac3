"""The status of a project as plain values, for programs: what `gemel project status --json` prints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gemel.common.rpc.certificate_endings import ending_lines
from gemel.coordinator.client.custodian_conditions import condition_lines
from gemel.protos.linkage.v1 import project_pb2


def projects_document(
    projects: Iterable[project_pb2.ProjectStatus], certificates: Iterable[project_pb2.EndingCertificate] = ()
) -> dict[str, Any]:
    """Projects, and members' certificates that end soon, in words."""
    return {
        "projects": [status_document(status) for status in projects],
        "certificates": list(ending_lines(certificates)),
    }


def status_document(status: project_pb2.ProjectStatus) -> dict[str, Any]:
    """One project: its state, whose it is, its sides, its newest run, and what it waits for, in words."""
    run = status.run
    newest = {
        "run": run.run,
        "state": _word(project_pb2.RunState, run.state, "RUN_STATE_"),
        "stage": run.stage,
        "fraction": run.fraction,
        "links": None if run.links_withheld or run.state != project_pb2.RUN_STATE_DONE else run.links,
        "error": run.error,
    }
    return {
        "project": status.project,
        "state": _word(project_pb2.ProjectState, status.state, "PROJECT_STATE_"),
        "epoch": status.epoch,
        "owner": status.owner,
        "successor": status.successor,
        "specification_digest": status.specification_digest.hex(),
        "encoding_digest": status.encoding_digest.hex(),
        "sides": {_word(project_pb2.Side, side.side, "SIDE_"): _side(side) for side in status.sides},
        "run": newest if run.run else None,
        "transfers": [
            {
                "sender": _word(project_pb2.Side, each.sender, "SIDE_"),
                "recipient": each.recipient,
                "sent": each.sent,
                "received": each.received,
            }
            for each in status.transfers
        ],
        "blocking_error": status.blocking_error,
        "waits": list(condition_lines(status)),
        "restore_awaits": list(status.restore_awaits),
        "signatures": {"needed": status.signatures, "by": list(status.signed), "of": list(status.signers)},
    }


def _side(side: project_pb2.SideStatus) -> dict[str, Any]:
    return {
        "approved": side.approved,
        "declined": side.declined,
        "keyed": side.keyed,
        "contributed": side.contributed,
        "has_result": side.result_acknowledged,
    }


def _word(enum: Any, number: int, prefix: str) -> str:
    """A state's name in lower case; ``unknown`` for one of a later release."""
    if number not in enum.values():
        return "unknown"
    return str(enum.Name(number)).removeprefix(prefix).lower()
