"""The tables of a custodian's own database."""

from __future__ import annotations

from sqlalchemy import ForeignKey
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

JOINED = "joined"
"""Kind of the secret that holds identifiers from maps: the records whose rows Carole has received."""

REQUESTED = "requested rows"
"""Kind of the secret that holds identifiers from maps: the rows, by rule, whose handles have been requested."""

REQUEST_COUNT = "request count"
"""Kind of the secret that holds how many these are and were, in numbers only."""

FROM_MAPS = (JOINED, REQUESTED)
"""Kinds of secrets that go with the last map that they come from, and not before: they count in every epoch."""

ALONE = "alone"
"""Kind of the secret that holds a run, and the operator's reason to fetch its share without the other's signature."""


class Base(DeclarativeBase):
    """Base of the tables."""


class Project(Base):
    """A project known to this custodian, and its progress in it."""

    __tablename__ = "project"

    name: Mapped[str] = mapped_column(primary_key=True)
    specification: Mapped[str] = mapped_column(default="")
    """The text as Carole sent it; used only if its digest was approved."""
    specification_digest: Mapped[bytes] = mapped_column(default=b"")
    mode: Mapped[str] = mapped_column(default="")
    carole_state: Mapped[int] = mapped_column(default=0)
    """As Carole last reported it."""
    epoch: Mapped[int] = mapped_column(default=0)
    decision: Mapped[str] = mapped_column(default="")
    """Empty, ``approved`` or ``declined``."""
    decided_digest: Mapped[bytes] = mapped_column(default=b"")
    """Digest of the specification that the decision is about: another one needs another decision."""
    decided_by: Mapped[str] = mapped_column(default="")
    """``operator`` or ``policy``."""
    decided_at: Mapped[float] = mapped_column(default=0.0)
    reason: Mapped[str] = mapped_column(default="")
    """Why it was declined."""
    stage: Mapped[str] = mapped_column(default="")
    blocking_error: Mapped[str] = mapped_column(default="")
    rows: Mapped[int] = mapped_column(default=0)
    links: Mapped[int] = mapped_column(default=0)
    results: Mapped[str] = mapped_column(default="")
    profile: Mapped[str] = mapped_column(default="")
    """Counts only, JSON."""
    timings: Mapped[str] = mapped_column(default="{}")
    """Seconds and sizes per stage, JSON."""


class Leakage(Base):
    """What Carole could learn of this custodian's records, measured before they were contributed."""

    __tablename__ = "leakage"

    project: Mapped[str] = mapped_column(ForeignKey("project.name"), primary_key=True)
    specification_digest: Mapped[bytes]
    """Digest of the specification it was measured under: another one is measured again."""
    worst: Mapped[float]
    field: Mapped[str]
    """The field with the largest share."""
    limit: Mapped[float]
    exceeds: Mapped[bool]
    report: Mapped[str]
    """Shares only, JSON."""
    reason: Mapped[str] = mapped_column(default="")
    """Why the operator contributes above the limit; empty unless overridden."""
    overridden_at: Mapped[float | None] = mapped_column(default=None)


class Secret(Base):
    """Something encrypted by the vault: the state of a seed agreement, or the seed."""

    __tablename__ = "secret"

    project: Mapped[str] = mapped_column(ForeignKey("project.name"), primary_key=True)
    epoch: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    content: Mapped[bytes]


class OwnSecret(Base):
    """A secret of the custodian's own, of no project, encrypted by the vault."""

    __tablename__ = "own_secret"

    kind: Mapped[str] = mapped_column(primary_key=True)
    content: Mapped[bytes]


class Upload(Base):
    """A contribution: its payload until it is committed, its pseudonym map until the retention ends."""

    __tablename__ = "upload"

    id: Mapped[str] = mapped_column(primary_key=True)
    project: Mapped[str] = mapped_column(ForeignKey("project.name"), index=True)
    epoch: Mapped[int]
    manifest: Mapped[bytes]
    """The serialised message, so that a resumed upload announces the same one."""
    rows: Mapped[int]
    total_bytes: Mapped[int]
    digests: Mapped[bytes]
    """SHA-256 of every chunk, joined."""
    created_at: Mapped[float]
    committed_at: Mapped[float | None]
    payload_key: Mapped[bytes | None]
    """Wrapped; none once the payload is erased."""
    map_key: Mapped[bytes | None]
    """Wrapped; none once the map is erased."""
    map_until: Mapped[float]
    """Unix time at which the map is erased."""


class Result(Base):
    """A fetched share of a result."""

    __tablename__ = "result"

    project: Mapped[str] = mapped_column(ForeignKey("project.name"), primary_key=True)
    run: Mapped[str] = mapped_column(primary_key=True)
    root: Mapped[bytes]
    folder: Mapped[str]
    links: Mapped[int]
    fetched_at: Mapped[float]
    acknowledged: Mapped[bool] = mapped_column(default=False)


class Seen(Base):
    """A checkpoint of Carole's audit log that this custodian has verified. None is ever deleted; see `Lost`."""

    __tablename__ = "seen"

    size: Mapped[int] = mapped_column(primary_key=True)
    checkpoint: Mapped[str]
    """A signed note."""


class Lost(Base):
    """A verified checkpoint of a log that a restoration of Carole's store has cut: evidence, and no more `Seen`."""

    __tablename__ = "lost"

    restoration: Mapped[int] = mapped_column(primary_key=True)
    """Sequence number of the restoration's entry."""
    size: Mapped[int] = mapped_column(primary_key=True)
    checkpoint: Mapped[str]
    """A signed note."""
