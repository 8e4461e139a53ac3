"""What custodians state of their files: in the audit log with their approvals, and compared with what they send."""

from __future__ import annotations

from gemel.carole.projects.operations import Detail
from gemel.carole.store.audit import Log
from gemel.common.audit.file_statement import FileStatement, check_contributed
from gemel.common.pki.members import Member
from gemel.common.specification import Specification
from gemel.common.wire.manifest import Manifest
from gemel.protos.linkage.v1 import custody_pb2

RECORDS, ORIGIN, SIGNATURE = "stated_records", "stated_origin", "file_signature"
"""Names of a statement's parts in the details of an audit entry."""


def file_details(request: custody_pb2.ApproveRequest, member: Member) -> dict[str, Detail]:
    """The details that the audit entry of an approval has of the custodian's file.

    Raises
    ------
    GemelError
        PARAMETER for a statement out of bounds; SIGNATURE if this member has not signed it.
    """
    stated = FileStatement(request.file.records, request.file.origin)
    stated.verify(member.identity, request.file.signature, request.project, request.specification_digest)
    return {RECORDS: stated.records, ORIGIN: stated.origin, SIGNATURE: request.file.signature.hex()}


def check_stated(log: Log, manifest: Manifest, spec: Specification, member: str) -> dict[str, Detail]:
    """Compare a contribution with what its custodian has stated of its file.

    Parameters
    ----------
    log
        Has the statement, in the entry of the custodian's newest approval.
    manifest
        Of the contribution.
    spec
        Says how many of a whole file's rows are decoys.
    member
        The custodian.

    Returns
    -------
    dict
        The details that the audit entry of the upload has of it.

    Raises
    ------
    GemelError
        As `check_contributed`.
    """
    layout = manifest.layout
    contributed = layout.records or layout.sets[0].rows - spec.decoys
    stated = int(log.approved(manifest.project, member)[RECORDS])
    check_contributed(stated, contributed, f"{manifest.project}, contribution of {member}")
    return {"records": contributed, RECORDS: stated}
