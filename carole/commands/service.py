"""``gemel carole``: the commands of Carole's operator."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gemel.common.terminal.options import DryRun, end_dry_run
from gemel.common.terminal.output import Json, print_json

if TYPE_CHECKING:
    from gemel.carole.bucket import Bucket
    from gemel.carole.store.payloads.encrypted_payloads import Clock
    from gemel.common.keys.identity import Identity

app = typer.Typer(help="Carole, the linkage unit: she links signatures and never sees a name.", no_args_is_help=True)

Config = Annotated[Path, typer.Option("--config", help="Carole's configuration file.")]

# `gemel carole scheduler`, `worker` and `cluster-keys`: the machines that work on Carole's shards.

ReadyFile = Annotated[Path | None, typer.Option(help="Write this file, JSON with the address, once it is ready.")]


@app.command()
def scheduler(
    config: Annotated[Path, typer.Option("--config", help="The scheduler's configuration file.")] = Path(
        "scheduler.yaml"
    ),
    ready_file: ReadyFile = None,
) -> None:
    """Serve as scheduler of Carole's cluster, by Dask, until stopped by SIGTERM or Ctrl-C. Needs the extra `cluster`.

    Whoever has a certificate of the cluster's authority can run programs on it and on every worker: the authority
    certifies nothing else. It has no key of Carole's and no page to look at.
    """
    from gemel.carole.cluster.processes import serve_scheduler

    serve_scheduler(config, ready_file)


@app.command()
def worker(
    config: Annotated[Path, typer.Option("--config", help="The worker's configuration file.")] = Path("worker.yaml"),
    ready_file: ReadyFile = None,
) -> None:
    """Work on Carole's shards, by Dask, until stopped by SIGTERM or Ctrl-C. Needs the extra `cluster`.

    A worker reads Carole's encrypted blobs by itself and has her wrapping key: it lies in her trust domain. It writes
    nothing to its disk. When the scheduler is gone it ends with status 1, for what supervises it to start it again.
    """
    from gemel.carole.cluster.processes import serve_worker

    serve_worker(config, ready_file)


@app.command("cluster-keys")
def cluster_keys(
    folder: Annotated[Path, typer.Argument(help="The folder to make, or one that this command has made.")],
    worker: Annotated[
        list[str] | None, typer.Option(help="The name of a worker; may be repeated. By default one: worker.")
    ] = None,
) -> None:
    """Make a certificate authority for a cluster, and by it certificates of Carole, the scheduler and workers.

    Each gets a folder with `ca.pem`, `certificate.pem` and `key.pem`. What exists is left as it is, so that workers can
    be added later. The authority's key, in `authority`, is not needed to serve: keep it elsewhere.
    """
    from gemel.carole.cluster.tls import make_certificates

    made = make_certificates(folder, ("carole", "scheduler", *(worker or ["worker"])))
    typer.echo(f"{folder}: made certificates of {', '.join(made)}." if made else f"{folder}: all of them exist.")


@app.command()
def serve(
    config: Config = Path("carole.yaml"),
    ready_file: Annotated[
        Path | None, typer.Option(help="Write this file, JSON with the address, once Carole is ready.")
    ] = None,
) -> None:
    """Serve until stopped by SIGTERM or Ctrl-C.

    Carole is the only party that listens on a network: custodians and coordinator call her. Her log goes to standard
    error, one JSON object per line, and holds no record's value.
    """
    from gemel.carole.service.application import serve as run

    run(config, ready_file)


@app.command()
def init(config: Config = Path("carole.yaml")) -> None:
    """Make the store, once, before the first start: the database's tables, the folder of blobs, an identity in both.

    A store that exists is left as it is. An empty place beside one that is in use is refused.
    """
    from gemel.carole.store.provision import initialise

    store, made = initialise(*_store(config))
    typer.echo(f"Made the store {store}." if made else f"The store {store} exists and is left as it is.")


@app.command()
def upgrade(config: Config = Path("carole.yaml"), dry_run: DryRun = False) -> None:
    """Bring the store of an older version of Gemel to this one, with its open projects. Stop her and back up first."""
    from gemel.carole.store.provision import upgrade as bring

    before, after = bring(*_store(config), dry_run=dry_run)
    if dry_run:
        line = f"Dry run: the database has version {before} and can become {after}; nothing was changed."
        end_dry_run([line], {"from": before, "to": after})
    if before == after:
        typer.echo(f"The database has version {after} already; nothing was changed.")
    else:
        typer.echo(f"The database had version {before} and has version {after}. The audit log has an entry about it.")


@app.command(name="confirm-clock")
def confirm_clock(config: Config = Path("carole.yaml"), dry_run: DryRun = False) -> None:
    """Confirm that the clock of this machine is right, after it has moved by days. Stop her first.

    Until then nothing is erased by retention. What the specifications' days have made due is erased after her start.
    """
    from gemel.carole.store.provision import confirm_clock as confirm

    days = confirm(*_store(config), dry_run=dry_run)
    when = "near to" if not days else f"{abs(days)} days {'after' if days > 0 else 'before'}"
    if dry_run:
        end_dry_run([f"Dry run: the clock is {when} the store's last use; nothing was changed."], {"days": days})
    typer.echo(f"The clock is {when} the store's last use, and believed. The audit log has an entry about it.")


@app.command()
def backup(
    target: Annotated[Path, typer.Argument(help="The folder to make.")], config: Config = Path("carole.yaml")
) -> None:
    """Write a backup of the store, which may be in use: database and blobs of one moment, and no key that opens them.

    Back up the wrapping key apart from it. A backup outlives an erasure: keep it no longer than what was to be erased.
    """
    from gemel.carole.store.backup import back_up

    database, place, _, clock = _store(config)
    made = back_up(database, place, target, clock)
    typer.echo(f"{target}: the store {made.store} with {made.entries} entries of its log and {made.files} files.")


@app.command()
def restore(
    source: Annotated[Path, typer.Argument(help="A folder that `gemel carole backup` wrote.")],
    config: Config = Path("carole.yaml"),
    dry_run: DryRun = False,
) -> None:
    """Put a backup back, into an empty database and an empty folder of blobs; the audit log gets an entry about it.

    A backup that an older version wrote is upgraded on the way. Every party of an open project has to accept the
    restored log, by `accept-restore`, before the project goes on.
    """
    from gemel.carole.store.backup import restore as put_back
    from gemel.common.versions import STORE

    made, version = put_back(source, *_store(config), dry_run=dry_run)
    if dry_run:
        found = {"store": made.store, "version": version, "entries": made.entries, "files": made.files}
        line = f"the store {made.store} can be restored, with {made.entries} entries of its log and {made.files} files"
        end_dry_run([f"Dry run: {line}; nothing was changed."], found)
    typer.echo(f"The store {made.store} is restored, with {made.entries} entries of its log and {made.files} files.")
    if version < STORE:
        typer.echo(f"The backup has version {version}; the database has version {STORE}, as after 'upgrade'.")
    typer.echo(_NEXT)


@app.command("declare-restored")
def declare_restored(config: Config = Path("carole.yaml"), dry_run: DryRun = False) -> None:
    """Record that the store was put back by other means than `restore`: by a copy of its files, or `pg_dump`.

    Stop her first. The audit log gets the entry that `restore` makes, and every party of an open project has to accept
    it, by `accept-restore`.
    """
    from gemel.carole.store.restoring import declare_restored as declare

    entries = declare(*_store(config), dry_run=dry_run)
    if dry_run:
        line = f"Dry run: a restoration with {entries} entries of the log would be recorded; nothing was changed."
        end_dry_run([line], {"entries": entries})
    typer.echo(f"Recorded: the store was put back with {entries} entries of its log.")
    typer.echo(_NEXT)


_NEXT = (
    "Start Carole, and inform all parties. An open project goes on when each of them has accepted the restored log, by "
    "`gemel alice accept-restore` (or bob, project, steward)."
)


def _store(config: Path) -> tuple[str, Path | Bucket, Identity, Clock]:
    """Database and blobs of a store, Carole's identity, and the clock."""
    from gemel.carole.configuration import load_carole
    from gemel.carole.store.store import milliseconds
    from gemel.common.keys.identity_configuration import open_identity
    from gemel.common.pki.folders import PartyFolder

    configuration = load_carole(config)
    os.umask(0o077)
    identity = open_identity(configuration.identity, PartyFolder(configuration.keys).identity)
    return configuration.store.database, configuration.store.place, identity, milliseconds


