"""All notes for those who approve a specification, the most serious first."""

from __future__ import annotations

from collections.abc import Iterator

from gemel.common.keys.suite import Suite
from gemel.common.specification.notes.disclosure import disclosure_notes
from gemel.common.specification.notes.linkage import linkage_notes
from gemel.common.specification.validation.specification import Specification

# Which suite of algorithms a specification names, for those who approve.


def cryptography_notes(spec: Specification) -> Iterator[str]:
    """What the suite asks of the parties, where it is not the default."""
    if spec.suite is Suite.APPROVED:
        yield (
            "The approved suite (cryptography: approved): values are encoded by HMAC-SHA-256 and CMAC, and keys agreed"
            " and shares sealed by ML-KEM-1024 and P-384, algorithms that NIST has approved. Every party but a steward"
            " needs a sealing key of these. It makes no installation a validated one: docs/fips.md has what that takes."
        )


def specification_notes(spec: Specification) -> tuple[str, ...]:
    """What a valid specification reveals to the linkage unit, and risks to linkage quality: the most serious first."""
    return (*disclosure_notes(spec), *linkage_notes(spec), *cryptography_notes(spec))
