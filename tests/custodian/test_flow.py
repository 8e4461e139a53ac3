"""A custodian's whole way through a project, over the real wire, with a Carole that a test can make fail."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import numpy as np
import polars as pl
import pytest
from cryptography.exceptions import UnsupportedAlgorithm

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys import sealing
from gemel.common.parties import Side
from gemel.common.specification import load_specification, specification_digest
from gemel.custodian.leakage_report import Gate
from gemel.custodian.service import CustodianService
from gemel.custodian.state.custodian_state import State
from gemel.custodian.steps import approval
from gemel.custodian.steps.step_context import StepContext, Task
from gemel.protos.linkage.v1 import operator_pb2, project_pb2
from tests.carole.refusals import refusal
from tests.custodian.conftest import SPECIFICATION, Folder

KEYED = project_pb2.PROJECT_STATE_KEYED
CONTRIBUTED = project_pb2.PROJECT_STATE_CONTRIBUTED


@contextmanager
def running(*folders: Folder, gate: Gate | None = None) -> Iterator[list[CustodianService]]:
    with ExitStack() as stack:
        services = []
        for folder in folders:
            services.append(folder.start(gate))
            stack.callback(services[-1].close)
        yield services


def shown(folder) -> operator_pb2.CustodianProject:
    with folder.control() as control:
        found = control.status().projects
    return found[0] if found else operator_pb2.CustodianProject()


def eventually(look: Callable[[], object], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)


def true_links(carole) -> pl.DataFrame:
    """The pairs of rows that are one person, found as Carole could: postcodes are unique and never misspelt here."""
    ours, theirs = (carole.contribution(side) for side in Side)
    a, b = ours.fields["postcode"], theirs.fields["postcode"]
    assert np.array_equal(a.signatures, b.signatures)  # both files hold the same people
    frame = pl.DataFrame({"code": a.codes, "alice": np.arange(ours.n_rows)}).join(
        pl.DataFrame({"code": b.codes, "bob": np.arange(theirs.n_rows)}), on="code"
    )
    return frame.with_columns(
        link_id=pl.Series([f"{number:016x}" for number in range(frame.height)]), link_probability=pl.lit(0.98)
    )


def test_from_approval_to_results(make_world) -> None:
    world = make_world(150)
    carole = world.carole
    with running(world.alice, world.bob):
        carole.wait_for(lambda: carole.state == CONTRIBUTED)
        for side in Side:
            found = carole.contribution(side)
            assert found.n_rows == 150
            assert list(found.fields) == ["surname", "born", "postcode"]
            assert list(found.blocks) == ["born"]
        # In Alice's file the postcodes ascend, and so would their codes if rows were sent in the order of the file
        # or of its sorted distinct values; 150! orders are equally likely.
        codes = carole.contribution(Side.ALICE).fields["surname"].codes
        assert len(set(codes.tolist())) == 150
        assert 45 < int((np.diff(codes) > 0).sum()) < 105
        carole.release(true_links(carole))
        carole.wait_for(lambda: len(carole.acknowledged) == 2)
    for folder in world.folders:
        share = folder.configuration.results / "people" / carole.run
        assert sorted(path.name for path in share.iterdir()) == [
            "links.csv",
            "links.parquet",
            "statistics.json",
            "timings.json",
        ]
        assert pl.read_parquet(share / "links.parquet").columns == ["identifier", "link_id", "link_probability"]
        assert pl.read_csv(share / "links.csv").height == 150
        timings = json.loads((share / "timings.json").read_text())
        assert timings["rows"] == 150
        stages = {"read_seconds", "clean_seconds", "encode_seconds", "upload_seconds", "fetch_seconds", "join_seconds"}
        assert stages <= timings.keys()
    assert_everybody_is_linked(world)


def assert_everybody_is_linked(world) -> None:
    """The custodians' own identifiers, put beside each other by link: a7 must stand beside b7."""
    results = (folder.configuration.results / "people" / world.carole.run for folder in world.folders)
    alice, bob = (pl.read_parquet(folder / "links.parquet") for folder in results)
    joined = alice.join(bob, on="link_id", suffix="_bob")
    assert joined.height == world.people
    assert all(a[1:] == b[1:] for a, b in joined.select("identifier", "identifier_bob").rows())


