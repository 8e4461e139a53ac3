"""Version 15: digests of chunks are encrypted, and what is erased keeps no digest of its plaintext."""

from __future__ import annotations

from alembic import op

revision = "15"
down_revision = "14"


def upgrade() -> None:
    """Rename the column, and drop the root digests of what is erased; those of what is not, the service encrypts."""
    op.execute("ALTER TABLE chunks RENAME COLUMN sha256 TO digest")
    op.execute(
        "UPDATE payloads SET root = NULL WHERE wrapped_key IS NULL"
        " AND id NOT IN (SELECT payload FROM artifacts)"
        " AND id NOT IN (SELECT payload FROM results WHERE recipient IN ('custodian-a', 'custodian-b'))"
    )
    op.execute("UPDATE meta SET value = 15 WHERE key = 'schema'")
