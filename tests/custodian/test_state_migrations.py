"""A custodian's state under the schema of a later release: whole after a kill, and left alone by this release."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.vault import Vault, WrappingKeys
from gemel.common.versions import CUSTODIAN_STATE
from gemel.custodian.state.custodian_state import State
from gemel.custodian.state.migrations import STEPS
from gemel.custodian.state.state_tables import Base

NEXT = '''
"""A step that keeps a table's rows, and ends the program in its middle where the test wants it."""
import os, signal
from alembic import op
from sqlalchemy import Column, String

revision, down_revision = "{version}", "{before}"


def upgrade() -> None:
    op.add_column("project", Column("owner", String, nullable=False, server_default="nobody"))
    op.execute("UPDATE project SET stage = 'upgraded'")
    if os.environ.get("KILLED"):
        os.kill(os.getpid(), signal.SIGKILL)
'''
OPEN = """
import sys
from pathlib import Path
from gemel.custodian.state import migrations, state_database
steps, version = Path(sys.argv[2]), int(sys.argv[3])
state_database.CUSTODIAN_STATE = version
state_database.migrate = lambda connection: migrations.migrate(connection, version, steps)
state_database.Database(Path(sys.argv[1])).close()
"""


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    path = tmp_path / "wrapping.key"
    WrappingKeys.create().save(path)
    return Vault(WrappingKeys.load(path))


@pytest.fixture
def former(tmp_path: Path, vault: Vault) -> Path:
    """The state folder of a custodian of this version, who knows two projects."""
    folder = tmp_path / "state"
    state = State(folder, vault)
    for name in ("people", "waiting"):
        state.update(name, stage="uploading")
    state.close()
    return folder


def content(folder: Path) -> tuple[int, list[str]]:
    """Version and whole content of a state's database."""
    database = sqlite3.connect(folder / "custodian.sqlite")
    (version,) = database.execute("PRAGMA user_version").fetchone()
    lines = list(database.iterdump())
    database.close()
    return version, lines


def test_the_schema_is_that_of_the_tables(former: Path) -> None:
    engine = create_engine(f"sqlite:///{former / 'custodian.sqlite'}")
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
    engine.dispose()
    assert content(former)[0] == CUSTODIAN_STATE


def test_an_upgrade_that_is_killed_has_changed_nothing_and_is_done_at_the_next_start(
    former: Path, vault: Vault, tmp_path: Path
) -> None:
    before, target = content(former), CUSTODIAN_STATE + 1
    steps = tmp_path / "steps"
    shutil.copytree(STEPS, steps, ignore=shutil.ignore_patterns("__pycache__"))
    (steps / "versions" / "next.py").write_text(NEXT.format(version=target, before=CUSTODIAN_STATE))
    command = [sys.executable, "-c", OPEN, str(former / "custodian.sqlite"), str(steps), str(target)]
    assert subprocess.run(command, env={"KILLED": "1"}, timeout=120, check=False).returncode == -9
    assert content(former) == before
    subprocess.run(command, env={}, timeout=120, check=True)
    version, lines = content(former)
    assert version == target
    assert sum("upgraded" in line and "nobody" in line for line in lines) == 2
    # This release refuses it from now on, and leaves it as it is.
    with pytest.raises(GemelError, match="by a newer version of Gemel") as caught:
        State(former, vault)
    assert caught.value.code is ErrorCode.DATABASE
    assert content(former) == (version, lines)
