"""Very many projects: no answer grows with all that ever were, and nothing is left out of all answers together."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import polars as pl
import pytest
from sqlalchemy import insert, update

from gemel.carole.projects.operations.outcome import Entry
from gemel.carole.projects.project import RunState, State
from gemel.carole.projects.transitions import Action
from gemel.carole.service import wire as statuses
from gemel.carole.service.supervisor import Supervisor
from gemel.carole.store import audit
from gemel.carole.store.tables import approvals, projects
from gemel.common.errors import ErrorCode
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import PARTIES, Role, Side
from gemel.common.rpc import pages
from gemel.common.rpc.status import MAX_MESSAGE_BYTES
from gemel.common.specification.model.granted_variables import Transfer
from gemel.coordinator.client.analyst_client import Analyst
from gemel.coordinator.client.steward_client import Steward
from gemel.coordinator.provisioning import provision
from gemel.protos.linkage.v1 import coordination_pb2, coordination_pb2_grpc, custody_pb2
from tests.carole.deployment import DIGEST, SPECIFICATION, Deployment, eventually, files_of, make_upload, people
from tests.carole.refusals import refusal
from tests.carole.trial import NEW, erase

ERASED = 9
_APPROVE = (Role.COORDINATOR, Role.CUSTODIAN_A, Role.CUSTODIAN_B)
OPEN = [f"open-{number}" for number in range(3)]


def fill(store, names, state=State.ERASED, text="", to=""):
    """Projects that all have approved and that have come to a state, with entries of the log; in one transaction."""
    transfers = (Transfer(Side.ALICE, to),) if to else ()
    with store._database.write() as connection:
        for name in names:
            new = replace(NEW, name=name, specification=text.replace("trial", name), transfers=transfers)
            store.projects._insert(connection, new, "coordinator")
            if state is not State.DRAFT:
                found = connection.execute(
                    update(projects).where(projects.c.name == name).values(state=int(state)).returning(projects.c.id)
                )
                consent = {"project": found.scalar_one(), "digest": DIGEST, "signature": bytes(64), "at": 1}
                consents = [{**consent, "role": str(role), "member": str(role)} for role in _APPROVE]
                connection.execute(insert(approvals), consents)
                audit.append(connection, 1, name, [Entry("coordinator", Action.ERASE, {})])


def poll(custodian, since=None):
    request = custody_pb2.NextTaskRequest(since=since)
    found: custody_pb2.NextTaskResponse = custodian.call(custodian.stub.NextTask, request)
    return found


def answers(custodian, since=None):
    """The answers until there is nothing more, as a custodian's service requests them after a start."""
    position = custody_pb2.StatusPosition() if since is None else since
    while True:
        found = poll(custodian, position)
        yield found
        if not found.more:
            return
        position = found.position


def named(response):
    return [status.project for status in response.projects]


def size(response):
    return sum(pages.size_of(status) for status in response.projects)


def shown_in_parts(deployment, ended, bound):
    """The answers from which a custodian learns all, each below the bound and with all that goes on."""
    found = list(answers(deployment.custodian(Side.ALICE)))
    assert all(size(each) <= bound for each in found)
    assert all(set(OPEN) <= set(named(each)) for each in found)
    counted = Counter(name for each in found for name in named(each) if name not in OPEN)
    assert counted == Counter(ended)
    return found


def test_what_has_ended_is_shown_once_and_what_goes_on_every_time(deployment, monkeypatch):
    monkeypatch.setattr(statuses, "ANSWER_BYTES", bound := 8192)
    ended = [f"ended-{number}" for number in range(200)]
    fill(deployment.store, ended[:100])
    fill(deployment.store, OPEN, State.DRAFT)
    fill(deployment.store, ended[100:])
    found = shown_in_parts(deployment, ended, bound)
    assert len(found) > 5
    alice, position = deployment.custodian(Side.ALICE), found[-1].position
    assert named(poll(alice, position)) == OPEN
    # What ends from now on is shown once, also to one who was away, and after a restart of Carole.
    for name in ("ended-1", "ended-2"):  # whose entries are not the newest any more
        with deployment.store._database.write() as connection:
            audit.append(connection, 1, name, [Entry("coordinator", Action.ERASE, {})])
    erase(deployment.store, OPEN[1])
    deployment.restart()
    alice = deployment.custodian(Side.ALICE)
    news = poll(alice, position)
    assert sorted(named(news)) == sorted([OPEN[0], OPEN[2], OPEN[1], "ended-1", "ended-2"])
    assert {status.project: status.state for status in news.projects}[OPEN[1]] == ERASED
    assert named(poll(alice, news.position)) == [OPEN[0], OPEN[2]]


