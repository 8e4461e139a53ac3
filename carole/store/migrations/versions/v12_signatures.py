"""Version 12: how many stewards must sign the release of a held result, and who has."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, ForeignKey, Integer, LargeBinary, String

revision = "12"
down_revision = "11"


def upgrade() -> None:
    """Add the column and the table; one steward decides in every project of before."""
    op.add_column("projects", Column("signatures", Integer))
    op.create_table(
        "release_signatures",
        Column("project", Integer, ForeignKey("projects.id"), primary_key=True),
        Column("run", String(32), ForeignKey("runs.run"), primary_key=True),
        Column("member", String(64), primary_key=True),
        Column("identity", String(64), nullable=False),
        Column("report", LargeBinary(32), nullable=False),
        Column("signature", LargeBinary(64), nullable=False),
        Column("at", BigInteger, nullable=False),
    )
    op.execute("UPDATE meta SET value = 12 WHERE key = 'schema'")
