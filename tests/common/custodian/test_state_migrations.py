"""A custodian's state from the first schema to the newest: the same content, whole after a kill, with open projects."""

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

from tryst.common.custodian.state.custodian_state import State
from tryst.common.custodian.state.migrations import FIRST, STEPS
from tryst.common.custodian.state.row_map import unpack_decoys, unpack_map
from tryst.common.custodian.state.state_tables import Base
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys import Vault, WrappingKeys
from tryst.common.versions import CUSTODIAN_STATE

GOLDEN = Path(__file__).resolve().parents[2] / "vectors" / "state-5"
NOISE = "bd67ac96d2ecb136a43f83bdd29f5434ab93ef40add8fbf151449c5cf123d11f"
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
from tryst.common.custodian.state import migrations, state_database
steps, version = Path(sys.argv[2]), int(sys.argv[3])
state_database.CUSTODIAN_STATE = version
state_database.migrate = lambda connection: migrations.migrate(connection, version, steps)
state_database.Database(Path(sys.argv[1])).close()
"""


@pytest.fixture
def former(tmp_path: Path) -> Path:
    """The state folder of a custodian of the first version, in the middle of a project."""
    folder = tmp_path / "state"
    shutil.copytree(GOLDEN / "uploads", folder / "uploads")
    database = sqlite3.connect(folder / "custodian.sqlite")
    database.executescript((GOLDEN / "custodian.sql").read_text())
    database.execute(f"PRAGMA user_version = {FIRST}")
    database.close()
    return folder


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    path = Path(shutil.copy(GOLDEN / "wrapping.key", tmp_path))
    path.chmod(0o600)
    return Vault(WrappingKeys.load(path))


def content(folder: Path) -> tuple[int, list[str]]:
    """Version and whole content of a state's database."""
    database = sqlite3.connect(folder / "custodian.sqlite")
    (version,) = database.execute("PRAGMA user_version").fetchone()
    lines = list(database.iterdump())
    database.close()
    return version, lines


@pytest.mark.parametrize("made", ["new", "upgraded"])
def test_the_schema_is_that_of_the_tables(made: str, former: Path, vault: Vault, tmp_path: Path) -> None:
    folder = former if made == "upgraded" else tmp_path / "new"
    State(folder, vault).close()
    engine = create_engine(f"sqlite:///{folder / 'custodian.sqlite'}")
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
    engine.dispose()
    assert content(folder)[0] == CUSTODIAN_STATE


def test_a_state_of_the_first_version_is_upgraded_with_all_that_is_in_it(former: Path, vault: Vault) -> None:
    state = State(former, vault)
    project, waiting = state.projects()
    assert (project.name, project.decision, project.stage, project.epoch) == ("people", "approved", "uploading", 1)
    assert (waiting.name, waiting.blocking_error) == ("waiting", "the file is missing")
    assert state.secret("people", 1, "seed") == b"a seed of 32 bytes for the tests"
    assert state.noise_key().reveal().hex() == NOISE
    upload = state.uploads.of_epoch("people", 1)
    assert upload is not None
    assert (upload.id, upload.rows, upload.committed_at) == ("a" * 32, 4, None)
    assert state.uploads.payload_chunk(upload, 0) == b"the payload of an upload"
    row_map = state.uploads.row_map(upload)
    assert unpack_map(row_map).to_list() == ["r3", "r1", "r2", None]
    assert unpack_decoys(row_map).to_list() == [None, None, None, 0]
    leakage, result, seen = state.leakage("people"), state.result("people", "b" * 32), state.newest_seen()
    assert leakage is not None
    assert leakage.reason == "agreed with the data protection officer"
    assert result is not None
    assert (result.links, result.acknowledged) == (2, False)
    assert seen is not None
    assert (seen.size, seen.at) == (5, 1_800_000_000_000)
    state.uploads.mark_committed(upload.id)
    state.close()


def test_an_upgrade_that_is_killed_has_changed_nothing_and_is_done_at_the_next_start(
    former: Path, vault: Vault, tmp_path: Path
) -> None:
    State(former, vault).close()
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
    with pytest.raises(TrystError, match="by a newer version of Tryst") as caught:
        State(former, vault)
    assert caught.value.code is ErrorCode.DATABASE
    assert content(former) == (version, lines)
