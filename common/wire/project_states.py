"""A project's states in words, the same for every party; the wire's comments say what each means."""

from __future__ import annotations

from gemel.protos.linkage.v1 import project_pb2

STATE_WORDS = {
    project_pb2.PROJECT_STATE_UNSPECIFIED: "unknown",
    project_pb2.PROJECT_STATE_DRAFT: "waits for approvals",
    project_pb2.PROJECT_STATE_APPROVED: "approved; the custodians agree on a seed",
    project_pb2.PROJECT_STATE_KEYED: "keyed; the custodians contribute",
    project_pb2.PROJECT_STATE_CONTRIBUTED: "contributed; ready for a run",
    project_pb2.PROJECT_STATE_RUN: "run",
    project_pb2.PROJECT_STATE_ASSESSED: "assessed",
    project_pb2.PROJECT_STATE_HELD: "held for a steward",
    project_pb2.PROJECT_STATE_RELEASED: "released",
    project_pb2.PROJECT_STATE_ERASED: "erased",
}
