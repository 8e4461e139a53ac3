"""Bad input, one test for each way: what, where and the remedy are reported, nothing is lost or half visible, and once
the cause is corrected the project continues.

============================================== =====================================================
wrong seed                                     `test_wrong_seed`
different cleaning on one side                 `test_different_cleaning`, `test_other_unicode_tables`
a field missing from a file                    `test_source_at_fault`
duplicate identifiers                          `test_source_at_fault`
an empty file                                  `test_source_at_fault`
a file in another encoding                     `test_source_at_fault`
a truncated Parquet                            `test_truncated_parquet`
a wrong-role certificate, an expired one       `test_certificates.py`
Bob's certificate for Alice                    `test_certificates.py`
a chunk sent twice with different content      `tests/carole/service/test_custody.py`
a commit with a gap                            `tests/carole/service/test_custody.py`
Carole killed between chunks                   `test_interruption.py`
a custodian, the worker killed                 `test_interruption.py`
a second run while one runs                    `test_interruption.py`
a coordinator requesting signatures            `tests/carole/service/test_access.py`
approval of another specification              `test_approving_another_specification`
============================================== =====================================================
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import sqlalchemy

from gemel.common.errors import ErrorCode
from gemel.common.parties import Side
from gemel.custodian.agreement.seed_file import new_seed_file
from gemel.custodian.operator.control import Control
from gemel.protos.linkage.v1 import project_pb2
from tests.carole.refusals import refused
from tests.e2e.deployment import CUSTODIANS, STATE, Deployment, digest_of, specification

Deploy = Callable[..., Deployment]


def uploaded(deployment: Deployment, project: str) -> dict[Side, bool]:
    """Whose contribution Carole counts; an upload that is not committed does not count."""
    status = deployment.status(project)
    return {side: status.sides[number].contributed for number, side in enumerate(Side)}


# Keys and cleaning


def seed_of(made: Deployment, side: Side) -> Path:
    """Where a custodian keeps a seed that was exchanged by hand."""
    return made.folders[side] / "exchanged.seed"


def exchange_seeds(made: Deployment, project: str) -> None:
    """Give each custodian a seed file of its own; the two differ."""
    for side in Side:
        new_seed_file(seed_of(made, side), project)
        made.configure(side, f"# seed_file: {side}.seed", "seed_file: exchanged.seed")


def test_wrong_seed(deploy: Deploy) -> None:
    text = specification("wrong-seed")
    made = deploy(text)
    exchange_seeds(made, "wrong-seed")
    made.start_all()
    project = made.create(text)
    made.eventually(lambda: made.status(project).blocking_error)
    reported = made.status(project).blocking_error
    assert "do not hold the same seed" in reported
    assert "wrong-seed, epoch 1" in reported
    assert "give both custodians the same seed file" in reported
    made.eventually(
        lambda: any("do not hold the same seed" in made.shown(side, project).blocking_error for side in Side)
    )
    assert made.status(project).state == STATE.PROJECT_STATE_APPROVED
    assert not made.status(project).contributions
    shutil.copy(seed_of(made, Side.ALICE), seed_of(made, Side.BOB))
    assert made.wait_for(project, STATE.PROJECT_STATE_CONTRIBUTED).blocking_error == ""


OTHER_CLEANING = """\
# An installation whose library leaves accents where they are.
from gemel.custodian.cleaning.definition import TEXT_STEPS

TEXT_STEPS["accents"] = lambda text: text
"""
OTHER_UNICODE = """\
# An interpreter that carries older Unicode tables.
import unicodedata

unicodedata.unidata_version = "9.0.0"
"""


def start_differently(made: Deployment, side: Side, program: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Start a custodian's process after `program` has run in it."""
    folder = made.root / "other"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(program)
    with monkeypatch.context() as patched:
        patched.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        (service,) = made.processes(str(side))
    return service


