"""Version 7: what runs have spent and compared, for those who run Carole."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Double, ForeignKey, String

revision = "7"
down_revision = "6"


def upgrade() -> None:
    """Add the table; runs that ended before have no figures."""
    op.create_table(
        "run_figures",
        Column("run", String(32), ForeignKey("runs.run"), primary_key=True),
        Column("name", String(48), primary_key=True),
        Column("value", Double, nullable=False),
    )
    op.execute("UPDATE meta SET value = 7 WHERE key = 'schema'")