def test_a_custodian_agrees_on_no_keys_where_a_sealing_key_is_of_another_suite(make_world) -> None:
    """The parties' keys are of the default suite, and Carole has not refused the specification."""
    world = make_world(text=f"{SPECIFICATION}cryptography: approved\n")
    with running(world.alice, world.bob):
        eventually(lambda: "not of ML-KEM-1024 and P-384" in shown(world.alice).blocking_error)
        assert not world.carole.messages


def test_a_custodian_whose_library_lacks_the_suite_does_not_approve(
    make_world, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(suite: object) -> None:
        raise UnsupportedAlgorithm("not in this build")

    monkeypatch.setattr(sealing, "new_key", lacking)
    world = make_world(text=f"{SPECIFICATION}cryptography: approved\n")
    with running(world.alice):
        eventually(lambda: "has no ML-KEM-1024 and P-384" in shown(world.alice).blocking_error)
        assert "decline the specification" in shown(world.alice).blocking_error


def test_a_decision_made_during_the_step_that_would_wait_for_it_is_acted_on(
    make_world, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator is as quick as can be: the step has read the source, and does not know that it is approved."""
    world = make_world(approve=False)
    read = approval.profile

    def approved_at_once(context: StepContext, task: Task) -> None:
        read(context, task)
        with world.alice.control() as control:
            control.approve("people", control.specification("people").digest)

    with monkeypatch.context() as patch:
        patch.setattr(approval, "profile", approved_at_once)
        with running(world.alice):
            world.carole.wait_for(lambda: world.carole.approved == {Side.ALICE}, 20.0)


def test_the_operator_reads_approves_and_stops(make_world) -> None:
    world = make_world(approve=False)
    with running(world.alice, world.bob) as services:
        eventually(lambda: shown(world.alice).waits_for_operator and shown(world.alice).rows)
        assert world.carole.approved == set()
        waits = {"people": project_pb2.CUSTODIAN_CONDITION_APPROVAL}
        world.carole.wait_for(lambda: world.carole.conditions.get(Side.ALICE) == waits)
        with world.alice.control() as control:
            status = control.status()
            assert status.connected
            assert status.party == "alice"
            assert control.only(None) == "people"
            project = status.projects[0]
            assert project.mode == "open"
            assert project.stage == "waits for the operator's approval"
            profile = json.loads(control.profile("people"))
            assert profile["rows"] == 120
            assert [item["field"] for item in profile["fields"]] == ["surname", "born", "postcode"]
            found = control.specification("people")
            assert found.digest == project.specification_digest
            assert any("Mode open" in note for note in found.notes)
            with refusal(ErrorCode.SPECIFICATION):
                control.approve("people", bytes(32))
            with refusal(ErrorCode.SPECIFICATION):
                control.compare(found.digest, "0" * 64)
            with refusal(ErrorCode.NOT_FOUND):
                control.profile("nothing")
            with pytest.raises(GemelError, match="10 to 1000 characters"):
                control.decline("people", "no")
            control.decline("people", "the wrong columns")
            eventually(lambda: "declined by the operator: the wrong columns" in shown(world.alice).blocking_error)
            assert control.outcome_of_decline("people").startswith("Declined: Carole has the refusal")
            assert world.carole.declined == {Side.ALICE: "the wrong columns"}
            assert world.carole.approved == set()
            world.carole.wait_for(lambda: world.carole.conditions[Side.ALICE] == {})
            control.approve("people", found.digest)
            assert control.outcome_of("people").startswith("Approved: Carole has the signature")
        world.carole.wait_for(lambda: world.carole.approved == {Side.ALICE})
        with world.bob.control() as control:
            control.approve("people", control.specification("people").digest)
        world.carole.wait_for(lambda: world.carole.state == CONTRIBUTED)
        with world.alice.control() as control:
            with world.carole.lock:
                world.carole.acknowledged.update(Side)
                world.carole.state = project_pb2.PROJECT_STATE_RELEASED
            eventually(lambda: shown(world.alice).state == project_pb2.PROJECT_STATE_RELEASED)
            with refusal(ErrorCode.WRONG_STATE, "cannot be taken back"):
                control.decline("people", "it is too late for this")
            control.stop()
        services[0].wait()
    with pytest.raises(GemelError, match="not running"), world.alice.control():
        pass


def test_an_amended_specification_is_looked_at_at_once_whatever_the_former_was_set_aside_for(make_world) -> None:
    world = make_world()
    world.alice.source.write_text(world.alice.source.read_text().replace("surname", "sur_name"))
    config = world.alice.config.read_text().replace("retry_seconds: 0.2 ", "retry_seconds: 3600 ")
    world.alice.config.write_text(config.replace("longest_retry_seconds: 60", "longest_retry_seconds: 3600"))
    with running(world.alice), world.alice.control() as control:
        eventually(lambda: "did you mean 'sur_name'" in shown(world.alice).blocking_error)
        amended = world.carole.text.replace("results_days: 30", "results_days: 29")
        with world.carole.changed():
            world.carole.text, world.carole.spec = amended, load_specification(amended)
        eventually(lambda: control.specification("people").digest == specification_digest(world.carole.spec))


def test_the_profile_follows_the_source_while_the_operator_thinks(make_world) -> None:
    world = make_world(approve=False)
    with running(world.alice):
        eventually(lambda: shown(world.alice).waits_for_operator and shown(world.alice).rows == 120)
        world.alice.source.write_text(world.alice.source.read_text() + "new,Another,1950-01-01,999999\n")
        eventually(lambda: shown(world.alice).rows == 121)
        with world.alice.control() as control:
            profile = json.loads(control.profile("people"))
            assert profile["rows"] == 121
            assert "own_copies" not in [warning["code"] for warning in profile["warnings"]]
        people = "".join(f"twice{k},Another{k % 6},1950-01-0{1 + k % 6},99999{k % 6}\n" for k in range(18))
        world.alice.source.write_text(world.alice.source.read_text() + people)
        eventually(lambda: shown(world.alice).rows == 139)
        with world.alice.control() as control:
            assert "own_copies" in [warning["code"] for warning in json.loads(control.profile("people"))["warnings"]]


def test_an_interrupted_upload_is_resumed_with_the_same_bytes(make_world) -> None:
    world = make_world(3000)
    carole = world.carole
    taken: list[int] = []

    def fail_after_two(method: str, side: Side) -> None:
        if method == "PutChunk" and side is Side.ALICE:
            taken.append(1)
            if len(taken) > 2:
                raise GemelError(ErrorCode.UNAVAILABLE, "the simulated Carole is down")

    carole.before = fail_after_two
    with running(world.alice, world.bob):
        carole.wait_for(lambda: Side.BOB in carole.current)
        eventually(lambda: len(taken) > 5)
    (first,) = carole.uploads[Side.ALICE]
    before = dict(carole.uploads[Side.ALICE][first].chunks)
    assert len(before) == 2
    carole.before = lambda method, side: None
    world.alice.source.write_text("rec_id,surname,born,postcode\nz,Changed,1950-01-01,1\n")
    with running(world.alice):
        carole.wait_for(lambda: carole.state == CONTRIBUTED)
    assert list(carole.uploads[Side.ALICE]) == [first]
    assert all(carole.uploads[Side.ALICE][first].chunks[index] == data for index, data in before.items())
    assert carole.contribution(Side.ALICE).n_rows == 3000


def test_a_lost_answer_to_the_commit_changes_nothing(make_world) -> None:
    world = make_world()
    carole = world.carole
    commit = carole.CommitUpload
    lost: list[Side] = []

    def commits_and_says_nothing(request, context):
        answer = commit(request, context)
        if not lost:
            lost.append(Side.ALICE)
            raise GemelError(ErrorCode.INTERNAL, "lost")
        return answer

    carole.CommitUpload = commits_and_says_nothing
    with running(world.alice, world.bob):
        carole.wait_for(lambda: carole.state == CONTRIBUTED)
    assert all(len(uploads) == 1 for uploads in carole.uploads.values())


def test_work_on_a_specification_that_was_not_approved_is_refused(make_world) -> None:
    world = make_world(approve=False)
    world.carole.state = KEYED
    with running(world.alice):
        eventually(lambda: "has not approved" in shown(world.alice).blocking_error)
    assert world.carole.uploads[Side.ALICE] == {}


def test_a_specification_exchanged_after_the_approval_is_refused(make_world) -> None:
    world = make_world()
    carole = world.carole
    with running(world.alice):
        carole.wait_for(lambda: Side.ALICE in carole.approved)
        carole.text = carole.text.replace("uploads_days: 7", "uploads_days: 3650")
        with carole.changed():
            carole.state = KEYED
        # The text does not have the digests that Carole names.
        eventually(lambda: "does not have the digests she sent" in shown(world.alice).blocking_error)
    assert carole.uploads[Side.ALICE] == {}


def test_carole_away_is_shown_and_no_error_of_a_project(make_world) -> None:
    world = make_world(approve=False)
    with running(world.alice):
        eventually(lambda: shown(world.alice).waits_for_operator)
        world.server.stop(0)
        with world.alice.control() as control:
            eventually(lambda: not control.status().connected)
            assert control.status().projects[0].blocking_error == ""
            control.approve("people", control.specification("people").digest)


def test_statistics_only_and_a_share_that_was_changed(make_world) -> None:
    world = make_world()
    carole = world.carole
    with running(world.alice, world.bob):
        carole.wait_for(lambda: carole.state == CONTRIBUTED)
        links = true_links(carole)
        carole.release(links, grants={Side.BOB: "statistics"})
        carole.wait_for(lambda: len(carole.acknowledged) == 2)
        share = world.bob.configuration.results / "people" / carole.run
        assert sorted(path.name for path in share.iterdir()) == ["statistics.json", "timings.json"]
        assert shown(world.bob).links == 0
        assert shown(world.alice).links == 120

        carole.release(links, run="1" * 32)
        sealed = bytearray(carole.shares[Side.ALICE])
        sealed[-40] ^= 1
        carole.shares[Side.ALICE] = bytes(sealed)
        with carole.changed():
            carole.acknowledged.clear()
        eventually(lambda: "does not open" in shown(world.alice).blocking_error)
        assert not (world.alice.configuration.results / "people" / carole.run).exists()
        assert [path.name for path in (world.alice.configuration.results / "people").iterdir()] == ["0" * 32]


def test_an_erased_project_leaves_no_seed_even_where_its_erasure_was_interrupted(
    make_world, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One custodian's is: it is stored last that the project is erased, or what was left undone would never be done."""
    world = make_world()
    carole, interrupted = world.carole, []
    erase = State.erase_secrets

    def fail_once(self: State, project: str, **named: int) -> None:
        if not interrupted:
            interrupted.append(project)
            raise GemelError(ErrorCode.STORAGE_FULL, "no space left on the disk")
        erase(self, project, **named)

    with running(world.alice, world.bob) as services:
        carole.wait_for(lambda: carole.state == CONTRIBUTED)
        states = [service._context.state for service in services]
        assert all(state.secret("people", 1, "seed") for state in states)
        with carole.changed():
            monkeypatch.setattr(State, "erase_secrets", fail_once)
            carole.state = project_pb2.PROJECT_STATE_ERASED
        eventually(lambda: all(shown(folder).stage == "erased" for folder in (world.alice, world.bob)))
        assert interrupted == ["people"]
        assert not any(state.secret("people", 1, name) for state in states for name in ("seed", "agreement"))
