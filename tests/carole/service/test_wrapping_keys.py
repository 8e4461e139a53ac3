"""Carole with her wrapping keys on a token, as a process with a worker: from the file to the token and on."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

from gemel.common.configuration import parse_configuration
from gemel.common.keys.wrapping_configuration import WrappingSection
from gemel.common.parties import Side
from gemel.common.pki.provisioning import provision
from gemel.protos.linkage.v1 import project_pb2
from tests.carole.deployment import Deployment, make_upload, people
from tests.carole.service.test_process import ROOT, Process
from tests.common.keys.key_stores import softhsm

BLOCKS = re.findall(r"```yaml\n(wrapping:.*?)```", (ROOT / "deploy" / "README.md").read_text(), flags=re.DOTALL)


def test_both_blocks_of_the_manual_are_valid() -> None:
    read = [parse_configuration(block, WrappingSection, folder=Path(), where="README").wrapping for block in BLOCKS]
    assert [place.vault is None for place in read if place is not None] == [True, False]


def test_what_the_file_wrapped_is_read_and_linked_under_the_token(tmp_path: Path) -> None:
    uploads = {side: make_upload(side, people(400, offset=200 * k), side[0] * 32)[0] for k, side in enumerate(Side)}
    made = provision(tmp_path / "parties")
    deployment = Deployment(made, tmp_path / "carole")
    process = Process(deployment.configuration, tmp_path)
    deployment.connect_to(process.address())
    deployment.records = 400
    deployment.keyed()
    deployment.custodian(Side.ALICE).contribute(uploads[Side.ALICE])
    assert process.end(signal.SIGTERM) == 0
    # The block of deploy/README.md as it stands, but for the file of the PIN.
    block = next(block for block in BLOCKS if "pkcs11" in block)
    block = block.replace("keys/token.pin", str(softhsm(tmp_path)))
    text = deployment.configuration.read_text() + block
    deployment.configuration.write_text(text.replace('listen: ""', 'listen: "127.0.0.1:0"'))
    create = [sys.executable, "-m", "gemel", "party", "wrapping-key", "--config", str(deployment.configuration)]
    assert "Made the wrapping key" in subprocess.run(create, check=True, capture_output=True, text=True).stdout
    process = Process(deployment.configuration, tmp_path)
    deployment.connect_to(process.address())
    deployment.custodian(Side.BOB).contribute(uploads[Side.BOB])
    assert process.end(signal.SIGTERM) == 0
    # At her start she has rewrapped all, so the file may go.
    made.parties["carole"].wrapping.unlink()
    process = Process(deployment.configuration, tmp_path)
    deployment.connect_to(process.address())
    try:
        coordinator = deployment.coordinator()
        *_, last = coordinator.watch("trial", coordinator.start("trial").run)
        assert last.state == project_pb2.RUN_STATE_DONE, last
        page = json.loads(process.ready_file.read_text())["observability"]
        with urllib.request.urlopen(f"http://{page}/readyz", timeout=30) as answer:
            assert json.load(answer)["checks"]["keys"] == "ok"
    finally:
        deployment.stop()
        process.end(signal.SIGKILL)