@pytest.mark.long  # as other tables of Unicode are noticed
def test_different_cleaning(deploy: Deploy, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file holds no accent at all: the canary shows the difference, and does so before any upload.

    With seed files the project goes on by itself; with messages the coordinator opens an epoch (`test_epochs.py`).
    """
    text = specification("cleaning")
    made = deploy(text)
    exchange_seeds(made, "cleaning")
    shutil.copy(seed_of(made, Side.ALICE), seed_of(made, Side.BOB))
    made.start_carole()
    made.start(Side.ALICE)
    bob = start_differently(made, Side.BOB, OTHER_CLEANING, monkeypatch)
    project = made.create(text)
    made.eventually(lambda: made.status(project).blocking_error)
    reported = made.status(project).blocking_error
    assert "the same test records give different signatures" in reported
    assert "cleaning, epoch 1" in reported
    assert "run the same version of Gemel" in reported
    troubled = [side for side in Side if made.shown(side, project).blocking_error]
    assert troubled
    assert all("the same test records" in made.shown(side, project).blocking_error for side in troubled)
    assert made.status(project).state == STATE.PROJECT_STATE_APPROVED
    assert not made.status(project).contributions
    bob.stop()
    made.start(Side.BOB)
    assert made.wait_for(project, STATE.PROJECT_STATE_CONTRIBUTED).blocking_error == ""


def test_other_unicode_tables(deploy: Deploy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two interpreters with different Unicode tables are found out even earlier: before Bob signs."""
    text = specification("unicode")
    made = deploy(text)
    made.start_carole()
    made.start(Side.ALICE)
    bob = start_differently(made, Side.BOB, OTHER_UNICODE, monkeypatch)
    project = made.create(text)
    reported = made.blocking_error(Side.BOB, project)
    assert "does not have the digests she sent" in reported
    assert "Unicode 9.0.0" in reported
    assert not made.status(project).sides[1].approved
    bob.stop()
    made.start(Side.BOB)
    made.wait_for(project, STATE.PROJECT_STATE_CONTRIBUTED)


# Files


@dataclass(frozen=True)
class Fault:
    """A way in which Alice's file is wrong, and what her operator is shown."""

    name: str
    spoil: Callable[[bytes], bytes]
    reported: tuple[str, ...]


def _last_line_again(content: bytes) -> bytes:
    return content + content.splitlines(keepends=True)[-1]


def _accented(encoding: str) -> Callable[[bytes], bytes]:
    def spoil(content: bytes) -> bytes:
        lines = content.decode().splitlines()
        cells = lines[4].split(",")
        cells[1] = "Zoë"
        lines[4] = ",".join(cells)
        return ("\n".join(lines) + "\n").encode(encoding)

    return spoil


FAULTS = (  # the others in process: tests/custodian/test_source.py
    Fault(
        "a-field-missing",
        lambda content: content.replace(b",surname,", b",sur_name,", 1),
        ("there is no column 'surname'", "did you mean 'sur_name'"),
    ),
    Fault(
        "duplicate-identifiers",
        _last_line_again,
        ("identifier of its own in column 'record_id'", "1 identifiers on 2 rows (lines ", "give every record"),
    ),
    Fault("an-empty-file", lambda content: b"", ("must hold the names", "an empty file", "check that the right file")),
    Fault("another-encoding", _accented("latin-1"), (".csv, line 5, byte ", "not in utf-8", "encoding: cp1252")),
)
BEFORE, AFTER = "before", "after"
FAULTS_WHEN = [(fault, BEFORE) for fault in FAULTS] + [
    (fault, AFTER) for fault in FAULTS if fault.name in ("a-field-missing", "another-encoding")
]
"""A file goes bad before anyone has signed, or after all have signed, in its columns or its bytes."""


def fault_specification(fault: Fault, when: str) -> str:
    return specification(f"{fault.name}-{when}", bits=128)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Three services that stay up while Alice's file is spoilt in one way after the other."""
    texts = [fault_specification(fault, when) for fault, when in FAULTS_WHEN]
    made = Deployment(tmp_path_factory.mktemp("services") / "deployment", texts)
    made.start_all()
    yield made
    made.close()


@pytest.mark.parametrize(("fault", "when"), FAULTS_WHEN, ids=lambda part: getattr(part, "name", part))
def test_source_at_fault(service: Deployment, fault: Fault, when: str) -> None:
    text = fault_specification(fault, when)
    if when == AFTER:
        project = service.create(text, approve=False)
        service.eventually(lambda: all(side.approved for side in service.status(project).sides))
    with service.spoilt(Side.ALICE, fault.spoil(service.good[Side.ALICE])):
        if when == BEFORE:
            project = service.create(text)
        else:
            service.coordinator.approve(project, digest_of(text))
        reported = service.blocking_error(Side.ALICE, project)
        assert str(service.files[Side.ALICE]) in reported
        for words in fault.reported:
            assert words in reported
        status = service.status(project)
        assert status.sides[0].approved == (when == AFTER)
        assert not uploaded(service, project)[Side.ALICE]
        assert all(given.side != project_pb2.SIDE_ALICE for given in status.contributions)
    service.wait_for(project, STATE.PROJECT_STATE_CONTRIBUTED)
    service.well(Side.ALICE, project)


def test_a_message_holds_no_value(service: Deployment) -> None:
    """The messages of all faults above, read against the file they are about."""
    values = {cell for line in service.good[Side.ALICE].decode().splitlines()[1:] for cell in line.split(",")}
    long = {value for value in values if len(value) > 5}
    assert len(long) > 300
    for fault, when in FAULTS_WHEN:
        project = fault_specification(fault, when).split("project: ")[1].split("\n")[0]
        reported = str(service.shown(Side.ALICE, project)) + str(service.status(project))
        assert project in reported
        assert not any(value in reported for value in long)


QUERY = "SELECT * FROM people"


def test_truncated_parquet(deploy: Deploy) -> None:
    """Alice's records are a Parquet file; Bob's, which are well, a table of a database."""
    text = specification("parquet")
    made = deploy(text)
    whole = made.root / "data" / "alice.parquet"
    pl.read_csv(made.files[Side.ALICE], infer_schema=False).write_parquet(whole)
    whole_bytes = whole.read_bytes()
    whole.write_bytes(whole_bytes[: len(whole_bytes) // 2])
    made.configure(Side.ALICE, '  csv: {"path": "' + str(made.files[Side.ALICE]), '  parquet: {"path": "' + str(whole))
    url, content = made.root / "data" / "bob.url", pl.read_csv(made.files[Side.BOB], infer_schema=False)
    engine = sqlalchemy.create_engine(f"sqlite:///{made.root / 'data' / 'bob.sqlite'}")
    table = sqlalchemy.Table(
        "people", sqlalchemy.MetaData(), *(sqlalchemy.Column(name, sqlalchemy.Text) for name in content.columns)
    )
    with engine.begin() as connection:
        table.create(connection)
        connection.execute(table.insert(), content.to_dicts())
    engine.dispose()
    url.write_text(f"{engine.url}")
    url.chmod(0o600)
    made.configure(Side.BOB, "  csv: ", f'  database: {{"url_file": "{url}", "query": "{QUERY}"}} #')
    made.start_all()
    project = made.create(text)
    reported = made.blocking_error(Side.ALICE, project)
    assert f"{whole}: not a whole Parquet file" in reported
    assert f"got {len(whole_bytes) // 2} bytes" in reported
    assert "copy the file again" in reported
    assert not made.status(project).sides[0].approved
    whole.write_bytes(whole_bytes)
    made.wait_for(project, STATE.PROJECT_STATE_CONTRIBUTED)


# The coordinator, and an operator


def test_approving_another_specification(deploy: Deploy) -> None:
    """An operator approves what was read, the coordinator what is at Carole's: by digest, and no other."""
    text, other = specification("approval"), specification("approval", bits=512)
    made = deploy()
    made.start_carole()
    made.start(Side.ALICE)
    project = made.create(text, approve=False)
    made.eventually(lambda: made.shown(Side.ALICE, project).waits_for_operator)
    error = refused(ErrorCode.SPECIFICATION, made.coordinator.approve, project, digest_of(other))
    assert "read the project's specification again" in error.remedy
    with Control.open(made.configs[Side.ALICE], CUSTODIANS[Side.ALICE]) as operator:
        error = refused(ErrorCode.SPECIFICATION, operator.approve, project, digest_of(other))
        assert error.where == "project approval"
        assert "read it again: `gemel alice specification approval`" in error.remedy
        assert not any(side.approved for side in made.status(project).sides)
        operator.approve(project, digest_of(text))
    made.eventually(lambda: made.status(project).sides[0].approved)
