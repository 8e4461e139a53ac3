"""A custodian that withdraws, as its operator does it: by the command, with services as processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from gemel.common.parties import Side
from gemel.protos.linkage.v1 import project_pb2
from tests.e2e.deployment import Deployment, digest_of, entries_in, people, specification

ROOT = Path(__file__).resolve().parents[2]
STATE = project_pb2.ProjectState
REASON = "the committee of data protection has not agreed yet"


def gemel(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gemel.command", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False)


def test_a_custodian_withdraws_what_it_sent_and_takes_part_again_after_an_amendment(
    deploy: Callable[..., Deployment],
) -> None:
    text = specification("declined")
    amended = text.replace("results_days: 30", "results_days: 10")
    made = deploy(text, amended, files=people(60, 30))
    _, alice, _ = made.processes("carole", "alice", "bob")
    made.contributed(text)
    config = ("--config", made.configs[Side.ALICE])
    short = gemel("alice", "decline", "declined", "--reason", "no", "--yes", *config)
    assert (short.returncode, "10 to 1000 characters" in " ".join(short.stderr.split())) == (1, True), short
    done = gemel("alice", "decline", "declined", "--reason", REASON, "--yes", *config)
    assert (done.returncode, "Carole has the refusal" in done.stdout) == (0, True), done
    status = made.status("declined")
    assert (status.state, [given.side for given in status.contributions]) == (
        STATE.PROJECT_STATE_DRAFT,
        [project_pb2.SIDE_BOB],
    )
    shown = gemel("project", "status", "declined", "--config", made.coordinator_yaml)
    assert f'Alice declined the specification: "{REASON}"' in " ".join(shown.stdout.split()), shown
    # It stays declined when the service is started again, whatever its policy approves.
    alice.kill()
    made.processes("alice")
    made.eventually(lambda: "declined by the operator" in made.shown(Side.ALICE, "declined").blocking_error)
    assert made.status("declined").sides[0].declined
    made.coordinator.amend(amended)
    made.coordinator.approve("declined", digest_of(amended))
    status = made.wait_for("declined", STATE.PROJECT_STATE_CONTRIBUTED)
    assert not any(side.declined for side in status.sides)
    # Erased at Carole's, and sent again after the amendment was approved. Alice logs it once Carole has answered, a
    # moment after Carole's status says so.
    made.eventually(lambda: len(contributed(made)) == 2, lambda: str(contributed(made)))


def contributed(made: Deployment) -> set[str]:
    """The uploads of which Alice's log says that they are complete."""
    whole = "\n".join(line for line in (made.logs / "alice.log").read_text().splitlines() if line.endswith("}"))
    return {entry["upload"] for entry in entries_in(whole) if entry["event"] == "contributed"}
