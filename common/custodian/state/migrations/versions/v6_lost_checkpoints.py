"""Version 6: checkpoints of a log that a restoration of Carole's store has cut."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Integer, String

revision = "6"
down_revision = "5"


def upgrade() -> None:
    """Add the table; nothing is moved, for nothing has been accepted yet."""
    op.create_table(
        "lost",
        Column("restoration", Integer, primary_key=True, autoincrement=False),
        Column("size", Integer, primary_key=True, autoincrement=False),
        Column("checkpoint", String, nullable=False),
    )
