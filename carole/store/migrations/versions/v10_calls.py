"""Version 10: the call by which a run was requested, as Carole's log has it."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, String

revision = "10"
down_revision = "9"


def upgrade() -> None:
    """Add the column; of runs that were requested before, it is not known."""
    op.add_column("runs", Column("call", String(16)))
    op.execute("UPDATE meta SET value = 10 WHERE key = 'schema'")
