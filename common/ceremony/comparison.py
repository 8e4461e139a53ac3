"""The digits of the received file, compared over the phone before anything of it is put into place.

What another member reads out has to be typed: a question that is answered by "yes" is answered without a call. One
side of each call is shown its digits before, the other after it has typed them, so that it cannot type its own.
"""

from __future__ import annotations

import typer

from tryst.common.ceremony.place import Place
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.parties import SIDE_OF_ROLE, Role
from tryst.common.pki.authentication_string import typed_string
from tryst.common.pki.members import Members
from tryst.common.pki.membership_file import Membership

SHOWN_FIRST = (Role.CUSTODIAN_A, Role.COORDINATOR)
"""Who reads out before having typed anything."""
ATTEMPTS = 3
"""How often digits may be typed: a digit is easily misheard."""


def counterpart(members: Members, role: Role) -> str:
    """Whose digits a member types: custodians each other's, so that no one can come between the two."""
    if role in SIDE_OF_ROLE:
        return members.in_role(SIDE_OF_ROLE[role].other.role).name
    if role is Role.COORDINATOR:
        return members.in_role(Role.CUSTODIAN_A).name
    return members.with_role(Role.COORDINATOR)[0].name


def compare(membership: Membership, place: Place, typed: str | None) -> None:
    """Have the digits read out and typed.

    Parameters
    ----------
    typed
        Digits that were read out already, for use without a terminal; None: they are requested.

    Raises
    ------
    TrystError
        SIGNATURE if they are not those of the file; PARAMETER if they are not all the digits.
    """
    other = counterpart(membership.members, place.role)
    for member in membership.members:
        typer.echo(f"  {member.name:<16} {member.role}")
    typer.echo(f"  Carole's address {membership.carole}")
    own = membership.authentication_string
    if typed is not None:
        _require(typed_string(typed), own, other)
        typer.echo(f"The same: {own}")
        return
    shown = place.role in SHOWN_FIRST
    if shown:
        typer.echo(f"\nRead out to the other members, over the phone, all of\n\n    {own}\n")
        typer.echo(f"Then type what {other} reads out to you. Call {other} at a number that you know from before.")
    else:
        typer.echo(f"\nCall {other} at a number that you know from before, and type the digits that {other} reads out.")
    for attempt in range(ATTEMPTS):
        try:
            _require(typed_string(typer.prompt(f"Digits that {other} reads out")), own, other)
            break
        except TrystError as error:
            if attempt == ATTEMPTS - 1:
                raise
            typer.echo(f"{error}", err=True)
    typer.echo("The same." if shown else f"The same. Now read yours out to {other}:\n\n    {own}\n")


def _require(typed: str, own: str, other: str) -> None:
    differing = [place for place, (a, b) in enumerate(zip(typed.split(), own.split(), strict=True), 1) if a != b]
    if differing:
        raise TrystError(
            ErrorCode.SIGNATURE,
            f"the digits differ: {other} and this member have not received the same file",
            where="authentication string",
            got=f"other digits in group {', '.join(map(str, differing))} of 6",
            remedy="have them read out once more; if they differ again, go no further: the file was changed on the "
            "way, and the coordinator has to find out where",
        )
