"""Which releases work together: every call names the protocol of its caller, every answer that of the service.

The protocol is what both sides expect of each other beyond the form of messages: who signs what, what is sent in which
order. Carole is upgraded first (deploy/README.md, *Upgrade*). A service therefore takes callers of the release before
too, role by role, and a caller takes no older service. What names no protocol is taken for older than all.

A refusal has a code that every release reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from types import MappingProxyType
from typing import Any

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role
from gemel.common.versions import PROTOCOL

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
        raise GemelError(
            ErrorCode.WRONG_STATE,
            f"this service is of a newer release, and takes no {role} that speaks a protocol before {oldest}",
            where="your release of Gemel",
            got=f"protocol {found}",
            remedy=f"install the service's release, gemel {version('gemel')} with protocol {PROTOCOL}",
        )


def require_service(metadata: Iterable[Any], where: str) -> None:
    """Refuse a service that is older than the protocol of its callers."""
    found = _protocol(metadata)
    if found < OLDEST_SERVICE:
        raise GemelError(
            ErrorCode.WRONG_STATE,
            f"the service is of an older release than this program, which needs protocol {OLDEST_SERVICE}",
            where=where,
            got=f"protocol {found}",
            remedy="wait until it is upgraded, which comes first, or use the release before until then; what was "
            "requested may have been done",
        )


def _protocol(metadata: Iterable[Any]) -> int:
    named = [value for key, value in metadata if key == PROTOCOL_KEY]
    return int(named[0]) if len(named) == 1 and _NUMBER.fullmatch(str(named[0])) else 0
