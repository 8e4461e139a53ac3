"""What Carole, and the coordinator through her, are shown of an error here: its kind, and neither a figure nor a text.

What each kind discloses is in docs/threat-model.md. A refusal is no condition: it is signed, with its reason, and sent
on its own.
"""

from __future__ import annotations

from gemel.common.errors import ErrorCode
from gemel.protos.linkage.v1 import project_pb2

Condition = project_pb2.CustodianCondition

_KINDS = {
    ErrorCode.LEAKAGE: project_pb2.CUSTODIAN_CONDITION_LEAKAGE,
    ErrorCode.SOURCE: project_pb2.CUSTODIAN_CONDITION_SOURCE,
    ErrorCode.FIELD_MISSING: project_pb2.CUSTODIAN_CONDITION_SOURCE,
    ErrorCode.DUPLICATE_IDENTIFIER: project_pb2.CUSTODIAN_CONDITION_SOURCE,
    ErrorCode.EMPTY_SOURCE: project_pb2.CUSTODIAN_CONDITION_SOURCE,
    ErrorCode.TEXT_ENCODING: project_pb2.CUSTODIAN_CONDITION_SOURCE,
    ErrorCode.CONFIGURATION: project_pb2.CUSTODIAN_CONDITION_CONFIGURATION,
    ErrorCode.CERTIFICATE: project_pb2.CUSTODIAN_CONDITION_CONFIGURATION,
    ErrorCode.VAULT: project_pb2.CUSTODIAN_CONDITION_CONFIGURATION,
    ErrorCode.MODULE_MISSING: project_pb2.CUSTODIAN_CONDITION_INSTALLATION,
    ErrorCode.STORAGE_FULL: project_pb2.CUSTODIAN_CONDITION_STORAGE,
    ErrorCode.AUDIT: project_pb2.CUSTODIAN_CONDITION_AUDIT,
}


def condition_of(code: ErrorCode) -> Condition:
    """The kind of condition that an error of this code is; OTHER for those that have none of their own."""
    return _KINDS.get(code, project_pb2.CUSTODIAN_CONDITION_OTHER)