def test_a_change_between_two_answers_is_shown(deployment, monkeypatch):
    monkeypatch.setattr(statuses, "ANSWER_BYTES", 4096)
    fill(deployment.store, [*(f"ended-{number}" for number in range(50)), "turns"])
    fill(deployment.store, ["open-0"], State.DRAFT)
    last = {}
    for number, answer in enumerate(answers(deployment.custodian(Side.ALICE))):
        last |= {status.project: status.state for status in answer.projects}
        if number == 1:
            erase(deployment.store, "open-0")
            fill(deployment.store, ["later"])
    assert len(last) == 53
    assert last["open-0"] == last["later"] == ERASED


def test_after_a_restoration_all_is_shown_again(deployment):
    """The custodian knows entries that the log has lost: by their number alone it would miss what took their place."""
    fill(deployment.store, OPEN, State.DRAFT)
    copy = deployment.copied()
    fill(deployment.store, ["lost-0", "lost-1"])
    (*_, before) = answers(deployment.custodian(Side.ALICE))
    deployment.put_back(copy)
    alice = deployment.custodian(Side.ALICE)
    # The log has not come so far yet.
    assert poll(alice, before.position).position.entry < before.position.entry
    erase(deployment.store, OPEN[0])
    fill(deployment.store, ["since-0", "since-1"])
    again = poll(alice, before.position)
    states = {status.project: status.state for status in again.projects}
    assert set(states) == {*OPEN, "since-0", "since-1"}
    assert states[OPEN[0]] == ERASED
    # A position of before the restoration, which the log still has, goes on from there.
    (*_, after) = answers(alice, again.position)
    assert set(named(poll(alice, after.position))) == set(OPEN[1:])


def test_more_that_go_on_than_an_answer_has_place_for_take_turns(deployment, monkeypatch):
    monkeypatch.setattr(statuses, "ANSWER_BYTES", bound := 2048)
    many = [f"open-{number}" for number in range(30)]
    fill(deployment.store, many, State.DRAFT)
    alice = deployment.custodian(Side.ALICE)
    (*_, known) = answers(alice)
    position, seen = known.position, set[str]()
    for _ in many:
        found = poll(alice, position)
        assert size(found) <= bound
        assert not found.more
        position = found.position
        seen |= set(named(found))
    assert seen == set(many)


def test_a_state_that_is_larger_than_an_answer_keeps_no_other_back(deployment, monkeypatch):
    monkeypatch.setattr(statuses, "ANSWER_BYTES", 1)
    fill(deployment.store, [f"ended-{number}" for number in range(5)])
    fill(deployment.store, OPEN, State.DRAFT)
    found = list(answers(deployment.custodian(Side.ALICE)))
    assert {name for each in found for name in named(each)} == {*OPEN, *(f"ended-{number}" for number in range(5))}
    assert all(len(each.projects) <= 2 for each in found)


def test_a_page_is_bounded_and_what_is_created_meanwhile_moves_nothing(deployment, monkeypatch):
    known = [f"p-{number}" for number in range(60)]
    fill(deployment.store, known)
    connection = deployment.connect("coordinator")
    stub = connection.stub(coordination_pb2_grpc.CoordinationStub)
    for maximum, bound in ((7, pages.PAGE_BYTES), (0, 4096)):
        monkeypatch.setattr(pages, "PAGE_BYTES", bound)
        found, after, number = [], "", 0
        while True:
            request = coordination_pb2.ListProjectsRequest(after=after, maximum=maximum)
            page = connection.call(stub.ListProjects, request)
            assert sum(map(pages.size_of, page.projects)) <= bound
            assert not maximum or len(page.projects) <= maximum
            found += [status.project for status in page.projects]
            fill(deployment.store, [f"new-{bound}-{number}"], State.DRAFT)
            after, number = page.next, number + 1
            if not after:
                break
        assert number > 5
        assert found == known[::-1]
        known += [f"new-{bound}-{each}" for each in range(number)]
    with refusal(ErrorCode.NOT_FOUND):
        connection.call(stub.ListProjects, coordination_pb2.ListProjectsRequest(after="unknown"))


