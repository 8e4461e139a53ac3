"""``gemel carole scheduler``, ``worker`` and ``cluster-keys``: the machines that work on Carole's shards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ReadyFile = Annotated[Path | None, typer.Option(help="Write this file, JSON with the address, once it is ready.")]


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
    from gemel.carole.cluster.certificates import make_certificates

    made = make_certificates(folder, ("carole", "scheduler", *(worker or ["worker"])))
    typer.echo(f"{folder}: made certificates of {', '.join(made)}." if made else f"{folder}: all of them exist.")
