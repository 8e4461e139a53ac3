"""A new sealing key for a party that goes on with its identity, its certificate and its projects.

The party's file then holds the new key and, behind it, the one that the membership list still has; the coordinator
makes the list again from its new enrolment request. What was sealed to the key before still opens, until the next
renewal.
So a party comes to a key of the approved suite, too, without which it can take part in no project of that suite.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.keys.sealing_key import ALGORITHMS, SealingKey, new_key
from gemel.common.keys.suite import Suite
from gemel.common.language.message_words import listed
from gemel.common.parties import Role
from gemel.common.pki.enrolment_requests import EnrolmentRequest, load_enrolment_request
from gemel.common.pki.folders import PartyFolder, write_public
from gemel.common.pki.members import Member, Members
from gemel.common.pki.reader import check_own
from gemel.common.specification import Specification

APPROVED_RENEWAL = "make one by `gemel party renew-sealing --cryptography approved`, see deploy/README.md, Rotation"
"""What the owner of a key of the default suite does for a project of the approved one."""


def renew_sealing_key(folder: Path, identity: Identity | None = None, suite: Suite | None = None) -> EnrolmentRequest:
    """Make a party's new sealing key, by default of the newest one's suite, and its enrolment request with it.

    As long as the list in the folder has the key before the newest, the listed one is kept: the request is only written
    again, or the newest replaced if another suite is requested now. An identity is given where it is not in the folder.
    Raises CONFIGURATION if a file is missing or unusable, or the list has none of the folder's keys.
    """
    party = PartyFolder(folder)
    request, key = load_enrolment_request(party.enrolment_request), SealingKey.load(party.sealing)
    signer = identity or open_identity(None, party.identity)
    if party.members.exists():
        own = Members.load(party.members).named(request.name)
        check_own(own, {"identity": (signer.public,), "sealing": key.publics}, str(folder))
        is_listed = own.sealing == key.public
    else:
        is_listed = key.before is None
    requested = key.public.suite if suite is None else suite
    if is_listed or key.public.suite is not requested:
        key = key.renewed(requested) if is_listed else replace(key, newest=new_key(requested))
        # Before the request, so that no list can have a key that no file has.
        key.save(party.sealing, replace=True)
    renewed = replace(request, identity=signer.public, sealing=key.public)
    write_public(party.enrolment_request, renewed.signed(signer).encode())
    return renewed


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
