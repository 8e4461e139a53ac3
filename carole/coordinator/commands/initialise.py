"""``tryst init``: keys, certificates and a configuration for every party, on one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    out: Annotated[Path, typer.Argument(help="Where the parties' folders go.")],
    address: Annotated[str, typer.Option(help="Where Carole will listen, as the others reach her: host:port.")],
    name: Annotated[
        list[str] | None, typer.Option(help="A further host name or address of Carole's; may be given several times.")
    ] = None,
) -> None:
    """Make a folder per party with its keys, certificate and configuration, and the authority that issued them.

    For trying out, and for parties that trust whoever runs this command with their keys at the start. Organisations
    that do not share a machine use `tryst party`, where no private key travels.
    """
    from carole.configuration import template as carole_template
    from carole.coordinator.configuration import TEMPLATE
    from common.custodian.templates import custodian_template
    from common.parties import Side
    from common.pki.folders import PartyFolder
    from common.pki.members import Members
    from common.pki.provision import provision

    host, _, port = address.rpartition(":")
    names = dict.fromkeys([host.strip("[]"), *(name or [])])

    def custodian(side: Side):  # type: ignore[no-untyped-def]
        def configure(folder: PartyFolder, members: Members) -> dict[str, str]:
            peer = members.in_role(side.other.role).identity
            return {f"{side}.yaml": custodian_template(side, address, peer.hex)}

        return configure

    made = provision(
        out,
        linker_names=names,
        configure={
            **{str(side): custodian(side) for side in Side},
            "carole": lambda folder, members: {"carole.yaml": carole_template(f"0.0.0.0:{port}")},
            "coordinator": lambda folder, members: {"coordinator.yaml": TEMPLATE.format(address=address)},
        },
    )
    for party, folder in made.parties.items():
        typer.echo(f"{party:<12} {folder.path}")
    typer.echo(f"{'authority':<12} {made.authority}  (take it offline)")
    typer.echo(f"Next: give each party its folder; Carole runs `tryst carole serve --config {out}/carole/carole.yaml`.")
