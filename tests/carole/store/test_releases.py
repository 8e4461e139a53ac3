"""What is kept of releases, on SQLite and PostgreSQL: beyond the project's end, until its own days are over."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import text

from gemel.carole.projects.operations.release import override
from gemel.carole.projects.project import Policy, PolicyDecision, ReleaseSignature, RunState, State
from gemel.carole.store.clock_guard import DAY_MS
from gemel.carole.store.releases import COUNTS, Kept
from gemel.carole.store.results import REPORT
from gemel.carole.store.runs import OvertakenError
from gemel.common.errors import ErrorCode
from gemel.common.parties import Role
from tests.carole.refusals import refusal
from tests.carole.store.conftest import Clock
from tests.carole.store.test_migrations import transaction
from tests.carole.store.test_sweeping import SHARES
from tests.carole.trial import NEW, PROJECT, approve, contributed, erase, take, taken, tiny

RUN = "1" * 32
COUNTED = {**SHARES, REPORT: [b"{}"], COUNTS: [b"the ", b"counts"]}
BREACH = PolicyDecision({"differences": 1.0}, ("differences",), b"r" * 32, 1, 0, "against run 0")
DAYS = 400


def finished(store, policy, decision):
    new = replace(NEW, policy=policy, releases_days=DAYS)
    contributed(store, tiny(), new)
    store.runs.finish(taken(store, RUN), 5, COUNTED, decision)


def sign(store):
    given = ReleaseSignature(RUN, "steward", "aa", b"r" * 32, b"s" * 64)
    reason = "used inside the secure room only"
    store.apply(PROJECT, lambda project, _: override(project, given, reason, {"steward": "aa"}))


def pass_to(store, clock, days):
    """The clock goes on to so many days after the test's beginning, in steps that it is believed."""
    end = Clock().now + days * DAY_MS
    while clock.now < end:
        clock.now = min(clock.now + 6 * DAY_MS, end)
        store.clock_guard.advance()


def keys(url):
    with transaction(url) as connection:
        return int(connection.execute(text("SELECT count(*) FROM payloads WHERE wrapped_key IS NOT NULL")).scalar_one())


def test_the_counts_of_a_release_outlive_its_project_until_their_days_are_over(open_store, clock, url):
    store = open_store()
    finished(store, Policy.HOLD, BREACH)
    assert store.releases.earlier(PROJECT) == [], "what is held is no release"
    (held,) = (entry.details for entry in store.audit.entries(PROJECT) if entry.action == "hold")
    assert held["reason"] == "against run 0"
    sign(store)
    (trace,) = store.releases.earlier(PROJECT)
    assert (trace.run, trace.project, trace.owner, trace.links, trace.kept) == (
        RUN,
        PROJECT,
        "coordinator",
        5,
        Kept.COUNTS,
    )
    assert (trace.alice, trace.bob) == (str(Role.CUSTODIAN_A), str(Role.CUSTODIAN_B))
    assert (trace.at, trace.specification_digest) == (clock.now, NEW.specification_digest)
    with pytest.raises(ValueError, match="counts"):
        Role(COUNTS)  # so that no party can fetch them as a share
    erase(store)
    store = open_store()  # which sweeps
    assert store.projects.get(PROJECT).state is State.ERASED
    assert keys(url) == 1
    assert store.releases.counts(store.releases.earlier(PROJECT)[0]) == b"the counts"
    with refusal(ErrorCode.WRONG_STATE):
        store.results.report(PROJECT, RUN, 0)
    pass_to(store, clock, DAYS - 1)
    assert store.retention.enforce() == 0
    pass_to(store, clock, DAYS)
    assert store.monitoring.figures().due == 1
    assert store.retention.enforce() == 1
    (trace,) = store.releases.earlier(PROJECT)
    assert (trace.kept, store.releases.counts(trace), keys(url)) == (Kept.EXPIRED, None, 0)
    newest = store.audit.entries(PROJECT)[-1]
    assert (newest.action, newest.details["keys"]) == ("destroy-keys", 1)
    assert store.retention.enforce() == 0


def test_what_is_refused_leaves_no_trace_and_no_counts(store, url):
    finished(store, Policy.REFUSE, BREACH)
    assert store.releases.earlier(PROJECT) == []
    erase(store)
    assert keys(url) == 0


def test_of_two_runs_that_were_assessed_at_a_time_the_second_is_assessed_again(store, url):
    """Each was assessed when the other was not released yet: what they tell together is in neither's report."""
    leases = {}
    for number, name in enumerate(("first", "second")):
        contributed(store, tiny(), replace(NEW, name=name, policy=Policy.HOLD, releases_days=DAYS))
        store.runs.start(name, "coordinator", "r", str(number) * 32)
        lease = take(store, f"worker {number}")
        assert lease.project == name
        leases[name] = lease
    within = replace(BREACH, breaches=())
    before = keys(url)
    store.runs.finish(leases["first"], 5, COUNTED, within, [])
    with pytest.raises(OvertakenError):
        store.runs.finish(leases["second"], 5, COUNTED, within, [])
    assert store.projects.get("second").newest_run.state is RunState.RUNNING
    assert keys(url) == before + len(COUNTED), "nothing of the second is left"
    store.runs.finish(leases["second"], 5, COUNTED, within, [leases["first"].run])
    assert [trace.project for trace in store.releases.earlier("first")] == ["first", "second"]


def test_releases_are_those_of_the_same_custodians_in_all_their_projects(store):
    finished(store, Policy.HOLD, replace(BREACH, breaches=()))
    for name, members in (("same", ("custodian-b", "custodian-a")), ("other", ("custodian-a", "third"))):
        store.projects.create(replace(NEW, name=name), "successor")
        for role, member in zip((Role.CUSTODIAN_A, Role.CUSTODIAN_B), members, strict=True):
            approve(store, role, member, name)
    assert [trace.run for trace in store.releases.earlier("same")] == [RUN], "also with their sides exchanged"
    assert store.releases.earlier("other") == []
