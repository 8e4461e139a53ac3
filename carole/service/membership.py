"""Changes of the membership list, recorded in the audit log: from when on Carole admits whom, by which keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gemel.carole.store import Store
from gemel.carole.store.store import milliseconds
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.pki.certified_names import PinnedKey
from gemel.common.pki.members import Member, Members

SHOWN_DIGITS = 16
"""Of each public key."""


def record_members(store: Store, members: Members) -> bool:
    """Record the list, if it differs from the one recorded last; whether it does.

    The entry holds the whole list and what has changed: who was added, who was removed, and whose keys or role are
    others.
    """
    now = {member.name: _entry(member) for member in members}
    before: Mapping[str, Mapping[str, str]] = store.audit.last_members() or {}
    if now == before:
        return False
    details: dict[str, Any] = {
        "members": now,
        "added": sorted(now.keys() - before.keys()),
        "removed": sorted(before.keys() - now.keys()),
        "changed": {
            name: sorted(
                what for what in now[name].keys() | before[name].keys() if now[name].get(what) != before[name].get(what)
            )
            for name in sorted(now.keys() & before.keys())
            if now[name] != before[name]
        },
    }
    store.audit.list_members(details, milliseconds())
    return True


def refuse_reused_names(store: Store, members: Members) -> None:
    """Refuse a list that gives the name of a removed owner of projects to another party: that would own them.

    A member that is listed all the time may renew its keys: it is the same party, and the log has the change.
    """
    owners, last = store.projects.owners(), store.audit.last_members() or {}
    for member in members:
        if member.name not in owners or member.name in last:
            continue
        former = store.audit.last_as_member(member.name)
        if former is not None and former["identity"] != _entry(member)["identity"]:
            raise GemelError(
                ErrorCode.CONFIGURATION,
                f"the name {member.name} was another member's, to whom projects belong",
                where="membership list",
                got="another identity than when it was removed",
                remedy="list the new member under a name of its own; a steward hands the projects over to it "
                "(`gemel steward hand-over`)",
            )


def _entry(member: Member) -> dict[str, str]:
    keys = {"identity": member.identity.hex, "sealing": member.sealing.hex}
    names: dict[str, str] = {}
    if isinstance(member.certificate, PinnedKey):
        keys |= {"authority": member.certificate.authority, "certificate": member.certificate.key}
    else:
        names = {"dns": member.certificate.dns, "spiffe": member.certificate.spiffe}
        names["authorities"] = " ".join(digits[:SHOWN_DIGITS] for digits in member.certificate.authorities)
    return {"role": str(member.role), **{what: digits[:SHOWN_DIGITS] for what, digits in keys.items()}, **names}
