"""Version 13: what was released, between whom and when, and for how long its counts are kept."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, ForeignKey, Integer, LargeBinary, String

revision = "13"
down_revision = "12"


def upgrade() -> None:
    """Add the column and the table; of the releases of before, that they were made is known and no count."""
    op.add_column("projects", Column("releases_days", Integer))
    op.create_table(
        "releases",
        Column("run", String(32), ForeignKey("runs.run"), primary_key=True),
        Column("project", Integer, ForeignKey("projects.id"), nullable=False),
        Column("alice", String(64)),
        Column("bob", String(64)),
        Column("specification_digest", LargeBinary(32)),
        Column("at", BigInteger, nullable=False),
        Column("days", Integer, nullable=False),
    )
    op.execute(
        "INSERT INTO releases (run, project, alice, bob, at, days) SELECT run, project, "
        "(SELECT member FROM approvals WHERE approvals.project = runs.project AND role = 'custodian-a'), "
        "(SELECT member FROM approvals WHERE approvals.project = runs.project AND role = 'custodian-b'), "
        "COALESCE(ended_at, created_at), 1826 FROM runs WHERE released = 1"
    )
    op.execute("UPDATE meta SET value = 13 WHERE key = 'schema'")
