"""Version 18: columns of linked records that custodians send to recipients."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, Text

revision = "18"
down_revision = "17"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("projects", Column("transfers", Text))
    op.add_column("artifacts", Column("acknowledged_at", BigInteger))
    op.execute("UPDATE meta SET value = 18 WHERE key = 'schema'")
