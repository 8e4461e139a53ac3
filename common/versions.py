"""Versions of messages and of stored data, in one place, where `gemel --version` reads them at no cost."""

from __future__ import annotations

WIRE = "linkage.v1"
"""The protobuf package of every message and service."""

PROTOCOL = 1
"""What two parties expect of each other beyond the form of messages. Raised when a release must refuse another for it;
`common/rpc/access.py` has what is still taken."""

CLEANING_EDITION = 1
"""Raised when a cleaning step or a default missing code changes meaning; part of the encoding digest, because two
custodians who clean differently sign equal people differently."""

CUSTODIAN_STATE = 1
"""Tables of a custodian's own database: the newest of `custodian/state/migrations/versions`. Every change of a
table raises it."""

STORE = 1
"""Tables of Carole's store: the newest of `carole/store/migrations/versions`. Every change of a table raises it."""