def test_coordinator_steward_and_analyst_read_every_page(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "PAGE_BYTES", 3000)
    made = provision(tmp_path / "parties", linker_names=["127.0.0.1"], parties={**PARTIES, "institute": Role.ANALYST})
    deployment = Deployment(made, tmp_path / "carole")
    try:
        deployment.start()
        released = [f"r-{number}" for number in range(20)]
        fill(deployment.store, released, State.RELEASED, SPECIFICATION, to="institute")
        fill(deployment.store, ["erased"], to="institute")
        assert [each.project for each in deployment.coordinator().projects()] == [*released, "erased"]
        identity = open_identity(None, made.parties["steward"].identity)
        linker = made.members.in_role(Role.LINKER).identity
        steward = Steward(deployment.connect("steward"), identity, linker)
        assert [each.project for each in steward.assessed()] == released
        key = SealingKey.load(made.parties["institute"].sealing)
        analyst = Analyst(deployment.connect("institute"), made.members.named("institute"), key, made.members)
        assert [each.spec.project for each in analyst.projects()] == released
    finally:
        deployment.stop()


@pytest.mark.long
def test_more_projects_than_a_message_has_place_for(deployment):
    ended = [f"ended-project-{number}" for number in range(4500)]
    fill(deployment.store, ended)
    fill(deployment.store, OPEN, State.DRAFT)
    found = shown_in_parts(deployment, ended, statuses.ANSWER_BYTES)
    assert sum(map(size, found)) > MAX_MESSAGE_BYTES
    assert named(poll(deployment.custodian(Side.BOB), found[-1].position)) == OPEN
    assert deployment.custodian(Side.ALICE).next_task().ByteSize() < MAX_MESSAGE_BYTES
    assert [each.project for each in deployment.coordinator().projects()] == [*ended, *OPEN]


# Projects at once, of the same custodians at one Carole with one worker: each ends with its own links.

N = 60


def shared(number):
    """How many people of a project's two files are the same: of no two projects as many."""
    return 25 + number


def linked(carole, project, run, orders):
    """The persons that both shares name as linked, by their numbers within the project's files."""
    tables = {}
    for side in Side:
        sealed, _ = carole.custodian(side, project).fetch(run)
        tables[side] = pl.read_parquet(files_of(carole.parties, str(side), sealed, run, project)["links.parquet"])
    joined = tables[Side.ALICE].join(tables[Side.BOB], on="link_id", suffix="_bob", validate="1:1")
    assert joined.height == tables[Side.ALICE].height == tables[Side.BOB].height
    alices = orders[Side.ALICE][joined["row"].to_numpy()]
    bobs = orders[Side.BOB][joined["row_bob"].to_numpy()]
    return set(zip(alices.tolist(), bobs.tolist(), strict=True))


@pytest.mark.parametrize("number_of", [4, pytest.param(20, marks=pytest.mark.long)])
def test_projects_at_once(parties, tmp_path, number_of):
    numbers = {f"of-{number}": number for number in range(number_of)}
    carole = Deployment(parties, tmp_path / "carole")
    carole.records = N
    try:
        carole.start(Supervisor)

        def conduct(project):
            number, orders = numbers[project], {}
            carole.keyed(project)
            for side, first in ((Side.ALICE, 0), (Side.BOB, N - shared(number))):
                frame = people(N, offset=1000 * number + first)
                # Their uploads have the same names: what is a project's is known by the project.
                upload, orders[side] = make_upload(side, frame, side[0] * 32, project=project)
                carole.custodian(side, project).contribute(upload)
            return carole.coordinator().start(project).run, orders

        with ThreadPoolExecutor(number_of) as threads:
            begun = dict(zip(numbers, threads.map(conduct, numbers), strict=True))
        states = lambda: {carole.store.runs.get(name, run).state for name, (run, _) in begun.items()}  # noqa: E731
        eventually(lambda: states() <= {RunState.DONE, RunState.FAILED}, 600)
        for name, (run, orders) in begun.items():
            expected = {(N - shared(numbers[name]) + person, person) for person in range(shared(numbers[name]))}
            assert linked(carole, name, run, orders) == expected, name
            assert carole.store.projects.get(name).state is State.RELEASED
            actions = [entry.action for entry in carole.store.audit.entries(name)]
            assert [actions.count(action) for action in ("create", "commit-upload", "release")] == [1, 2, 1]
        # A run is found under its own project only.
        with refusal(ErrorCode.NOT_FOUND):
            carole.custodian(Side.ALICE, "of-0").fetch(begun["of-1"][0])
    finally:
        carole.stop()
