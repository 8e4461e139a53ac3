"""Version 16: several chunks in a file, payloads with numbers, and which of them a sweep need not look at."""

from __future__ import annotations

from alembic import op

revision = "16"
down_revision = "15"


def upgrade() -> None:
    """Add the columns, and the number from which payloads are counted."""
    op.execute("ALTER TABLE chunks ADD COLUMN start BIGINT NOT NULL DEFAULT 0")
    op.execute("ALTER TABLE payloads ADD COLUMN swept INTEGER NOT NULL DEFAULT 0")
    op.execute("INSERT INTO meta (key, value) VALUES ('payloads', 0)")
    op.execute("UPDATE meta SET value = 16 WHERE key = 'schema'")
