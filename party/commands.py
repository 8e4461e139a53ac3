"""``gemel party join`` and ``gemel party convene``, as they are typed.

Modules are imported when a command runs, so that help is instant.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gemel.common.errors import parameter
from gemel.common.keys.suite import Suite
from gemel.common.parties import Role

if TYPE_CHECKING:
    from gemel.common.records.sources import Source
    from gemel.party.place import Place

Digits = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=DIGITS",
        help="NAME=DIGITS, the 24 digits that the member of this name has itself read out, of each whose digits are "
        "requested: for use without a terminal.",
    ),
]
Data = Annotated[
    Path | None, typer.Option(help="Where its programs write: state, results, a store. Default: the party's folder.")
]


def join(
    folder: Annotated[Path, typer.Argument(help="The party's folder, made if need be: configuration and keys.")],
    role: Annotated[Role, typer.Option(help="This party's role.")],
    name: Annotated[str, typer.Option(help="Its name, if not the usual one of the role, such as alice.")] = "",
    records: Annotated[
        Path | None, typer.Option(help="Of a custodian: its file, of any kind in docs/custodian.md.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Text encoding of a CSV file, such as cp1252; found if not given.")
    ] = None,
    separator: Annotated[str | None, typer.Option(help="Separator of a CSV file; found if not given.")] = None,
    address: Annotated[
        str, typer.Option(help="Of the linker: host:port at which the others reach it, and on whose port it listens.")
    ] = "",
    host: Annotated[list[str] | None, typer.Option(help="Of the linker: a further host name or address of it.")] = None,
    data: Data = None,
    received: Annotated[
        Path | None, typer.Option(help="The file that the coordinator has sent; requested if not given.")
    ] = None,
    digits: Digits = None,
    cryptography: Annotated[
        Suite, typer.Option(help="The suite of algorithms that the sealing key is of.")
    ] = Suite.DEFAULT,
) -> None:
    """Join a linkage: keys and a file to send; then, by the file received, everything else up to a configuration.

    It waits for the file in between; ended, it is typed again as it was. Before anything of the file is put into place
    the digits that others read out have to be typed: a custodian types those of every other member, every other member
    those of a custodian. They show that both have received the same.
    """
    from gemel.party.joining import join as take_part
    from gemel.party.place import PROGRAM, Place

    place = Place(folder.absolute(), name or PROGRAM[role], role, (data or folder).absolute())
    source = _source(role, records, encoding, separator)
    reached = _reached(role, address, host or ())
    take_part(
        place, address=address, hosts=reached, source=source, received=received, typed=digits or (), suite=cryptography
    )
    typer.echo(_next(place))


def convene(
    folder: Annotated[Path, typer.Argument(help="The coordinator's folder, made if need be: configuration and keys.")],
    requests: Annotated[list[Path], typer.Argument(help="The files that the other members have sent.")],
    name: Annotated[str, typer.Option(help="The coordinator's name.")] = Role.COORDINATOR.value,
    address: Annotated[str, typer.Option(help="Carole's host:port, if not the host in her file at port 7443.")] = "",
    certificate: Annotated[
        list[Path] | None, typer.Option(help="A certificate that a member's own authority has issued.")
    ] = None,
    authority: Annotated[list[Path] | None, typer.Option(help="The certificate of a member's own authority.")] = None,
    authority_name: Annotated[
        str, typer.Option(help="The name of the coordinator's authority in certificates.")
    ] = "Gemel authority",
    data: Data = None,
    digits: Digits = None,
) -> None:
    """Make of all members' files the one that everyone receives, and join as the coordinator.

    Certificates are issued by an authority in the coordinator's folder, made now, but for members that bring their own.
    Ended and typed again with the same files, it goes on with the same.
    """
    from gemel.party.convening import make_and_join
    from gemel.party.place import Place

    place = Place(folder.absolute(), name, Role.COORDINATOR, (data or folder).absolute())
    make_and_join(
        place,
        requests,
        address=address,
        certificates=certificate or (),
        authorities=authority or (),
        authority_name=authority_name,
        typed=digits or (),
    )
    typer.echo(_next(place))


def _source(role: Role, records: Path | None, encoding: str | None, separator: str | None) -> Source | None:
    """Where a custodian's records are, after they have been read once; None for another role."""
    from gemel.common.parties import CUSTODIANS
    from gemel.common.records.csv_form import CsvOptions
    from gemel.common.records.registry import file_source
    from gemel.party.configurations import program

    if (role in CUSTODIANS) != (records is not None):
        raise parameter(
            "--records",
            "a custodian names its records, and no other party has any",
            f"{'none' if records is None else 'a file'} for {role}",
            "name the file, or a YAML file with the section `source` of docs/custodian.md",
        )
    if records is None:
        return None
    source = file_source(records.absolute(), CsvOptions(encoding, separator).checked())
    typer.echo(f"{records}: {program(role).check_source(source)}.")
    return source


def _reached(role: Role, address: str, hosts: Sequence[str]) -> list[str]:
    """The names and addresses in the linker's certificate; none of another role."""
    from gemel.common.pki.addresses import host_of

    if (role is Role.LINKER) != bool(address) or (hosts and role is not Role.LINKER):
        raise parameter(
            "--address",
            "the linker names its address, and no other party is called by others",
            f"{address or 'none'} for {role}",
            f"give --address with the role {Role.LINKER} alone",
        )
    return list(dict.fromkeys([host_of(address)[0], *hosts])) if address else []


def _next(place: Place) -> str:
    """What the member types after the ceremony."""
    config = f"--config {place.configuration}"
    if place.role is Role.COORDINATOR:
        return f"Next, once Carole serves: gemel project run linkage.yaml {config}"
    if place.role in (Role.STEWARD, Role.ANALYST):
        return f"Next, once Carole serves: gemel {place.program} list {config}"
    checks = "" if place.role is Role.LINKER else f"\n  gemel {place.program} check {config}   # once Carole serves"
    return f"Next:\n  gemel {place.program} serve {config}{checks}"
