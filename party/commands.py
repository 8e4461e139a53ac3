"""``gemel party``: how an organisation becomes a member without sending a private key anywhere.

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
    from gemel.common.keys.identity import Identity
    from gemel.common.pki.members import Members
    from gemel.party.configurations import Place
    from gemel.records.sources import Source


app = typer.Typer(
    help="Become a member of a linkage between organisations that do not share a machine. One command each: `join`, "
    "and the coordinator's `convene`. Step by step, for identities on a token or an organisation's own PKI: `enrol`, "
    "`certify`, `assemble`, `accept`. No private key ever leaves the machine it was made on.",
    no_args_is_help=True,
)

Folder = Annotated[Path, typer.Argument(help="The party's folder, with its keys.")]
Config = Annotated[
    Path | None,
    typer.Option(help="The party's configuration, if that says that its identity is on a token or in a vault."),
]

Cryptography = Annotated[Suite, typer.Option(help="The suite of algorithms that the sealing key is of.")]


@app.command()
def join(
    folder: Annotated[Path, typer.Argument(help="The party's folder, made if need be: configuration and keys.")],
    role: Annotated[Role, typer.Option(help="This party's role.")],
    name: Annotated[str, typer.Option(help="Its name, if not the usual one of the role, such as alice.")] = "",
    records: Annotated[
        Path | None, typer.Option(help="Of a custodian: its file, of any kind in docs/records.md.")
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
    cryptography: Cryptography = Suite.DEFAULT,
) -> None:
    """Join a linkage: keys and a file to send; then, by the file received, everything else up to a configuration.

    It waits for the file in between; ended, it is typed again as it was. Before anything of the file is put into place
    the digits that others read out have to be typed: a custodian types those of every other member, every other member
    those of a custodian. They show that both have received the same.
    """
    from gemel.party.configurations import PROGRAM, Place
    from gemel.party.joining import join as take_part

    place = Place(folder.absolute(), name or PROGRAM[role], role, (data or folder).absolute())
    source = _source(role, records, encoding, separator)
    reached = _reached(role, address, host or ())
    take_part(
        place, address=address, hosts=reached, source=source, received=received, typed=digits or (), suite=cryptography
    )
    typer.echo(_next(place))


@app.command()
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
    from gemel.party.configurations import Place
    from gemel.party.convening import make_and_join

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


@app.command()
def enrol(
    folder: Annotated[Path, typer.Argument(help="The folder to make.")],
    name: Annotated[str, typer.Option(help="This party's name, such as alice.")],
    role: Annotated[Role, typer.Option(help="This party's role.")],
    host: Annotated[
        list[str] | None, typer.Option(help="For the linker: a host name or address at which it will be reached.")
    ] = None,
    config: Config = None,
    pki_authority: Annotated[
        list[Path] | None,
        typer.Option(help="If the organisation's own PKI issues the certificates: an authority of it, PEM."),
    ] = None,
    dns: Annotated[str, typer.Option(help="With it: a DNS name in these certificates.")] = "",
    spiffe: Annotated[str, typer.Option(help="With it: the SPIFFE ID in these certificates.")] = "",
    cryptography: Cryptography = Suite.DEFAULT,
) -> None:
    """Make this party's keys, and an enrolment request with its public keys, to send to whoever certifies.

    An identity on a token or in a vault is made before, by `gemel party identity`.
    """
    from gemel.common.pki.certificates import load_certificate, spki_fingerprint
    from gemel.common.pki.certified_names import certified_names
    from gemel.common.pki.enrolment import enrol as make

    pinned = [spki_fingerprint(load_certificate(path)) for path in pki_authority or ()]
    pki = certified_names(pinned, dns, spiffe) if pinned or dns or spiffe else None
    enrolment_request = make(folder, name, role, host or (), _identity(config, folder), pki, cryptography)
    whom = "whoever issues the certificates" if pki is None else "the coordinator, with the authorities"
    typer.echo(f"Made {folder}. Send {folder / 'enrolment-request.yaml'} to {whom}.")
    typer.echo(f"Identity, to be read to the others over the phone:\n  {enrolment_request.identity.fingerprint}")


@app.command()
def authority(
    folder: Annotated[Path, typer.Argument(help="The folder to make.")],
    name: Annotated[str, typer.Option(help="The authority's name in certificates.")] = "Gemel authority",
) -> None:
    """Make an authority that issues certificates. Whoever has its key can make members of its organisation."""
    from gemel.party.convening import make_authority

    make_authority(folder, name)
    typer.echo(f"Made {folder}. Keep it offline when it is not needed; {folder / 'authority.pem'} is public.")


@app.command()
def certify(
    enrolment_request: Annotated[Path, typer.Argument(help="The enrolment request that a party sent.")],
    authority: Annotated[Path, typer.Option(help="The authority's folder.")],
    out: Annotated[Path, typer.Option(help="Where to write the certificate, to be sent back.")],
) -> None:
    """Check an enrolment request and issue its certificate."""
    from gemel.common.pki.authority import Authority
    from gemel.common.pki.enrolment import certify as issue
    from gemel.common.pki.enrolment_requests import load_enrolment_request
    from gemel.common.pki.folders import write_public

    party = load_enrolment_request(enrolment_request)
    typer.echo(f"{party.name}, {party.role}. Compare its identity over the phone:\n  {party.identity.fingerprint}")
    write_public(out, issue(Authority.load(authority), party))
    typer.echo(f"Wrote {out}.")


@app.command()
def assemble(
    enrolment_request: Annotated[list[Path], typer.Option(help="A party's enrolment request; one for each party.")],
    certificate: Annotated[
        list[Path],
        typer.Option(help="A party's certificate, in the order of the requests; none for one of an own PKI."),
    ],
    authority: Annotated[list[Path], typer.Option(help="The certificate of an authority involved.")],
    out: Annotated[Path, typer.Option(help="Folder for members.yaml and authorities.pem.")],
) -> None:
    """Make the membership list from all requests, certificates and authorities, to be sent to everyone."""
    from gemel.common.pki.certificates import read_public
    from gemel.common.pki.enrolment import assemble as make
    from gemel.common.pki.enrolment_requests import load_enrolment_request
    from gemel.common.pki.folders import write_public

    enrolment_requests = [load_enrolment_request(path) for path in enrolment_request]
    certified = [party for party in enrolment_requests if isinstance(party.certificate, bytes)]
    if len(certified) != len(certificate):
        what, got = "every enrolment request needs its certificate", f"{len(certified)} requests"
        equally = "give --enrolment-request and --certificate equally often, in the same order"
        remedy = f"{equally}; no certificate for a party whose organisation's own PKI issues it"
        raise parameter("", what, f"{got} and {len(certificate)} certificates", remedy)
    certificates = {
        party.name: read_public(path, "the certificate") for party, path in zip(certified, certificate, strict=True)
    }
    authorities = b"".join(read_public(path, "the authority") for path in authority)
    members = make(enrolment_requests, certificates, authorities)
    out.mkdir(parents=True, exist_ok=True)
    write_public(out / "members.yaml", members.dump().encode())
    write_public(out / "authorities.pem", authorities)
    _show(members)
    typer.echo(f"Wrote {out / 'members.yaml'} and {out / 'authorities.pem'}: send both to every party.")


@app.command()
def accept(
    folder: Folder,
    name: Annotated[str, typer.Option(help="This party's name, as in its enrolment request.")],
    *,
    certificate: Annotated[
        Path | None,
        typer.Option(help="The certificate that was issued for the request; none if the own PKI puts it there."),
    ] = None,
    members: Annotated[Path, typer.Option(help="The membership list.")],
    authorities: Annotated[Path, typer.Option(help="The authorities' certificates.")],
    config: Config = None,
) -> None:
    """Check certificate, membership list and authorities, and put them into this party's folder.

    Each party checks its own entry; comparing the list's digest over the phone shows that all have the same list, with
    the keys of all parties.
    """
    from gemel.common.pki.acceptance import checked
    from gemel.common.pki.certificates import read_public

    acceptance = checked(
        folder,
        name,
        None if certificate is None else read_public(certificate, "the certificate"),
        read_public(members, "the membership list").decode("utf-8", errors="replace"),
        read_public(authorities, "the authorities"),
        _identity(config, folder),
    )
    listed = acceptance.put()
    typer.echo("Everything fits. Compare identities and the list's digest with the other parties, over the phone:")
    _show(listed)


@app.command()
def rotate(
    folder: Folder,
    retire: Annotated[
        bool, typer.Option("--retire", help="Drop all but the newest key. What only they can open is lost.")
    ] = False,
) -> None:
    """Add a new wrapping key, under which everything is encrypted at rest from the next start of the service on.

    Carole rewraps all she keeps when she starts. A custodian's old secrets stay under the old key until their
    project is over. Only then drop the old keys, with --retire.
    """
    from gemel.common.keys.vault import WrappingKeys
    from gemel.common.pki.folders import PartyFolder

    path = PartyFolder(folder).wrapping
    former = WrappingKeys.load(path)
    keys = former.retired() if retire else former.rotated()
    keys.save(path, replace=True)
    typer.echo(f"{path}: the current wrapping key is {keys.current_id.hex()}. Restart the service.")
    typer.echo("Back the file up, apart from all else: without it, data encrypted at rest cannot be read.")


@app.command("renew-sealing")
def renew_sealing(
    folder: Folder,
    config: Config = None,
    cryptography: Annotated[
        Suite | None, typer.Option(help="The suite of algorithms of the new key. Default: that of the present one.")
    ] = None,
) -> None:
    """Make a new sealing key, and an enrolment request with it.

    The key before it opens what was sealed to it until the next renewal; identity and certificate stay. A key of the
    suite `approved` is of ML-KEM-1024 and P-384, any other of ML-KEM-768 and X25519.
    """
    from gemel.party.own_keys import renew_sealing_key

    request = renew_sealing_key(folder, _identity(config, folder), cryptography)
    typer.echo(f"{folder / 'sealing.key'}: the new sealing key is\n  {request.sealing.fingerprint}")
    typer.echo("Back the file up, and restart the service. Then send the coordinator")
    typer.echo(f"{folder / 'enrolment-request.yaml'}, from which it makes the membership list again.")


@app.command("wrapping-key")
def wrapping_key(
    config: Annotated[Path, typer.Option(help="The configuration of a custodian's service or of Carole's.")],
) -> None:
    """Make the wrapping key that a configuration names, on its token of hardware or in its vault.

    The key never leaves it. What the file wrapping.key has wrapped can be read as long as that file is there.
    """
    from gemel.common.configuration import load_configuration
    from gemel.party.own_keys import WrappingSection, create_wrapping_key

    made = create_wrapping_key(load_configuration(config, WrappingSection).wrapping)
    typer.echo(f"Made the wrapping key {made}. Restart the service: it wraps by this key from then on.")


@app.command()
def identity(config: Annotated[Path, typer.Option(help="The configuration of a party.")]) -> None:
    """Make the identity that a configuration names, on its token of hardware or in its vault.

    The private key never leaves it. Enrol with `--config` then: the enrolment request is signed there.
    """
    from gemel.common.configuration import load_configuration
    from gemel.party.own_keys import IdentitySection, create_identity

    made = create_identity(load_configuration(config, IdentitySection).identity)
    typer.echo(f"Made the identity, to be read to the others over the phone:\n  {made.public.fingerprint}")


def _identity(config: Path | None, folder: Path) -> Identity | None:
    """The identity that a configuration names on a token or in a vault; None if it is in the folder, or will be."""
    from gemel.common.configuration import load_configuration
    from gemel.common.keys.identity_configuration import open_identity
    from gemel.common.pki.folders import PartyFolder
    from gemel.party.own_keys import IdentitySection

    configured = None if config is None else load_configuration(config, IdentitySection).identity
    return None if configured is None else open_identity(configured, PartyFolder(folder).identity)


def _show(members: Members) -> None:
    from gemel.common.keys.identity import in_groups

    for member in members:
        typer.echo(f"{member.name:<12} {member.role:<12} {member.identity.fingerprint}")
    typer.echo(f"{'the list':<25} {in_groups(members.digest)}")


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


def _source(role: Role, records: Path | None, encoding: str | None, separator: str | None) -> Source | None:
    """Where a custodian's records are, after they have been read once; None for another role."""
    from gemel.common.parties import CUSTODIANS
    from gemel.party.configurations import program
    from gemel.records.csv_form import CsvOptions
    from gemel.records.registry import file_source

    if (role in CUSTODIANS) != (records is not None):
        what = "a custodian names its records, and no other party has any"
        remedy = "name the file, or a YAML file with the section `source` of docs/records.md"
        raise parameter("--records", what, f"{'none' if records is None else 'a file'} for {role}", remedy)
    if records is None:
        return None
    source = file_source(records.absolute(), CsvOptions(encoding, separator).checked())
    typer.echo(f"{records}: {program(role).check_source(source)}.")
    return source


def _reached(role: Role, address: str, hosts: Sequence[str]) -> list[str]:
    """The names and addresses in the linker's certificate; none of another role."""
    from gemel.common.pki.addresses import host_of

    if (role is Role.LINKER) != bool(address) or (hosts and role is not Role.LINKER):
        what = "the linker names its address, and no other party is called by others"
        got = f"{address or 'none'} for {role}"
        raise parameter("--address", what, got, f"give --address with the role {Role.LINKER} alone")
    return list(dict.fromkeys([host_of(address)[0], *hosts])) if address else []


def _next(place: Place) -> str:
    config = f"--config {place.configuration}"
    if place.role is Role.COORDINATOR:
        return f"Next, once Carole serves: gemel project run linkage.yaml {config}"
    if place.role in (Role.STEWARD, Role.ANALYST):
        return f"Next, once Carole serves: gemel {place.program} list {config}"
    checks = "" if place.role is Role.LINKER else f"\n  gemel {place.program} check {config}   # once Carole serves"
    return f"Next:\n  gemel {place.program} serve {config}{checks}"
