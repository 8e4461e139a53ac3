"""A custodian that withdraws, as its operator does it: by the command, with services as processes."""

from __future__ import annotations

from collections.abc import Callable

from gemel.common.parties import Side
from gemel.protos.linkage.v1 import project_pb2
from tests.e2e.deployment import Deployment, digest_of, entries_in, people, specification
from tests.typed import error_of, printed

STATE = project_pb2.ProjectState
REASON = "the committee of data protection has not agreed yet"


def test_a_custodian_withdraws_what_it_sent_and_takes_part_again_after_an_amendment(
    deploy: Callable[..., Deployment],
) -> None:
    text = specification("declined")
    amended = text.replace("results_days: 30", "results_days: 10")
    made = deploy(text, amended, files=people(60, 30))
    _, alice, _ = made.processes("carole", "alice", "bob")
    made.contributed(text)
    decline = ("alice", "decline", "declined", "--yes", "--config", made.configs[Side.ALICE], "--reason")
    assert "10 to 1000 characters" in str(error_of(*decline, "no"))
    assert "Carole has the refusal" in printed(*decline, REASON)
    status = made.status("declined")
    assert (status.state, [given.side for given in status.contributions]) == (
        STATE.PROJECT_STATE_DRAFT,
        [project_pb2.SIDE_BOB],
    )
    shown = printed("project", "status", "declined", "--config", made.coordinator_yaml)
    assert f'Alice declined the specification: "{REASON}"' in " ".join(shown.split())
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
