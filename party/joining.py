"""``gemel party join``: keys and a file to send, then the file received, compared, and everything in its place.

The steps are those that are still to be done: a command that was ended is typed again as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import typer

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.suite import Suite
from gemel.common.pki.acceptance import Acceptance, checked
from gemel.common.pki.enrolment import enrol
from gemel.common.pki.enrolment_requests import EnrolmentRequest, load_enrolment_request
from gemel.common.pki.folders import write_public
from gemel.party.comparison import compare
from gemel.party.configurations import Joined, Place, program
from gemel.party.membership_file import FILE, Membership, load_membership
from gemel.records.sources import Source


def join(
    place: Place,
    *,
    address: str = "",
    hosts: Iterable[str] = (),
    source: Source | None = None,
    received: Path | None = None,
    typed: Sequence[str] = (),
    suite: Suite = Suite.DEFAULT,
) -> None:
    """Take part in the ceremony, from making keys to a configuration.

    `address` and `hosts` are the linker's, `source` a custodian's records. What is not given of the file `received`
    from the coordinator and of the digits that others have `typed`, ``NAME=DIGITS`` each, is requested.
    """
    program(place.role)
    refuse_joined(place)
    own_request(place, hosts, suite)
    typer.echo(f"Send {place.request} to the coordinator, who sends {FILE} back to every member.")
    if received is None:
        typer.echo("Wait here for it, or end this by Ctrl-C and type the same command again when it has come.")
        received = Path(typer.prompt(f"Path of the {FILE} received")).expanduser()
    membership = load_membership(received)
    acceptance = accepted(place, membership)
    if address and membership.carole != address:
        what = "the coordinator's file has another address for Carole than --address"
        remedy = "give the coordinator the right one, and have the file made and sent to everyone again"
        raise GemelError(ErrorCode.CONFIGURATION, what, where=str(received), got=membership.carole, remedy=remedy)
    compare(membership, place, typed)
    finish(Joined(place, membership, source), acceptance)


def refuse_joined(place: Place) -> None:
    """Refuse to begin where the ceremony has ended."""
    if place.configuration.exists():
        what = "this member has joined already, or has a configuration of another origin"
        remedy = "for another ceremony name another folder; a new list is taken by `gemel party accept`"
        raise GemelError(ErrorCode.EXISTS, what, where=str(place.configuration), remedy=remedy)


def own_request(place: Place, hosts: Iterable[str] = (), suite: Suite = Suite.DEFAULT) -> EnrolmentRequest:
    if not place.keys.path.exists():
        enrol(place.keys.path, place.name, place.role, hosts, suite=suite)
        typer.echo(f"Made the keys of {place.name} in {place.keys.path}. They never leave this machine.")
        typer.echo(f"Copy {place.keys.wrapping} to a place of its own now: without it, data at rest cannot be read.")
    request = load_enrolment_request(place.keys.enrolment_request)
    if (request.name, request.role) != (place.name, place.role):
        what = f"this folder has the keys of another member than {place.name}, {place.role}"
        got = f"{request.name}, {request.role}"
        remedy = "type the command as it was typed first, or name another folder"
        raise GemelError(ErrorCode.CONFIGURATION, what, where=str(place.keys.path), got=got, remedy=remedy)
    write_public(place.request, place.keys.enrolment_request.read_bytes())
    return request


def accepted(place: Place, membership: Membership) -> Acceptance:
    """The received file, checked against the member's own keys."""
    listed = {each.name: each for each in membership.members}
    request = load_enrolment_request(place.keys.enrolment_request)
    if place.name not in listed or listed[place.name].identity != request.identity:
        raise GemelError(
            ErrorCode.CONFIGURATION,
            f"this file was not made from the enrolment request of {place.name} in this folder: it is of another"
            " ceremony, of an older request, or was changed on the way",
            where=FILE,
            got="another identity" if place.name in listed else f"members {', '.join(listed)}",
            remedy=f"do not continue with it; send {place.request} to the coordinator again",
        )
    certificate = membership.certificates.get(place.name)
    return checked(place.keys.path, place.name, certificate, membership.members.dump(), membership.authorities)


def finish(joined: Joined, acceptance: Acceptance) -> None:
    """Put the received files into the member's folder, and its configuration."""
    place = joined.place
    acceptance.put()
    own = program(place.role)
    write_public(place.configuration, own.configure(joined).encode())
    try:
        done = own.complete(joined)
    except BaseException:
        # The same command is then typed again, and makes it again.
        place.configuration.unlink()
        raise
    typer.echo(f"Wrote {place.configuration}. {done}".rstrip())
