"""Carole's configuration, ``carole.yaml``: where she listens, what she keeps and how much she may use."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationInfo, model_validator
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from gemel.carole.bucket import Bucket
from gemel.carole.cluster.engine_section import EngineConfiguration, LocalEngine
from gemel.carole.notification.section import WayConfiguration, distinct
from gemel.common.configuration import Configuration, ConfiguredPath, Listen, Size, load_configuration, size_in_bytes
from gemel.common.durable import whole_file
from gemel.common.errors import ErrorCode, file_error
from gemel.common.keys.identity_configuration import IdentityConfiguration
from gemel.common.keys.wrapping_configuration import WrappingConfiguration
from gemel.common.observability.settings import Observability, section
from gemel.common.pki.list_pin import ListDigest, pin_line
from gemel.common.processes import processors
from gemel.serving.fairness import MAX_WAITING, MAX_WORKING, MemberLimits

LogLevel = Literal["debug", "info", "warning", "error"]

TEMPLATE = """\
# Carole, the linkage unit: the only service that listens on a network. Nothing secret belongs in this file.
version: 1
listen: {listen}
keys: {keys}  # folder of her certificate and keys, made by `gemel init` or `gemel party`
{pin}
store:
  database: sqlite:///{store}/carole.db  # or postgresql+psycopg://user@host/name, with its password in a ~/.pgpass
  blobs: {store}/blobs  # encrypted uploads and results; wrapping.key must not be in their backups
limits:
  memory: 3GiB                         # for the data of runs; each worker's interpreter needs about 250 MiB more
  threads: 0                           # for comparing; 0 means one per core
  workers: 1                           # runs at a time; memory and threads are shared out among them
  max_upload: 2GiB                     # per custodian, of signatures
  max_rows: 5000000                    # per custodian's file
  max_stored: 32GiB                    # per custodian, of all its contributions in all projects
log_level: info
{observability}"""


def _database(text: str, info: ValidationInfo) -> str:
    """The URL, a relative path of SQLite's made relative to the file's folder. Never shown: it may hold a password."""
    try:
        url = make_url(text)
    except ArgumentError:
        raise ValueError("expected sqlite:///path or postgresql+psycopg://user@host/name") from None
    if url.get_backend_name() == "sqlite":
        if not url.database or url.database == ":memory:":
            raise ValueError("expected sqlite:///path: a database in memory would be lost at a restart")
        folder = (info.context or {}).get("folder")
        path = Path(url.database).expanduser()
        return str(url.set(database=str(path if folder is None else Path(folder) / path)))
    if url.drivername != "postgresql+psycopg":
        raise ValueError("expected sqlite:///path or postgresql+psycopg://user@host/name")
    if url.password is not None:
        raise ValueError("a password belongs in ~/.pgpass or the environment, not in the URL")
    return text


def _blobs(given: str | Path, info: ValidationInfo) -> str | Path:
    """The URL of a bucket as it is; a folder, where relative, made relative to the file's folder."""
    text = str(given)
    if "://" not in text:
        folder = (info.context or {}).get("folder")
        path = Path(text).expanduser()
        return path if folder is None else Path(folder) / path
    if not re.fullmatch(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9_.-]{1,64}){0,8}", text):
        raise ValueError("expected a folder, or s3://bucket/prefix")
    return text


def _endpoint(text: str) -> str:
    """The URL of a service, by TLS unless it is on this machine."""
    found = urlsplit(text)
    loopback = found.hostname in ("127.0.0.1", "::1", "localhost")
    if text and (found.scheme not in ("https", "http") or not found.hostname or found.username or found.query):
        raise ValueError("expected https://host or https://host:port")
    if text and found.scheme == "http" and not loopback:
        raise ValueError("expected https://: without TLS only a service on this machine is used")
    return text


class ObjectsConfiguration(Configuration):
    """How an object store is reached. Credentials are in a file or in the environment, never here."""

    endpoint: Annotated[str, AfterValidator(_endpoint)] = ""
    """URL of the service; by default Amazon's of the region."""
    region: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,64}$")] = "us-east-1"
    """As the service names it."""
    credentials: ConfiguredPath | None = None
    """File in the form of AWS' own, with a section [default]; by default AWS_ACCESS_KEY_ID and so on are read."""
    authorities: ConfiguredPath | None = None
    """Certificates of the authorities of the service's certificate, in PEM; by default those that everyone trusts."""

    def bucket(self, url: str) -> Bucket:
        return Bucket(url, self.endpoint, self.region, self.credentials, self.authorities)


class BlobsConfiguration(Configuration):
    """Where encrypted uploads and results are."""

    blobs: Annotated[str | Path, AfterValidator(_blobs)]
    """Folder of encrypted uploads and results, or ``s3://bucket/prefix``."""
    objects: ObjectsConfiguration | None = None
    """Of the object store, where blobs are in one."""

    @model_validator(mode="after")
    def _objects_of_a_bucket(self) -> BlobsConfiguration:
        if self.objects is not None and isinstance(self.blobs, Path):
            raise ValueError("`objects` is for blobs at s3://bucket/prefix, and these are in a folder")
        return self

    @property
    def place(self) -> Path | Bucket:
        """Where blobs are, as the store takes it."""
        return (
            self.blobs if isinstance(self.blobs, Path) else (self.objects or ObjectsConfiguration()).bucket(self.blobs)
        )


