"""A later version of the store's schema: one step more than this release has, as a test gives it."""

from __future__ import annotations

import shutil
from pathlib import Path

from gemel.carole.store import backup, database, migrations, provision
from gemel.common.versions import STORE

LATER = STORE + 1
STEP = f'''
"""A step that adds a column, changes rows, and ends the program in its middle where the test wants it."""
import os, signal
from alembic import op
from sqlalchemy import Column, String

revision, down_revision = "{LATER}", "{STORE}"


def upgrade() -> None:
    op.add_column("projects", Column("note", String(16), nullable=False, server_default="none"))
    op.execute("UPDATE projects SET note = 'upgraded'")
    if os.environ.get("KILLED"):
        os.kill(os.getpid(), signal.SIGKILL)
'''  # noqa: S608 - Python, of numbers
START = f"""
from pathlib import Path
from gemel.common import versions
versions.STORE = {LATER}
from gemel.carole.store import migrations
migrations.migrate.__defaults__ = ({LATER}, Path(__file__).parent / "steps")
"""


def later_steps(folder):
    """The steps of this release, and one more."""
    steps = folder / "steps"
    shutil.copytree(migrations.STEPS, steps, ignore=shutil.ignore_patterns("__pycache__"))
    (steps / "versions" / "next.py").write_text(STEP)
    return steps


def become_later(folder, monkeypatch):
    """Make this process one of the later version."""
    for module in (backup, database, provision):
        monkeypatch.setattr(module, "STORE", LATER)
    monkeypatch.setattr(migrations.migrate, "__defaults__", (LATER, later_steps(folder)))


def later_programs(folder):
    """The environment of programs of the later version."""
    folder.mkdir()
    later_steps(folder)
    (folder / "sitecustomize.py").write_text(START)
    return {"PYTHONPATH": f"{folder}:{Path(__file__).resolve().parents[3]}"}
