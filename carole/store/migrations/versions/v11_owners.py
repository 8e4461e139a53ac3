"""Version 11: the coordinator that a project belongs to, and offers to another one."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, ForeignKey, Integer, LargeBinary, String, Text

revision = "11"
down_revision = "10"


def upgrade() -> None:
    """Add the column and the table; a project belongs to the coordinator that created it, as the log has it."""
    op.add_column("projects", Column("owner", String(64)))
    op.execute(
        "UPDATE projects SET owner = (SELECT audit.actor FROM audit WHERE audit.project = projects.name "
        "AND audit.action = 'create' ORDER BY audit.sequence DESC LIMIT 1)"
    )
    op.create_table(
        "hand_overs",
        Column("project", Integer, ForeignKey("projects.id"), primary_key=True),
        Column("former", String(64), nullable=False),
        Column("successor", String(64), nullable=False),
        Column("member", String(64), nullable=False),
        Column("reason", Text, nullable=False),
        Column("checkpoint", Text, nullable=False),
        Column("signature", LargeBinary(64), nullable=False),
        Column("at", BigInteger, nullable=False),
    )
    op.execute("UPDATE meta SET value = 11 WHERE key = 'schema'")
