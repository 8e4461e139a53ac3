"""The digits of the received file, compared over the phone before anything of it is put into place.

What other members read out has to be typed: a question that is answered by "yes" is answered without a call. Each
member has digits of its own, and is shown no others: what it types was read out to it. So no one has to wait for
another, and the calls may be made in any order, or in one.

A custodian types those of every other member, every other member those of a custodian. Each member has checked its own
entry, so whoever has the digits of a member's list has that member's true keys; and a custodian who is honest has found
that all who are honest have the same list, whatever the coordinator and the other custodian do together. If members
typed the digits of the coordinator, it could read out those of a list that it has made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import typer

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.language.message_words import listed
from gemel.common.parties import CUSTODIANS, Role
from gemel.common.pki.members import Member, Members
from gemel.party.configurations import Place
from gemel.party.membership_file import Membership, typed_string

TYPES: Mapping[Role, tuple[Role, ...]] = {
    role: tuple(Role) if role in CUSTODIANS else (Role.CUSTODIAN_A,) for role in Role
}
"""By role, whose digits its member types: those of all other members in these roles."""


def read_to(members: Members, name: str) -> tuple[Member, ...]:
    """The members whose digits a member types, in the order in which they are requested."""
    own = members.named(name)
    return tuple(each for role in TYPES[own.role] for each in members.with_role(role) if each.name != own.name)


def readers_of(members: Members, name: str) -> tuple[Member, ...]:
    """The members who type a member's digits: those to whom it reads its own out."""
    return tuple(each for each in members if name in {read.name for read in read_to(members, each.name)})


ATTEMPTS = 3
"""How often a member's digits may be typed: a digit is easily misheard."""


def compare(membership: Membership, place: Place, typed: Sequence[str]) -> None:
    """Have the digits read out and typed, of all members that `calls` has.

    `typed` are digits that were read out already, ``NAME=DIGITS`` each, for use without a terminal. Raises SIGNATURE if
    those of a member are not as in the file; PARAMETER if they are not all the digits, are another member's, or are
    missing.
    """
    members = membership.members
    others = [each.name for each in read_to(members, place.name)]
    for member in members:
        typer.echo(f"  {member.name:<16} {member.role}")
    typer.echo(f"  Carole's address {membership.carole}")
    if typed:
        given = _given(typed, [each.name for each in members if each.name != place.name], others)
        _require(membership, place.name, given)
        typer.echo(f"The same: {', '.join(given)}")
        return
    typer.echo(
        f"\nRead out to {listed([each.name for each in readers_of(members, place.name)])}, over the phone, all of\n"
    )
    typer.echo(f"    {membership.digits_of(place.name)}\n")
    typer.echo("Each other member has digits of its own. Call it at a number that you know from before, and let no one")
    typer.echo("else tell you its digits.")
    for other in others:
        _request(membership, place.name, other)


def _request(membership: Membership, own: str, other: str) -> None:
    """Have one member's digits typed, again where they were misheard."""
    for attempt in range(ATTEMPTS):
        try:
            _require(membership, own, {other: typed_string(typer.prompt(f"Digits that {other} reads out"))})
            break
        except GemelError as error:
            if attempt == ATTEMPTS - 1:
                raise
            typer.echo(f"{error}", err=True)
    typer.echo(f"The same: {other}")


def _given(typed: Sequence[str], known: Sequence[str], needed: Sequence[str]) -> Mapping[str, str]:
    """The digits of ``NAME=DIGITS`` by name, with none missing."""
    given: dict[str, str] = {}
    for each in typed:
        name, mark, digits = (part.strip() for part in each.partition("="))
        if not mark or name not in known or name in given:
            what = "expected NAME=DIGITS, once for each other member"
            got = f"{name[:40]!r} twice" if name in given else repr(name[:40]) if mark else "no name"
            raise parameter("--digits", what, got, f"give those of {', '.join(needed)}")
        given[name] = typed_string(digits)
    if missing := [name for name in needed if name not in given]:
        what = f"the digits of {', '.join(missing)} are missing"
        remedy = "have each of them read its own out, and give all of them: --digits NAME=DIGITS for each"
        raise parameter("--digits", what, f"those of {', '.join(given)}", remedy)
    return given


def _require(membership: Membership, own: str, given: Mapping[str, str]) -> None:
    """Refuse digits that are not those of their members."""
    differing: dict[str, str] = {}
    for other, typed in given.items():
        expected = membership.digits_of(other)
        pairs = enumerate(zip(typed.split(), expected.split(), strict=True), 1)
        if groups := [str(place) for place, (a, b) in pairs if a != b]:
            _refuse_anothers(membership, own, other, typed)
            differing[other] = f"group {', '.join(groups)} of {len(expected.split())}"
    if differing:
        raise GemelError(
            ErrorCode.SIGNATURE,
            f"the digits differ: {' and '.join(differing)} and this member have not received the same file",
            where="authentication string",
            got="; ".join(f"of {other} other digits in {groups}" for other, groups in differing.items()),
            remedy="have them read out once more; if they differ again, go no further: the file was changed on the "
            "way, or the coordinator has sent several, and the members have to find out where",
        )


def _refuse_anothers(membership: Membership, own: str, other: str, typed: str) -> None:
    for each in membership.members:
        if membership.digits_of(each.name) == typed:
            what = f"these are the digits of {'this member itself' if each.name == own else each.name}, not of {other}"
            remedy = f"type what {other} itself reads out: each member has digits of its own"
            raise parameter("authentication string", what, remedy=remedy)