@app.command()
def check(config: Config = Path("carole.yaml"), as_json: Json = False) -> None:
    """Check everything that serving will need, a line each; nothing is started.

    Configuration, certificate, membership list and keys, the address to listen on, memory and disks. With
    `engine: {kind: dask}` the scheduler is called too, which shows whether each admits the other. The files of
    `notify` are read and nothing is sent; `gemel carole try-notify` does. It ends with status 1 if one has failed.
    """
    from gemel.carole.service.own_check import check_carole
    from gemel.serving.check_lines import report

    report(check_carole(config), as_json=as_json)


@app.command("try-notify")
def try_notify(config: Config = Path("carole.yaml"), dry_run: DryRun = False) -> None:
    """Send a trial message to every receiver that `notify` names; ends with status 1 if one does not take it.

    Carole may serve meanwhile: nothing of the store is read.
    """
    import secrets
    import threading

    from gemel.carole.configuration import load_carole
    from gemel.carole.notification.message import Event, Message
    from gemel.carole.notification.ways import DeliveryError, send
    from gemel.carole.store.store import milliseconds
    from gemel.common.errors import GemelError

    ways = load_carole(config).notify
    if not ways:
        typer.echo(f"{config}: `notify` names no receiver.")
        return
    trial = Message(secrets.token_hex(16), Event.TRIAL, milliseconds())
    if dry_run:
        for way in ways:
            way.check()
        receivers = [f"notify {place}, {way.way}" for place, way in enumerate(ways, 1)]
        lines = [f"Dry run: nothing was sent. To {', '.join(receivers)}:", trial.dump()]
        end_dry_run(lines, {"to": receivers, "message": json.loads(trial.dump())})
    failed = False
    for place, way in enumerate(ways, 1):
        try:
            send(way, trial, threading.Event())
            typer.echo(f"notify {place}, {way.way}: sent.")
        except (DeliveryError, GemelError) as error:
            failed = True
            typer.echo(f"notify {place}, {way.way}: {error}.", err=True)
    if failed:
        raise typer.Exit(1)


@app.command()
def health(config: Config = Path("carole.yaml"), as_json: Json = False) -> None:
    """Check that Carole is ready on this machine, database and disks included; ends with status 1 if not."""
    from gemel.carole.service.health import check_health

    address = check_health(config)
    if as_json:
        print_json({"serving": address})
    else:
        typer.echo(f"Carole is serving on {address}.")
