"""Version 6: which Carole holds the store, and which worker is writing a payload."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, String

revision = "6"
down_revision = "5"


def upgrade() -> None:
    """Add both. Releases of version 5 read the version in `meta`, which is raised so that they refuse the database."""
    op.create_table(
        "tenure",
        Column("holder", String(32), primary_key=True),
        Column("place", String(32), nullable=False),
        Column("until", BigInteger, nullable=False),
    )
    op.execute("INSERT INTO tenure VALUES ('', '', 0)")
    op.add_column("payloads", Column("writer", String(64)))
    op.execute("UPDATE meta SET value = 6 WHERE key = 'schema'")
