"""Version 1: the tables of the first release."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "1"
down_revision = None


def upgrade() -> None:
    for statement in Path(__file__).with_suffix(".sql").read_text(encoding="ascii").split("\n\n"):
        op.execute(statement)
