"""Version 9: epochs after the first, and which parts of the custodians' canaries differ."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, ForeignKey, Integer, LargeBinary, String, Text

revision = "9"
down_revision = "8"


def upgrade() -> None:
    """Add the table and the column; what was reported before has no parts."""
    op.create_table(
        "epochs",
        Column("project", Integer, ForeignKey("projects.id"), primary_key=True),
        Column("epoch", Integer, primary_key=True),
        Column("member", String(64), nullable=False),
        Column("reason", Text, nullable=False),
        Column("signature", LargeBinary(64), nullable=False),
        Column("at", BigInteger, nullable=False),
    )
    op.add_column("key_reports", Column("canary_parts", Text))
    op.execute("UPDATE meta SET value = 9 WHERE key = 'schema'")
