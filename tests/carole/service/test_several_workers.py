"""Several workers, real processes: runs of several projects at a time, each in its turn, with its share."""

from __future__ import annotations

import os
import signal

import pytest

from gemel.carole.configuration import load_carole, template
from gemel.carole.projects.project import RunState, State
from gemel.common.parties import Side
from tests.carole.deployment import Deployment, eventually, get, make_upload, people
from tests.carole.service.test_worker import stands_still
from tests.ports import free_port

N, COMMON = 60, 40
SLOW, QUICK = "slow", ("quick-1", "quick-2", "quick-3")

STANDS = """\
# The worker, which stands still when it has begun a run of the project `slow`.
import os, signal, sys
from gemel.carole.service import linking, worker
real = linking.carry_out
def carry_out(work):
    if work.lease.project == "slow":
        os.kill(os.getpid(), signal.SIGSTOP)
    return real(work)
linking.carry_out = carry_out
sys.exit(worker.main(sys.argv[1:]))
"""


@pytest.fixture
def carole(parties, tmp_path):
    page = ('listen: ""', f'listen: "127.0.0.1:{free_port()}"')
    made = Deployment(parties, tmp_path / "carole", ("workers: 1 ", "workers: 2 "), page)
    yield made
    made.stop()


def contribute(carole, *projects):
    """Both contributions to each project."""
    carole.records = N
    for project in projects:
        carole.keyed(project)
        for side, first in ((Side.ALICE, 0), (Side.BOB, N - COMMON)):
            upload, _ = make_upload(side, people(N, offset=first), side[0] * 32, project=project)
            carole.custodian(side, project).contribute(upload)


def stopped(carole, *others):
    """A worker that stands still in the slow project's run, and contributions to others; its run, and its number."""
    application = carole.start_worker(STANDS)
    contribute(carole, SLOW, *others)
    run = carole.coordinator().start(SLOW).run
    pids = [supervisor.pid for supervisor in application._supervisors]
    assert len(set(pids)) == 2
    eventually(lambda: any(pid is not None and stands_still(pid) for pid in pids), 600)
    (standing,) = [pid for pid in pids if pid is not None and stands_still(pid)]
    return application, run, standing


def test_no_project_holds_all_workers_while_another_waits(carole):
    application, slow, standing = stopped(carole, *QUICK)
    coordinator = carole.coordinator()
    runs = {SLOW: slow} | {project: coordinator.start(project).run for project in QUICK}
    eventually(lambda: all(carole.store.runs.get(name, runs[name]).state is RunState.DONE for name in QUICK), 600)
    assert carole.store.runs.get(SLOW, slow).state is RunState.RUNNING
    ended = [e.project for e in carole.store.audit.entries() if e.action == "finish-run"]
    assert ended == list(QUICK), "in the order in which they were requested"
    status, found = get(application.observability, "/readyz")
    assert (status, found["ready"]) == (200, True)
    os.kill(standing, signal.SIGCONT)
    eventually(lambda: carole.store.runs.get(SLOW, slow).state is RunState.DONE, 600)
    for name, run in runs.items():
        found = carole.store.runs.get(name, run)
        assert (found.links, found.attempt) == (COMMON, 1), name
        assert carole.store.projects.get(name).state is State.RELEASED


@pytest.mark.long  # 10 s; that a run of one worker is taken up again: tests/carole/service/test_worker.py
def test_a_worker_that_dies_leaves_the_other_its_run(carole):
    _, slow, standing = stopped(carole, QUICK[0])
    quick = carole.coordinator().start(QUICK[0]).run
    os.kill(standing, signal.SIGKILL)
    eventually(lambda: carole.store.runs.get(QUICK[0], quick).state is RunState.DONE, 600)
    assert carole.store.runs.get(QUICK[0], quick).attempt == 1
    eventually(lambda: carole.store.runs.get(SLOW, slow).attempt == 2, 600)


def test_each_worker_has_its_share(tmp_path):
    path = tmp_path / "carole.yaml"
    text = template("127.0.0.1:0").replace("threads: 0 ", "threads: 8 ").replace("workers: 1 ", "workers: 3 ")
    path.write_text(text)
    limits = load_carole(path).limits
    assert (limits.worker_bytes, limits.worker_threads) == (1 << 30, 2)
    path.write_text(text.replace("workers: 3 ", "workers: 16 "))
    assert load_carole(path).limits.worker_threads == 1
