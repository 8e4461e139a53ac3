"""Version 14: a row of `meta` by which a reader sees that nothing has been written since it last read."""

from __future__ import annotations

from alembic import op

revision = "14"
down_revision = "13"


def upgrade() -> None:
    """Add the row."""
    op.execute("INSERT INTO meta (key, value) VALUES ('state', 0)")
    op.execute("UPDATE meta SET value = 14 WHERE key = 'schema'")
