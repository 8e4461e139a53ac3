"""Which sealing keys a specification takes: in a project of the approved suite none of another suite."""

from __future__ import annotations

from collections.abc import Iterable

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.sealing_key import ALGORITHMS
from gemel.common.keys.suite import Suite
from gemel.common.language.message_words import listed
from gemel.common.parties import Role
from gemel.common.pki.members import Member
from gemel.common.specification import Specification

APPROVED_RENEWAL = "make one by `gemel party renew-sealing --cryptography approved`, see deploy/README.md, Rotation"
"""What the owner of a key of the default suite does for a project of the approved one."""


def require_sealing_keys(spec: Specification, members: Iterable[Member], where: str) -> None:
    """Refuse a list in which a party that something is sealed to has a key that the specification does not take."""
    others = sealing_keys_of_another_suite(spec.suite, sealed_to(spec, members))
    if others:
        what = (
            "the specification has `cryptography: approved`, and the membership list has sealing keys that are not of"
            f" {ALGORITHMS[spec.suite]}"
        )
        got = f"such a key of {listed(others)}"
        raise GemelError(ErrorCode.SPECIFICATION, what, where=where, got=got, remedy=f"have each {APPROVED_RENEWAL}")


def sealed_to(spec: Specification, members: Iterable[Member]) -> list[Member]:
    """The members to whom something may be sealed: of the stewards the one who computes in mode shared."""
    computing = spec.compute.steward if spec.mode == "shared" else None
    return [member for member in members if member.role is not Role.STEWARD or member.name == computing]


def sealing_keys_of_another_suite(suite: Suite, members: Iterable[Member]) -> list[str]:
    """The members to whose listed sealing key nothing may be sealed in a project of this suite."""
    if suite is Suite.DEFAULT:  # takes any key that a list may have
        return []
    return [member.name for member in members if member.sealing.suite is not suite]
