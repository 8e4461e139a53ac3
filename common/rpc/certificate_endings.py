"""Members' certificates that end soon, as messages of the wire."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

from gemel.common.pki.checks import utc_now
from gemel.common.pki.ending import EndingCertificate
from gemel.common.pki.member_entries import NAME
from gemel.protos.linkage.v1 import project_pb2

MAX_ENDINGS = 100


def endings_to_wire(endings: Mapping[str, EndingCertificate]) -> list[project_pb2.EndingCertificate]:
    """As messages, the first to end first."""
    return [
        project_pb2.EndingCertificate(
            member=name, ends_unix_ms=round(soon.ends.timestamp() * 1000), urgent=soon.is_urgent
        )
        for name, soon in sorted(endings.items(), key=lambda item: item[1].ends)[:MAX_ENDINGS]
    ]


def ending_lines(
    reported: Iterable[project_pb2.EndingCertificate], without: str = "", now: datetime | None = None
) -> Iterator[str]:
    """A sentence about each certificate that Carole has reported, but those of the member whose screen it is."""
    for each in list(reported)[:MAX_ENDINGS]:
        if each.member == without or not NAME.fullmatch(each.member):
            continue
        try:
            ends = datetime.fromtimestamp(each.ends_unix_ms / 1000, UTC)
        except (ValueError, OverflowError, OSError):
            continue
        soon = EndingCertificate(ends, ends - (now or utc_now()), each.urgent)
        yield soon.described(f"the certificate of {each.member}")
