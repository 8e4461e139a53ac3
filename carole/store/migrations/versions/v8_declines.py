"""Version 8: custodians that decline a specification."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, ForeignKey, Integer, LargeBinary, String, Text

revision = "8"
down_revision = "7"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "declines",
        Column("project", Integer, ForeignKey("projects.id"), primary_key=True),
        Column("side", String(8), primary_key=True),
        Column("member", String(64), nullable=False),
        Column("digest", LargeBinary(32), nullable=False),
        Column("reason", Text, nullable=False),
        Column("signature", LargeBinary(64), nullable=False),
        Column("at", BigInteger, nullable=False),
    )
    op.execute("UPDATE meta SET value = 8 WHERE key = 'schema'")
