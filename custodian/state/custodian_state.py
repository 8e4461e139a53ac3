"""The state of a custodian's service, which survives a crash at any moment.

The database is authoritative; payloads and maps of uploads are files beside it (`uploads`). Secrets are encrypted by
the vault: the seed, the state of its agreement, the noise key. To erase is to delete the row.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import delete, select

from gemel.common.audit import Checkpoint
from gemel.common.durable import lock_folder
from gemel.common.errors import ErrorCode, GemelError, file_error
from gemel.common.keys.noise import NoiseKey
from gemel.common.keys.vault import Vault
from gemel.custodian.state.pending_uploads import Uploads
from gemel.custodian.state.state_database import (
    FROM_MAPS,
    REQUEST_COUNT,
    Database,
    Leakage,
    Lost,
    OwnSecret,
    Project,
    Result,
    Secret,
    Seen,
)
from gemel.custodian.state.working_tables import WorkingFolder

_NOISE = "noise"


class State:
    """The state folder of one custodian's service: pending uploads, the maps, and tables of a step that goes on.

    Made if absent, for its owner only, and for one service at a time; the wrapping keys of its vault are kept apart
    from it. Raises `GemelError`: CONFIGURATION if the folder cannot be used, BUSY if another service uses it, DATABASE
    if the database is of another version or damaged.
    """

    def __init__(self, folder: Path, vault: Vault) -> None:
        self.folder = folder
        self._vault = vault
        uploads, working = folder / "uploads", folder / "working"
        try:
            for part in (folder, uploads, working):
                part.mkdir(mode=0o700, parents=True, exist_ok=True)
                part.chmod(0o700)
            self._lock = os.fdopen(lock_folder(folder))
        except OSError as error:
            what, remedy = "the state folder cannot be used", "check its permissions and the path in the configuration"
            raise file_error(ErrorCode.CONFIGURATION, what, folder, error, remedy, inline=True) from None
        try:
            self._database = Database(folder / "custodian.sqlite")
        except GemelError:
            self._lock.close()
            raise
        self.uploads = Uploads(self._database, uploads, vault)
        self.working = WorkingFolder(working)

    def close(self) -> None:
        """Close the database and let another service use the folder."""
        self._database.close()
        self._lock.close()

    # Projects

    def project(self, name: str) -> Project | None:
        """A copy of a project's row."""
        with self._database.session() as session:
            return session.get(Project, name)

    def projects(self, after: str = "") -> list[Project]:
        """Copies of all projects, by name; only of those after a name, if one is given."""
        with self._database.session() as session:
            return list(session.scalars(select(Project).where(Project.name > after).order_by(Project.name)))

    def update(self, name: str, **values: Any) -> Project:
        """Set columns of a project, which is made if it is new; the changed copy."""
        with self._database.session() as session:
            project = session.merge(Project(name=name, **values))
            session.flush()
            return project

    def add_timings(self, name: str, timings: Mapping[str, float | int]) -> None:
        """Add to a project's timings; a stage done again replaces what it took before."""
        with self._database.session() as session:
            project = session.get_one(Project, name)
            project.timings = json.dumps({**json.loads(project.timings), **timings}, sort_keys=True)

    # Carole's audit log

    def see(self, checkpoint: Checkpoint) -> None:
        """Store a checkpoint that was verified."""
        with self._database.session() as session:
            session.merge(Seen(size=checkpoint.size, checkpoint=checkpoint.to_text()))

    def seen(self, first: int = 0, maximum: int | None = None) -> list[Checkpoint]:
        """The verified checkpoints of size `first` and larger, oldest first; at most `maximum`."""
        with self._database.session() as session:
            rows = session.scalars(select(Seen).where(Seen.size >= first).order_by(Seen.size).limit(maximum))
            return [Checkpoint.from_text(row.checkpoint, "the state database") for row in rows]

    def newest_seen(self) -> Checkpoint | None:
        with self._database.session() as session:
            row = session.scalars(select(Seen).order_by(Seen.size.desc()).limit(1)).first()
        return None if row is None else Checkpoint.from_text(row.checkpoint, "the state database")

    def set_aside(self, restoration: int, size: int) -> None:
        """Take the checkpoints above a size for those of a log that a restoration of Carole's store has cut."""
        with self._database.session() as session:
            for row in session.scalars(select(Seen).where(Seen.size > size)).all():
                session.merge(Lost(restoration=restoration, size=row.size, checkpoint=row.checkpoint))
                session.delete(row)

    def lost(self, restoration: int) -> Checkpoint | None:
        """The newest checkpoint that was set aside for a restoration."""
        return next(reversed(self.all_lost(restoration)), None)

    def all_lost(self, restoration: int | None = None) -> list[Checkpoint]:
        """The checkpoints that were set aside, for one restoration or for all, oldest first."""
        query = select(Lost).order_by(Lost.restoration, Lost.size)
        if restoration is not None:
            query = query.where(Lost.restoration == restoration)
        with self._database.session() as session:
            return [Checkpoint.from_text(row.checkpoint, "the state database") for row in session.scalars(query)]

    # Leakage

    def leakage(self, project: str, specification_digest: bytes) -> Leakage | None:
        """What was measured under this specification, if anything."""
        with self._database.session() as session:
            known = session.get(Leakage, project)
        return known if known is not None and known.specification_digest == specification_digest else None

    def keep_leakage(self, leakage: Leakage) -> Leakage:
        """Store a measurement in place of the project's former one; returns the stored row.

        An override of the same specification stays: the operator may have decided while it was measured again.
        """
        with self._database.session() as session:
            former = session.get(Leakage, leakage.project)
            if former is not None and former.specification_digest == leakage.specification_digest:
                leakage.reason, leakage.overridden_at = former.reason, former.overridden_at
            return session.merge(leakage)

    def override_leakage(self, project: str, reason: str) -> Leakage | None:
        """Store the operator's reason for contributing above the limit; None if nothing above it was measured."""
        with self._database.session() as session:
            known = session.get(Leakage, project)
            if known is None or not known.exceeds:
                return None
            known.reason, known.overridden_at = reason, time.time()
            return known

    def forget_leakage(self, project: str) -> None:
        """Forget the last measurement, and with it an override: in another epoch more is sent altogether."""
        with self._database.session() as session:
            session.execute(delete(Leakage).where(Leakage.project == project))

    # Secrets

    def keep_secret(self, project: str, epoch: int, kind: str, content: bytes) -> None:
        """Store a secret, encrypted, in place of one of the same project, epoch and kind."""
        protected = self._vault.protect(_subject(project, epoch, kind), content)
        with self._database.session() as session:
            session.merge(Secret(project=project, epoch=epoch, kind=kind, content=protected))

    def secret(self, project: str, epoch: int, kind: str) -> bytes | None:
        """A secret in the clear, if it is kept; VAULT if it does not decrypt."""
        with self._database.session() as session:
            row = session.get(Secret, (project, epoch, kind))
        return None if row is None else self._vault.reveal(_subject(project, epoch, kind), row.content)

    def erase_secrets(self, project: str, *, before_epoch: int | None = None) -> None:
        """Erase a project's secrets, or the seeds and agreements of former epochs only.

        What was counted of Carole's requests stays, even of an erased project: an erasure that she reports must not
        begin the count again while the maps are there. It goes with these.
        """
        statement = delete(Secret).where(Secret.project == project, Secret.kind.not_in((*FROM_MAPS, REQUEST_COUNT)))
        if before_epoch is not None:
            statement = statement.where(Secret.epoch < before_epoch)
        with self._database.session() as session:
            session.execute(statement)

    def noise_key(self) -> NoiseKey:
        """This custodian's noise key, made when it is first needed, for every project and upload; VAULT if it does not
        decrypt.
        """
        with self._database.session() as session:
            row = session.get(OwnSecret, _NOISE)
            if row is None:
                key = NoiseKey.generate()
                session.add(OwnSecret(kind=_NOISE, content=self._vault.protect(_own_subject(_NOISE), key.reveal())))
                return key
        return NoiseKey(self._vault.reveal(_own_subject(_NOISE), row.content))

    # Results

    def result(self, project: str, run: str) -> Result | None:
        with self._database.session() as session:
            return session.get(Result, (project, run))

    def add_result(self, result: Result) -> None:
        """Note that a share lies complete in its folder."""
        with self._database.session() as session:
            session.merge(result)

    def results(self, project: str) -> list[Result]:
        with self._database.session() as session:
            return list(session.scalars(select(Result).where(Result.project == project).order_by(Result.fetched_at)))

    def mark_acknowledged(self, project: str, run: str) -> None:
        """Note that Carole knows that the share has arrived."""
        with self._database.session() as session:
            session.get_one(Result, (project, run)).acknowledged = True


def _subject(project: str, epoch: int, kind: str) -> str:
    return f"custodian {kind} of project {project}, epoch {epoch}"


def _own_subject(kind: str) -> str:
    return f"custodian {kind} of its own"
