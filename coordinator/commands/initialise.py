"""``gemel init``: keys, certificates and a configuration for every party, on one machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gemel.common.keys.suite import Suite

if TYPE_CHECKING:
    from gemel.common.parties import Role, Side
    from gemel.common.pki.folders import PartyFolder
    from gemel.common.pki.members import Members


def command(
    out: Annotated[Path, typer.Argument(help="Where the parties' folders go.")],
    address: Annotated[str, typer.Option(help="Where Carole will listen, as the others reach her: host:port.")],
    name: Annotated[
        list[str] | None, typer.Option(help="A further host name or address of Carole's; may be given several times.")
    ] = None,
    analyst: Annotated[
        list[str] | None,
        typer.Option(help="An analyst's name, who may receive columns of linked records; may be given several times."),
    ] = None,
    cryptography: Annotated[
        Suite, typer.Option(help="The suite of algorithms that the parties' sealing keys are of.")
    ] = Suite.DEFAULT,
) -> None:
    """Make a folder per party with its keys, certificate and configuration, and the authority that issued them.

    For trying out, and for parties that trust whoever runs this command with their keys at the start. Organisations
    that do not share a machine use `gemel party`, where no private key travels.
    """
    from gemel.carole.configuration import template as carole_yaml
    from gemel.common.keys.identity import in_groups
    from gemel.common.observability.settings import local
    from gemel.common.parties import PARTIES, Role, Side
    from gemel.common.pki.addresses import host_of, listening
    from gemel.coordinator.provisioning import provision

    host, port = host_of(address)
    made = provision(
        out,
        linker_names=dict.fromkeys([host, *(name or ())]),
        suite=cryptography,
        parties={**PARTIES, **dict.fromkeys(analyst or (), Role.ANALYST)},
        configure={
            **{name: _client(Role.ANALYST, address) for name in analyst or ()},
            **{str(side): _custodian(side, address) for side in Side},
            "carole": lambda _folder, members: {
                "carole.yaml": carole_yaml(
                    listening(host, port), observability=local("carole"), members_digest=in_groups(members.digest)
                )
            },
            "coordinator": _client(Role.COORDINATOR, address),
            "steward": _client(Role.STEWARD, address),
        },
    )
    for party, folder in made.parties.items():
        typer.echo(f"{party:<12} {folder.path}")
    typer.echo(f"{'authority':<12} {made.authority}  (take it offline)")
    typer.echo("")
    typer.echo("Give each party its own folder and no other. Then, each on its own machine:")
    typer.echo(f"  gemel carole init --config {made.parties['carole'].path / 'carole.yaml'}    # once")
    typer.echo(f"  gemel carole serve --config {made.parties['carole'].path / 'carole.yaml'}")
    for side in Side:
        path = made.parties[str(side)].path
        typer.echo(f"  gemel {side} serve --config {path / f'{side}.yaml'}    # its records: {path / f'{side}.csv'}")
    typer.echo(f"  gemel project status --config {made.parties['coordinator'].path / 'coordinator.yaml'}")


def _client(role: Role, address: str) -> Callable[[PartyFolder, Members], dict[str, str]]:
    from gemel.common.keys.identity import in_groups
    from gemel.coordinator.client.client_configuration import template

    return lambda _folder, members: {
        f"{role}.yaml": template(address, role=role, members_digest=in_groups(members.digest))
    }


def _custodian(side: Side, address: str) -> Callable[[PartyFolder, Members], dict[str, str]]:
    from gemel.common.keys.identity import in_groups
    from gemel.common.observability.settings import local
    from gemel.common.parties import Party
    from gemel.custodian.joining import custodian_yaml

    def configure(_folder: PartyFolder, members: Members) -> dict[str, str]:
        peer = members.in_role(side.other.role).identity.fingerprint
        text = custodian_yaml(
            Party(side, side.title()),
            carole=address,
            peer_fingerprint=peer,
            listen=local(str(side)),
            members_digest=in_groups(members.digest),
        )
        return {f"{side}.yaml": text}

    return configure
