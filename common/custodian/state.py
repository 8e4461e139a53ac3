"""What a custodian's service remembers, through a crash at any moment.

The database is the truth. Files (the body of an upload, its pseudonym map) are written whole before the row that names
them, and a file that no row names is removed at the next start. What is secret is encrypted by the vault: the seed, the
state of its agreement, the noise key, the body and the map. To erase is to delete the wrapped key and then the file.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import delete, event, select
from sqlalchemy.orm import Session

from common.audit import Checkpoint
from common.custodian.encrypted_file import read_encrypted, read_encrypted_chunk, write_encrypted
from common.custodian.schema import (
    EXTENDED_VERSIONS,
    SCHEMA_VERSION,
    Base,
    Leakage,
    OwnSecret,
    Project,
    Result,
    Secret,
    Seen,
    Upload,
)
from common.errors import ErrorCode, TrystError
from common.keys.noise import NoiseKey
from common.keys.vault import Vault

DAY_SECONDS = 86_400.0

_NOISE = "noise"
JOINED = "joined"
"""Kind of the secret that holds identifiers from maps: the records that Carole was told the rows of."""


class State:
    """The state folder of one custodian's service.

    Parameters
    ----------
    folder
        Made if absent, for its owner only. One service at a time: a second one is refused.
    vault
        Encrypts what is secret; its wrapping keys lie in the key folder, apart from this one.

    Raises
    ------
    TrystError
        CONFIGURATION if the folder cannot be used, BUSY if another service uses it, DATABASE if the database is of
        another version or damaged.
    """

    def __init__(self, folder: Path, vault: Vault) -> None:
        self.folder = folder
        self._vault = vault
        self._uploads = folder / "uploads"
        try:
            for part in (folder, self._uploads):
                part.mkdir(mode=0o700, parents=True, exist_ok=True)
                part.chmod(0o700)
            self._lock = _locked(folder / "lock")
        except OSError as error:
            raise TrystError(
                ErrorCode.CONFIGURATION,
                f"the state folder cannot be used: {(error.strerror or 'input error').lower()}",
                where=str(folder),
                remedy="check its permissions and the path in the configuration",
            ) from None
        self._engine = _engine(folder / "custodian.sqlite")
        self._remove_strays()

    def close(self) -> None:
        """Close the database and let another service use the folder."""
        self._engine.dispose()
        os.close(self._lock)

    @contextmanager
    def _session(self) -> Iterator[Session]:
        with Session(self._engine, expire_on_commit=False) as session, session.begin():
            yield session

    # Projects

    def project(self, name: str) -> Project | None:
        """A copy of what is known of a project."""
        with self._session() as session:
            return session.get(Project, name)

    def projects(self) -> list[Project]:
        """Copies of all projects, by name."""
        with self._session() as session:
            return list(session.scalars(select(Project).order_by(Project.name)))

    def update(self, name: str, **values: Any) -> Project:
        """Set columns of a project, which is made if it is new; the changed copy."""
        with self._session() as session:
            project = session.get(Project, name)
            if project is None:
                project = Project(name=name)
                session.add(project)
            for column, value in values.items():
                setattr(project, column, value)
            session.flush()
            return project

    def add_timings(self, name: str, timings: Mapping[str, float | int]) -> None:
        """Add to a project's timings; a stage done again replaces what it took before."""
        with self._session() as session:
            project = session.get_one(Project, name)
            project.timings = json.dumps({**json.loads(project.timings), **timings}, sort_keys=True)

    # Carole's audit log

    def see(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint that was believed."""
        with self._session() as session:
            session.merge(Seen(size=checkpoint.size, checkpoint=checkpoint.to_text()))

    def seen(self, first: int = 0, most: int | None = None) -> list[Checkpoint]:
        """The checkpoints believed so far of size `first` and larger, oldest first; so many at most."""
        with self._session() as session:
            rows = session.scalars(select(Seen).where(Seen.size >= first).order_by(Seen.size).limit(most))
            return [Checkpoint.from_text(row.checkpoint, "the state database") for row in rows]

    def newest_seen(self) -> Checkpoint | None:
        """The newest of them."""
        with self._session() as session:
            row = session.scalars(select(Seen).order_by(Seen.size.desc()).limit(1)).first()
        return None if row is None else Checkpoint.from_text(row.checkpoint, "the state database")

    # Leakage

    def leakage(self, project: str) -> Leakage | None:
        """What was measured last."""
        with self._session() as session:
            return session.get(Leakage, project)

    def keep_leakage(self, leakage: Leakage) -> Leakage:
        """Keep a measurement in the place of the project's former one; as it is kept.

        An override of the same specification stays: the operator may have decided while it was measured anew.
        """
        with self._session() as session:
            former = session.get(Leakage, leakage.project)
            if former is not None and former.specification_digest == leakage.specification_digest:
                leakage.reason, leakage.overridden_at = former.reason, former.overridden_at
            return session.merge(leakage)

    def override_leakage(self, project: str, reason: str) -> Leakage | None:
        """Keep the operator's reason for contributing above the limit; None if nothing above it was measured."""
        with self._session() as session:
            known = session.get(Leakage, project)
            if known is None or not known.exceeds:
                return None
            known.reason, known.overridden_at = reason, time.time()
            return known

    # Secrets

    def keep_secret(self, project: str, epoch: int, kind: str, content: bytes) -> None:
        """Keep a secret, encrypted, in the place of one of the same project, epoch and kind."""
        protected = self._vault.protect(_subject(project, epoch, kind), content)
        with self._session() as session:
            session.merge(Secret(project=project, epoch=epoch, kind=kind, content=protected))

    def secret(self, project: str, epoch: int, kind: str) -> bytes | None:
        """A secret in the clear, if it is kept.

        Raises
        ------
        TrystError
            VAULT if it does not decrypt.
        """
        with self._session() as session:
            row = session.get(Secret, (project, epoch, kind))
        return None if row is None else self._vault.reveal(_subject(project, epoch, kind), row.content)

    def erase_secrets(self, project: str, *, before_epoch: int | None = None) -> None:
        """Erase a project's seeds and agreements, or those of former epochs only."""
        statement = delete(Secret).where(Secret.project == project)
        if before_epoch is not None:
            statement = statement.where(Secret.epoch < before_epoch)
        with self._session() as session:
            session.execute(statement)

    def noise_key(self) -> NoiseKey:
        """This custodian's noise key: made when it is first needed, and then the same for every project and upload.

        Raises
        ------
        TrystError
            VAULT if it does not decrypt.
        """
        with self._session() as session:
            row = session.get(OwnSecret, _NOISE)
            if row is None:
                key = NoiseKey.generate()
                session.add(OwnSecret(kind=_NOISE, content=self._vault.protect(_own_subject(_NOISE), key.reveal())))
                return key
        return NoiseKey(self._vault.reveal(_own_subject(_NOISE), row.content))

    # Uploads

    def add_upload(self, upload: Upload, body: Iterator[bytes | memoryview], row_map: bytes, map_days: int) -> Upload:
        """Write an upload's body and map, encrypted, and then its row; former unfinished ones are erased.

        Parameters
        ----------
        upload
            With everything but digests, keys and times.
        body
            The bytes to upload, in pieces.
        row_map
            The pseudonym map, serialised.
        map_days
            Days after which the map is erased.
        """
        body_key, wrapped_body = self._vault.create(_body_subject(upload.id))
        map_key, wrapped_map = self._vault.create(_map_subject(upload.id))
        digests = write_encrypted(self._body(upload.id), body_key, body)
        write_encrypted(self._map(upload.id), map_key, [row_map])
        now = time.time()
        upload.digests = b"".join(digests)
        upload.body_key, upload.map_key = wrapped_body, wrapped_map
        upload.created_at, upload.map_until = now, now + map_days * DAY_SECONDS
        upload.committed_at = None
        with self._session() as session:
            unfinished = select(Upload).where(Upload.project == upload.project, Upload.committed_at.is_(None))
            for former in session.scalars(unfinished):
                former.body_key = former.map_key = None
            session.flush()
            session.add(upload)
        self._remove_strays()
        return upload

    def upload(self, project: str, epoch: int) -> Upload | None:
        """The newest upload of a project's epoch whose map is still there."""
        with self._session() as session:
            query = select(Upload).where(Upload.project == project, Upload.epoch == epoch, Upload.map_key.is_not(None))
            return session.scalars(query.order_by(Upload.created_at.desc())).first()

    def newest_upload(self, project: str) -> Upload | None:
        """The newest upload of a project, which is the one Carole has once the project is contributed to."""
        with self._session() as session:
            query = select(Upload).where(Upload.project == project)
            return session.scalars(query.order_by(Upload.created_at.desc())).first()

    def body_chunk(self, upload: Upload, index: int) -> bytes:
        """A chunk of an upload's body; the same bytes whenever it is asked for."""
        key = self._vault.unwrap(_body_subject(upload.id), _kept(upload.body_key, upload, "body"))
        return read_encrypted_chunk(self._body(upload.id), key, index)

    def row_map(self, upload: Upload) -> bytes:
        """The pseudonym map of an upload, serialised.

        Raises
        ------
        TrystError
            NOT_FOUND if its retention has ended, VAULT if it does not decrypt.
        """
        key = self._vault.unwrap(_map_subject(upload.id), _kept(upload.map_key, upload, "pseudonym map"))
        return read_encrypted(self._map(upload.id), key)

    def mark_committed(self, upload: str) -> None:
        """Note that Carole has the whole upload; its body is not needed any more and is erased."""
        with self._session() as session:
            row = session.get_one(Upload, upload)
            row.committed_at = row.committed_at or time.time()
            row.body_key = None
        self._remove_strays()

    def erase_bodies(self, project: str) -> None:
        """Erase what of a project is waiting to be uploaded."""
        with self._session() as session:
            for row in session.scalars(select(Upload).where(Upload.project == project)):
                row.body_key = None
        self._remove_strays()

    def erase_expired_maps(self, now: float) -> list[str]:
        """Erase the maps whose retention has ended at `now` (Unix time), and what came of them; their projects."""
        with self._session() as session:
            expired = list(session.scalars(select(Upload).where(Upload.map_until <= now, Upload.map_key.is_not(None))))
            for row in expired:
                row.map_key = row.body_key = None
            session.flush()
            mapped = select(Upload.project).where(Upload.map_key.is_not(None))
            session.execute(delete(Secret).where(Secret.kind == JOINED, Secret.project.not_in(mapped)))
        if expired:
            self._remove_strays()
        return sorted({row.project for row in expired})

    # Results

    def result(self, project: str, run: str) -> Result | None:
        """A fetched share, if it was fetched."""
        with self._session() as session:
            return session.get(Result, (project, run))

    def add_result(self, result: Result) -> None:
        """Note that a share lies complete in its folder."""
        with self._session() as session:
            session.merge(result)

    def mark_acknowledged(self, project: str, run: str) -> None:
        """Note that Carole knows that the share has arrived."""
        with self._session() as session:
            session.get_one(Result, (project, run)).acknowledged = True

    # Files

    def _body(self, upload: str) -> Path:
        return self._uploads / f"{upload}.body"

    def _map(self, upload: str) -> Path:
        return self._uploads / f"{upload}.map"

    def _remove_strays(self) -> None:
        """Remove files that no key opens: leftovers of a crash, and what was erased."""
        with self._session() as session:
            uploads = list(session.scalars(select(Upload)))
        named = {self._body(row.id).name for row in uploads if row.body_key is not None}
        named |= {self._map(row.id).name for row in uploads if row.map_key is not None}
        for path in self._uploads.iterdir():
            if path.name not in named:
                path.unlink(missing_ok=True)


def _kept(key: bytes | None, upload: Upload, what: str) -> bytes:
    if key is None:
        raise TrystError(
            ErrorCode.NOT_FOUND,
            f"the {what} of this upload has been erased",
            where=f"project {upload.project}, upload {upload.id}",
            remedy="the retention days of the specification decide how long it is kept",
        )
    return key


def _subject(project: str, epoch: int, kind: str) -> str:
    return f"custodian {kind} of project {project}, epoch {epoch}"


def _own_subject(kind: str) -> str:
    return f"custodian {kind} of its own"


def _body_subject(upload: str) -> str:
    return f"custodian body of upload {upload}"


def _map_subject(upload: str) -> str:
    return f"custodian map of upload {upload}"


def _locked(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise TrystError(
            ErrorCode.BUSY,
            "another service is using this state folder",
            where=str(path.parent),
            remedy="stop it, or give this one a state folder of its own",
        ) from None
    return descriptor


def _engine(path: Path) -> sqlalchemy.Engine:
    engine = sqlalchemy.create_engine(
        f"sqlite:///{path}", hide_parameters=True, connect_args={"timeout": 30.0, "check_same_thread": False}
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        # Transactions are begun here and not by the driver, which would begin them too late.
        connection.isolation_level = None
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "secure_delete = ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: sqlalchemy.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    try:
        path.touch(mode=0o600)
        with engine.begin() as connection:
            version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
            if version in (0, *EXTENDED_VERSIONS):
                Base.metadata.create_all(connection)
                connection.exec_driver_sql(f"PRAGMA user_version = {SCHEMA_VERSION}")
            elif version != SCHEMA_VERSION:
                raise TrystError(
                    ErrorCode.DATABASE,
                    f"the state was written by another version of Tryst (schema {SCHEMA_VERSION} is understood)",
                    where=str(path),
                    got=f"schema {version}",
                    remedy="run the version that wrote it, or finish its projects there first",
                )
    except sqlalchemy.exc.DatabaseError as error:
        engine.dispose()
        raise TrystError(
            ErrorCode.DATABASE,
            "the state database cannot be read",
            where=str(path),
            got=type(error.orig or error).__name__,
            remedy="restore the state folder from its backup",
        ) from None
    return engine