class StoreConfiguration(BlobsConfiguration):
    """Where Carole stores her data."""

    database: Annotated[str, AfterValidator(_database), Field(repr=False)]
    """``sqlite:///path`` or ``postgresql+psycopg://user@host/name``."""


class MemberConfiguration(Configuration):
    """What one member may use of the server, so that no member's calls keep another's from being answered."""

    calls_per_second: Annotated[float, Field(gt=0, le=10_000, allow_inf_nan=False)] = MemberLimits.calls_per_second
    """Sustained rate of calls; one with a chunk of a file, at most 1 MiB, counts a quarter."""
    burst: Annotated[int, Field(ge=1, le=100_000)] = MemberLimits.burst
    """Calls that may come at once after a pause."""
    pending: Annotated[int, Field(ge=1, le=1000)] = MemberLimits.pending
    """Calls that have come and are not answered yet."""
    working: Annotated[int, Field(ge=1, le=MAX_WORKING)] = MemberLimits.working
    """Of these, calls that are worked on at a time."""
    waiting: Annotated[int, Field(ge=1, le=MAX_WAITING)] = MemberLimits.waiting
    """Long polls that are held at a time."""

    @property
    def limits(self) -> MemberLimits:
        return MemberLimits(**self.model_dump())


class LimitsConfiguration(Configuration):
    """How much Carole may use, and take from a custodian."""

    memory: Size = "3GiB"
    """For the data of all workers' runs; the interpreter and its libraries need more on top, for each worker."""
    threads: Annotated[int, Field(ge=0, le=1024)] = 0
    """Threads that compare; 0 means one per core."""
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    """Runs at a time, each of another project, with an equal share of `memory` and `threads`."""
    max_upload: Size = "2GiB"
    """Maximum size of one custodian's contribution."""
    max_rows: Annotated[int, Field(ge=1, lt=2**31)] = 5_000_000
    """Maximum number of rows of one custodian's file."""
    max_stored: Size = "32GiB"
    """Maximum size of all contributions that one custodian has here, in all projects."""
    new_uploads: Annotated[int, Field(ge=1, le=10_000)] = 20
    """How often a custodian may begin a contribution to one project in 24 hours; each has an entry in the audit log."""
    member: MemberConfiguration = MemberConfiguration()
    """What one member may use of the server."""

    @property
    def memory_bytes(self) -> int:
        return size_in_bytes(self.memory)

    @property
    def max_upload_bytes(self) -> int:
        return size_in_bytes(self.max_upload)

    @property
    def max_stored_bytes(self) -> int:
        return size_in_bytes(self.max_stored)

    @property
    def worker_bytes(self) -> int:
        """One worker's share of `memory`."""
        return self.memory_bytes // self.workers

    @property
    def worker_threads(self) -> int:
        """One worker's share of `threads`, or of the cores this process may use: one at the minimum."""
        return max(1, (self.threads or processors()) // self.workers)


class CaroleConfiguration(Configuration):
    """All of ``carole.yaml``."""

    version: Literal[1]
    listen: Listen
    """host:port; port 0 takes a free one, given in the ready line."""
    keys: ConfiguredPath
    """Folder of the linker's certificate and keys."""
    members: ConfiguredPath | None = None
    """The membership list; by default the one in `keys`."""
    members_digest: ListDigest | None = None
    """Pins the list, as `gemel party accept` shows its digest; none: it is taken as it is."""
    wrapping: WrappingConfiguration | None = None
    """Where the wrapping keys are, if not in the file ``wrapping.key`` in `keys`."""
    identity: IdentityConfiguration | None = None
    """Where the identity is, if not in the file ``identity.key`` in `keys`."""
    store: StoreConfiguration
    limits: LimitsConfiguration = LimitsConfiguration()
    engine: EngineConfiguration = LocalEngine()
    """Where the shards of runs in mode block_keyed are worked on."""
    notify: Annotated[tuple[WayConfiguration, ...], Field(max_length=16), AfterValidator(distinct)] = ()
    """Who is notified of what happens to runs, projects and certificates; no one by default."""
    log_level: LogLevel = "info"
    observability: Observability = Observability()


def write_ready(path: Path | None, ready: Mapping[str, object]) -> None:
    """Write what a process is ready with, JSON, whole or not at all, where a file is named for it."""
    if path is None:
        return
    try:
        with whole_file(path) as file:
            file.write(json.dumps(ready).encode())
    except OSError as error:
        raise file_error(ErrorCode.CONFIGURATION, "the ready file cannot be written", path, error) from None


def load_carole(path: Path) -> CaroleConfiguration:
    """Read ``carole.yaml``. Raises CONFIGURATION, with every error by line and key."""
    return load_configuration(path, CaroleConfiguration)


def template(
    listen: str,
    *,
    keys: str = ".",
    store: str = "store",
    observability: str = "",
    allow_remote: bool = False,
    members_digest: str = "",
) -> str:
    """A commented ``carole.yaml`` for a Carole that listens on `listen`.

    `keys`, `store`: folders, relative to the file or absolute, of her keys and of her data. `observability`: IP:port of
    her metrics and probes, which other machines can reach only if `allow_remote`. `members_digest`: in any grouping.
    """
    shown = section(observability, allow_remote=allow_remote)
    return TEMPLATE.format(
        listen=f'"{listen}"', keys=keys, store=store, observability=shown, pin=pin_line(members_digest)
    )
