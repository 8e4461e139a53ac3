"""The membership list: the parties of a deployment.

``members.yaml`` binds each party's name and role to four public keys::

    version: 1
    members:
      - name: alice
        role: custodian-a
        authority: <SHA-256 of the public key of the authority that issues its certificates>
        certificate: <SHA-256 of the public key in its certificate>
        identity: <Ed25519 public key>
        sealing: <public key of ML-KEM-768 and X25519, or of ML-KEM-1024 and P-384>

all in hexadecimal digits. A member whose certificates come from its organisation's own PKI has, in place of
`authority` and `certificate`, the authorities and the names of its certificates::

        pki:
          authorities: [<SHA-256 of the public key of an authority>, ...]
          dns: alice.hospital.example
          spiffe: spiffe://hospital.example/gemel/alice

`admission` decides whether a caller is one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gemel.common.configuration import load_configuration, parse_configuration
from gemel.common.errors import ErrorCode, GemelError, GemelErrors
from gemel.common.keys.identity import PublicIdentity, fingerprint
from gemel.common.keys.sealing_key import MLKEM1024_PUBLIC_BYTES, MLKEM_PUBLIC_BYTES, SealingKey, SealingPublicKey
from gemel.common.keys.suite import Suite
from gemel.common.parties import SERVERS, ComputeParty, Role, Side
from gemel.common.pki.certificates import server_name
from gemel.common.pki.certified_names import CertifiedNames, PinnedKey
from gemel.common.pki.member_entries import MembersFile, certificate_lines
from gemel.common.specification import Specification

_ONE_EACH = (Role.CUSTODIAN_A, Role.CUSTODIAN_B, Role.LINKER)


@dataclass(frozen=True)
class Member:
    """One party of the deployment, by its public keys and what its certificate is known by."""

    name: str
    role: Role
    certificate: PinnedKey | CertifiedNames
    identity: PublicIdentity
    sealing: SealingPublicKey

    @property
    def server_name(self) -> str:
        """The name that its service's certificate must have."""
        return self.certificate.dns if isinstance(self.certificate, CertifiedNames) else server_name(self.role)


class Members:
    """The membership list.

    Raises CONFIGURATION, with every error: a name, certificate, identity or sealing key that two members share, a
    unique role that no member or several members have, or a service without a name to call it by.
    """

    def __init__(self, members: Iterable[Member], *, where: str = "members.yaml") -> None:
        self._members = tuple(members)
        code = ErrorCode.CONFIGURATION
        issues = _issues(self._members)
        if errors := [GemelError(code, what, where=where, got=got, remedy=remedy) for what, got, remedy in issues]:
            raise GemelErrors(code, errors, where=where)
        self._by_key = {
            member.certificate.key: member for member in self._members if isinstance(member.certificate, PinnedKey)
        }

    @classmethod
    def load(cls, path: Path) -> Members:
        """Read ``members.yaml``. Raises CONFIGURATION, with every error by key and line."""
        return cls._of(load_configuration(path, MembersFile), str(path))

    @classmethod
    def parse(cls, text: str, where: str = "members.yaml") -> Members:
        return cls._of(parse_configuration(text, MembersFile, folder=Path(), where=where), where)

    @classmethod
    def _of(cls, file: MembersFile, where: str) -> Members:
        return cls(
            (
                Member(
                    entry.name,
                    entry.role,
                    entry.known_by,
                    PublicIdentity.from_hex(entry.identity),
                    SealingPublicKey.from_hex(entry.sealing),
                )
                for entry in file.members
            ),
            where=where,
        )

    def dump(self) -> str:
        # Quoted, because 64 digits without a letter, or a member called "no", would be read back as something else.
        lines = ["# Public keys of all parties. Compare fingerprints by phone before you rely on it."]
        lines += ["version: 1", "members:"]
        for member in self._members:
            lines += [
                f'  - name: "{member.name}"',
                f"    role: {member.role}",
                *(f"    {line}" for line in certificate_lines(member.certificate)),
                f'    identity: "{member.identity.hex}"',
                f'    sealing: "{member.sealing.hex}"',
            ]
        return "\n".join(lines) + "\n"

    @property
    def digest(self) -> bytes:
        """SHA-256 of the list's text, which all parties compare over the phone."""
        return fingerprint(self.dump().encode())

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def named(self, name: str) -> Member:
        """The member of this name. Raises NOT_FOUND."""
        for member in self._members:
            if member.name == name:
                return member
        raise GemelError(ErrorCode.NOT_FOUND, "no member has this name", where="membership list", got=repr(name[:40]))

    def in_role(self, role: Role) -> Member:
        """The one member in a role that only one may have: either custodian, or the linker. Raises NOT_FOUND if there
        is none or several."""
        found = [member for member in self._members if member.role is role]
        if len(found) != 1:
            what = f"expected one member in the role {role}"
            raise GemelError(ErrorCode.NOT_FOUND, what, where="membership list", got=str(len(found)))
        return found[0]

    def with_role(self, role: Role) -> tuple[Member, ...]:
        return tuple(member for member in self._members if member.role is role)

    def holding(self, key: SealingKey) -> Member:
        """The member that opens with `key`: the list has its newest, or the one before a renewal. Raises NOT_FOUND."""
        for member in self._members:
            if member.sealing in key.publics:
                return member
        remedy = "get the current membership list, or restore the key folder's keys"
        raise GemelError(ErrorCode.NOT_FOUND, "no member has this sealing key", where="membership list", remedy=remedy)

    def with_key(self, fingerprint: str) -> Member | None:
        return self._by_key.get(fingerprint)


