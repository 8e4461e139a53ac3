"""Version 17: the outbox of notifications."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, String, Text

revision = "17"
down_revision = "16"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "notices",
        Column("id", String(32), primary_key=True),
        Column("way", String(64), primary_key=True),
        Column("message", Text, nullable=False),
        Column("attempts", Integer, nullable=False),
        Column("due_at", BigInteger, nullable=False),
        Column("kept_until", BigInteger, nullable=False),
        Column("ended", Integer, nullable=False),
    )
    op.execute("UPDATE meta SET value = 17 WHERE key = 'schema'")
