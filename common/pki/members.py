"""The membership list: the parties of a deployment.

``members.yaml`` binds each party's name and role to four public keys::

    version: 1
    members:
      - name: alice
        role: custodian-a
        authority: <SHA-256 of the public key of the authority that issues its certificates>
        certificate: <SHA-256 of the public key in its certificate>
        identity: <Ed25519 public key>
        sealing: <X25519 public key>

all as 64 hexadecimal digits. `admission` decides whether a caller is one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from tryst.common.configuration import Configuration, load_configuration, parse_configuration
from tryst.common.errors import ErrorCode, TrystError, TrystErrors
from tryst.common.keys.identity import PublicIdentity
from tryst.common.keys.sealing_key import SealingPublicKey
from tryst.common.parties import Role

NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?")
"""The form of a member's name."""

_ONE_EACH = (Role.CUSTODIAN_A, Role.CUSTODIAN_B, Role.LINKER)


def _digits(text: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{64}", text):
        raise ValueError(f"expected 64 lower-case hexadecimal digits, got {len(text)} characters")
    return text


def _identity(text: str) -> str:
    try:
        PublicIdentity.from_hex(_digits(text))
    except TrystError as error:
        raise ValueError(error.what) from None
    return text


def member_name(text: str) -> str:
    """The name itself, if it is valid for a member.

    Raises
    ------
    ValueError
        If not.
    """
    if not NAME.fullmatch(text):
        raise ValueError("a member's name has 1 to 32 of a-z, 0-9 and -, and no - at either end")
    return text


MemberName = Annotated[str, AfterValidator(member_name)]
FirstVersion = Annotated[int, Field(ge=1, le=1)]  # Literal[1] would take 1.0 and true for 1
KeyDigits = Annotated[str, AfterValidator(_digits)]
IdentityDigits = Annotated[str, AfterValidator(_identity)]


class _Entry(Configuration):
    name: MemberName
    role: Role
    authority: KeyDigits
    certificate: KeyDigits
    identity: IdentityDigits
    sealing: KeyDigits


class _File(Configuration):
    version: FirstVersion
    members: tuple[_Entry, ...]


@dataclass(frozen=True)
class Member:
    """One party of the deployment, by its public keys."""

    name: str
    role: Role
    authority: str
    certificate: str
    identity: PublicIdentity
    sealing: SealingPublicKey


class Members:
    """The membership list.

    Raises
    ------
    TrystErrors
        CONFIGURATION, with every error: a name, certificate, identity or sealing key that two members share, or a
        unique role that no member or several members have.
    """

    def __init__(self, members: Iterable[Member], *, where: str = "members.yaml") -> None:
        self._members = tuple(members)
        issues = _shared(self._members, where) + _roles(self._members, where)
        if issues:
            raise TrystErrors(ErrorCode.CONFIGURATION, issues, where=where)
        self._by_certificate = {member.certificate: member for member in self._members}

    @classmethod
    def load(cls, path: Path) -> Members:
        """Read ``members.yaml``.

        Raises
        ------
        TrystError
            CONFIGURATION, with every error by key and line.
        """
        return cls._of(load_configuration(path, _File), str(path))

    @classmethod
    def parse(cls, text: str, where: str = "members.yaml") -> Members:
        """Read the text of a membership list; as `load`."""
        return cls._of(parse_configuration(text, _File, folder=Path(), where=where), where)

    @classmethod
    def _of(cls, file: _File, where: str) -> Members:
        return cls(
            (
                Member(
                    entry.name,
                    entry.role,
                    entry.authority,
                    entry.certificate,
                    PublicIdentity.from_hex(entry.identity),
                    SealingPublicKey.from_hex(entry.sealing),
                )
                for entry in file.members
            ),
            where=where,
        )

    def dump(self) -> str:
        """The list as the text of ``members.yaml``."""
        # Quoted, because 64 digits without a letter, or a member called "no", would be read back as something else.
        lines = ["# Public keys of all parties. Compare fingerprints by phone before you rely on it."]
        lines += ["version: 1", "members:"]
        for member in self._members:
            lines += [
                f'  - name: "{member.name}"',
                f"    role: {member.role}",
                f'    authority: "{member.authority}"',
                f'    certificate: "{member.certificate}"',
                f'    identity: "{member.identity.hex}"',
                f'    sealing: "{member.sealing.hex}"',
            ]
        return "\n".join(lines) + "\n"

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def named(self, name: str) -> Member:
        """The member of this name.

        Raises
        ------
        TrystError
            NOT_FOUND.
        """
        for member in self._members:
            if member.name == name:
                return member
        raise TrystError(ErrorCode.NOT_FOUND, "no member has this name", where="membership list", got=repr(name[:40]))

    def in_role(self, role: Role) -> Member:
        """The one member in a role that only one may have: either custodian, or the linker.

        Raises
        ------
        TrystError
            NOT_FOUND if there is none or several.
        """
        found = [member for member in self._members if member.role is role]
        if len(found) != 1:
            raise TrystError(
                ErrorCode.NOT_FOUND,
                f"expected one member in the role {role}",
                where="membership list",
                got=str(len(found)),
            )
        return found[0]

    def with_role(self, role: Role) -> tuple[Member, ...]:
        """The members in a role that several may have: coordinators, stewards."""
        return tuple(member for member in self._members if member.role is role)

    def with_sealing_key(self, digits: str) -> Member:
        """The member with this public sealing key, in hexadecimal.

        Raises
        ------
        TrystError
            NOT_FOUND.
        """
        for member in self._members:
            if member.sealing.hex == digits:
                return member
        raise TrystError(
            ErrorCode.NOT_FOUND,
            "no member has this sealing key",
            where="membership list",
            remedy="get the current membership list, or restore the key folder's keys",
        )

    def with_certificate(self, fingerprint: str) -> Member | None:
        """The member whose certificate has this public key."""
        return self._by_certificate.get(fingerprint)


def _shared(members: tuple[Member, ...], where: str) -> list[TrystError]:
    issues: list[TrystError] = []
    for what, values in (
        ("a name", [member.name for member in members]),
        ("a certificate key", [member.certificate for member in members]),
        ("an identity", [member.identity.hex for member in members]),
        ("a sealing key", [member.sealing.hex for member in members]),
    ):
        owners: dict[str, list[str]] = {}
        for member, value in zip(members, values, strict=True):
            owners.setdefault(value, []).append(member.name)
        issues += [
            TrystError(
                ErrorCode.CONFIGURATION,
                f"every member must have {what} of its own",
                where=where,
                got=f"the same for {' and '.join(names)}",
                remedy="enter the values of each party's own enrolment request",
            )
            for names in owners.values()
            if len(names) > 1
        ]
    return issues


def _roles(members: tuple[Member, ...], where: str) -> list[TrystError]:
    held = [member.role for member in members]
    issues = [
        TrystError(
            ErrorCode.CONFIGURATION,
            f"there must be exactly one {role}",
            where=where,
            got=str(held.count(role)),
            remedy="name one member with this role",
        )
        for role in _ONE_EACH
        if held.count(role) != 1
    ]
    if Role.COORDINATOR not in held:
        issues.append(
            TrystError(ErrorCode.CONFIGURATION, "there must be at least one coordinator", where=where, got="0")
        )
    return issues
