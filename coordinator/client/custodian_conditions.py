"""Why a project does not go on at a custodian, in words, as its service reports it to Carole."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

from gemel.protos.linkage.v1 import project_pb2

SILENT_SECONDS = 600.0
"""A custodian that has not called for so long is named: it calls every few seconds while no long step keeps it."""

WORDS = {
    project_pb2.CUSTODIAN_CONDITION_APPROVAL: "waits for its operator's decision on the specification",
    project_pb2.CUSTODIAN_CONDITION_LEAKAGE: "waits for its operator: its records, or the handles that a "
    "run requests, disclose more than the specification allows",
    project_pb2.CUSTODIAN_CONDITION_SOURCE: "cannot read its records, or they do not fit the specification; its "
    "operator sees why",
    project_pb2.CUSTODIAN_CONDITION_CONFIGURATION: "cannot use its configuration or its keys; its operator sees why",
    project_pb2.CUSTODIAN_CONDITION_INSTALLATION: "lacks a package; its operator sees which",
    project_pb2.CUSTODIAN_CONDITION_STORAGE: "has a full disk",
    project_pb2.CUSTODIAN_CONDITION_AUDIT: "does not accept Carole's audit log: speak with it and with Carole's "
    "operator",
    project_pb2.CUSTODIAN_CONDITION_RESTORE: "waits for its operator's decision on the restored log",
    project_pb2.CUSTODIAN_CONDITION_OTHER: "has met an error, which its operator sees",
}

_NAMES = {project_pb2.SIDE_ALICE: "Alice", project_pb2.SIDE_BOB: "Bob"}
_UNDER_WAY = frozenset(
    {
        project_pb2.PROJECT_STATE_DRAFT,
        project_pb2.PROJECT_STATE_APPROVED,
        project_pb2.PROJECT_STATE_KEYED,
        project_pb2.PROJECT_STATE_CONTRIBUTED,
    }
)


def condition_lines(status: project_pb2.ProjectStatus, now: float | None = None) -> Iterator[str]:
    """A line for each custodian that has declined, and for each that the project waits for, with the time since when.

    Parameters
    ----------
    now
        Seconds since 1970; the present by default.
    """
    moment = time.time() if now is None else now
    for side in status.sides:
        name = _NAMES.get(side.side, "A custodian")
        if side.declined:
            reason = f': "{side.decline_reason}"' if side.decline_reason else ""
            yield f"{status.project}: {name} declined the specification{reason}"
        if words := WORDS.get(side.condition):
            yield f"{status.project}: {name}'s service {words} (since {_at(side.condition_since_unix_ms)})"
        silent = side.last_poll_unix_ms and moment - side.last_poll_unix_ms / 1000 > SILENT_SECONDS
        if silent and status.state in _UNDER_WAY:
            yield (
                f"{status.project}: {name}'s service has not called Carole since {_at(side.last_poll_unix_ms)}: it is"
                " at a long step, or it does not run"
            )


def _at(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000).astimezone().strftime("%Y-%m-%d %H:%M")