def _issues(members: tuple[Member, ...]) -> Iterator[tuple[str, str, str]]:
    """What is wrong, what was got, and the remedy."""
    for what, values in (
        ("a name", [member.name for member in members]),
        ("a certificate key", [getattr(member.certificate, "key", "") for member in members]),
        ("a DNS name", [getattr(member.certificate, "dns", "") for member in members]),
        ("a SPIFFE ID", [getattr(member.certificate, "spiffe", "") for member in members]),
        ("an identity", [member.identity.hex for member in members]),
        ("a sealing key", [member.sealing.hex for member in members]),
    ):
        owners: dict[str, list[str]] = {}
        for member, value in zip(members, values, strict=True):
            if value:
                owners.setdefault(value, []).append(member.name)
        remedy = "enter the values of each party's own enrolment request"
        for names in owners.values():
            if len(names) > 1:
                yield f"every member must have {what} of its own", f"the same for {' and '.join(names)}", remedy
    held = [member.role for member in members]
    for role in _ONE_EACH:
        if held.count(role) != 1:
            yield f"there must be exactly one {role}", str(held.count(role)), "name one member with this role"
    if Role.COORDINATOR not in held:
        yield "there must be at least one coordinator", "0", ""
    for member in members:
        if member.role in SERVERS and not member.server_name:
            what = f"the certificate of a {member.role} needs a DNS name, by which its service is called"
            got = f"a SPIFFE ID alone for {member.name}"
            yield what, got, "have its PKI add a DNS name, and enter it as `dns`"


_REMEDY = "have the coordinator name three members of three organisations in `compute`, or link in mode block_keyed"


def compute_members(members: Members, spec: Specification) -> tuple[Member, Member, Member]:
    """Carole, the coordinator and the steward whom a specification of mode shared names, by `ComputeParty`.

    Raises SPECIFICATION if a member that it names is not in the list, or has another role, or if two of the three, or
    one of them and a custodian, have a name or a key in common.
    """
    named = {ComputeParty.COORDINATOR: spec.compute.coordinator, ComputeParty.STEWARD: spec.compute.steward}
    carole = members.in_role(Role.LINKER)
    coordinator, steward = (_named(members, party, name) for party, name in named.items())
    require_apart((carole, coordinator, steward, *(members.in_role(side.role) for side in Side)))
    return carole, coordinator, steward


def _named(members: Members, party: ComputeParty, name: str) -> Member:
    found = [member for member in members if member.name == name]
    if not found or found[0].role is not party.role:
        got = f"{name!r}, a {found[0].role}" if found else f"{name!r}, who is no member"
        raise _unfit(f"compute.{party.role} must name a member in the role {party.role}", got)
    return found[0]


def _unfit(what: str, got: str) -> GemelError:
    return GemelError(ErrorCode.SPECIFICATION, what, where="membership list", got=got, remedy=_REMEDY)


def require_apart(members: Iterable[Member]) -> None:
    """Refuse members of whom two have a name, or a key of a certificate, identity or seal, in common."""
    owners: dict[tuple[str, object], Member] = {}
    for member in members:
        for what in _belongings(member):
            other = owners.setdefault(what, member)
            if other is not member:
                problem = f"in mode shared {other.role} and {member.role} must be two machines, and have {what[0]}"
                got = f"{other.name!r} and {member.name!r}: one machine's key in two roles"
                raise _unfit(f"{problem} in common", got)


def _belongings(member: Member) -> list[tuple[str, object]]:
    certificate = member.certificate
    if isinstance(certificate, PinnedKey):
        known = [("a certificate's key", certificate.key)]
    else:
        names = (("a DNS name", certificate.dns), ("a SPIFFE ID", certificate.spiffe))
        known = [(what, name) for what, name in names if name]
    # A sealing key is of two public keys, none of which may be in another's.
    key = member.sealing
    first = MLKEM1024_PUBLIC_BYTES if key.suite is Suite.APPROVED else MLKEM_PUBLIC_BYTES
    keys = [("a sealing key", part) for part in (key.raw[:first], key.raw[first:])]
    return [("a name", member.name), ("an identity", member.identity.raw), *known, *keys]
