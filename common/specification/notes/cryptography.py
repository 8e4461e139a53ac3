"""Which suite of algorithms a specification names, for those who approve."""

from __future__ import annotations

from collections.abc import Iterator

from gemel.common.specification.validation.specification import Specification
from gemel.common.suite import Suite


def cryptography_notes(spec: Specification) -> Iterator[str]:
    """What the suite asks of the parties, where it is not the default."""
    if spec.suite is Suite.APPROVED:
        yield (
            "The approved suite (cryptography: approved): values are encoded by HMAC-SHA-256 and CMAC, and keys agreed"
            " and shares sealed by ML-KEM-1024 and P-384, algorithms that NIST has approved. Every party but a steward"
            " needs a sealing key of these. It makes no installation a validated one: docs/fips.md has what that takes."
        )
