"""Files removed under a running Carole: clear words, nothing lost is acknowledged, and on with what is put back."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from gemel.carole.projects.project import RunState, State
from gemel.carole.service.supervisor import Supervisor
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.pki.provisioning import Provisioned
from gemel.protos.linkage.v1 import project_pb2
from tests.carole.deployment import Deployment, Upload
from tests.carole.refusals import refusal
from tests.carole.service.test_readiness import get
from tests.carole.service.test_worker import contribute, eventually


@pytest.fixture
def carole(parties: Provisioned, tmp_path: Path) -> Iterator[Deployment]:
    """Carole with a page, and keys of her own that a test may move away."""
    keys = shutil.copytree(parties.parties["carole"].path, tmp_path / "keys")
    made = Deployment(parties, tmp_path / "carole", ('listen: ""', 'listen: "127.0.0.1:0"'))
    text = made.configuration.read_text()
    made.configuration.write_text(text.replace(str(parties.parties["carole"].path), str(keys)))
    yield made
    made.stop()


def chunk_files(carole: Deployment) -> list[Path]:
    return sorted(path for path in (carole.root / "store" / "blobs").glob("*/*") if path.is_file())


def test_a_chunk_that_is_gone_is_noticed_before_the_upload_is_acknowledged(
    carole: Deployment, uploads: dict[Side, Upload]
) -> None:
    carole.start()
    carole.keyed()
    alice, upload = carole.custodian(Side.ALICE), uploads[Side.ALICE]
    alice.begin(upload)
    for index in range(len(upload.chunks)):
        alice.put(upload, index)
    chunk_files(carole)[0].unlink()
    with refusal(ErrorCode.VAULT) as caught:
        alice.commit(upload)
    assert "cannot read what it has stored" in str(caught.value)
    assert str(carole.root) not in str(caught.value)
    assert not carole.store.projects.get("trial").uploads[Side.ALICE].committed
    again = Upload(upload.sets, upload.side, "f" * 32, upload.payload, upload.manifest)
    alice.contribute(again)
    assert carole.store.projects.get("trial").uploads[Side.ALICE].committed


def test_a_run_whose_input_is_gone_fails_in_words_that_name_no_path(carole: Deployment) -> None:
    carole.start(Supervisor)
    contribute(carole)
    chunk_files(carole)[0].unlink()
    coordinator = carole.coordinator()
    *_, last = coordinator.watch("trial", coordinator.start("trial").run)
    assert last.state == project_pb2.RUN_STATE_FAILED
    assert "cannot read what it has stored" in last.error
    assert str(carole.root) not in last.error
    assert carole.store.projects.get("trial").state is State.CONTRIBUTED
    coordinator.erase("trial")
    assert chunk_files(carole) == []


def test_without_the_folder_of_blobs_no_chunk_is_acknowledged(carole: Deployment, uploads: dict[Side, Upload]) -> None:
    application = carole.start()
    carole.keyed()
    alice, upload = carole.custodian(Side.ALICE), uploads[Side.ALICE]
    alice.begin(upload)
    alice.put(upload, 0)
    blobs, elsewhere = carole.root / "store" / "blobs", carole.root / "elsewhere"
    blobs.rename(elsewhere)
    with pytest.raises(GemelError) as caught:
        alice.put(upload, 1)
    assert str(carole.root) not in str(caught.value)
    status, found = get(application.observability, "/readyz")
    assert (status, found["checks"]["blobs"]) == (503, "failed")
    shutil.rmtree(blobs, ignore_errors=True)
    elsewhere.rename(blobs)
    missing = [index for gap in alice.begin(upload).missing for index in range(gap.first, gap.last + 1)]
    assert missing == list(range(1, len(upload.chunks))), "what was acknowledged is there, and nothing else"
    for index in missing:
        alice.put(upload, index)
    alice.commit(upload)


def test_a_run_waits_for_the_wrapping_key_that_was_moved_away(carole: Deployment, tmp_path: Path) -> None:
    application = carole.start(Supervisor)
    contribute(carole)
    key, elsewhere = tmp_path / "keys" / "wrapping.key", tmp_path / "wrapping.key"
    key.rename(elsewhere)
    former = application.worker_pid
    os.kill(former, signal.SIGKILL)
    run = carole.coordinator().start("trial").run
    eventually(lambda: application._supervisors[0].health()[1] > 1, 600)
    status, found = get(application.observability, "/readyz")
    assert (status, found["checks"]["keys"]) == (503, "failed")
    assert carole.store.runs.get("trial", run).state is RunState.QUEUED
    elsewhere.rename(key)
    eventually(lambda: carole.store.runs.get("trial", run).state is RunState.DONE, 600)
    assert carole.store.projects.get("trial").state is State.RELEASED
