"""Consoles of two coordinators and two stewards before one Carole: whose a project is, what ends it, who signs."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
from sqlalchemy import update

from benchmarks._built_population import SMALL, built
from gemel.carole.assessment.combined_assessment import AssessmentContext, assess
from gemel.carole.projects.project import PolicyDecision, State
from gemel.carole.store.database import Database
from gemel.carole.store.results import REPORT
from gemel.carole.store.tables import projects
from gemel.common.documents.model_document import StatisticsDocument
from gemel.common.parties import Role, Side
from gemel.protos.linkage.v1 import contribution_pb2
from tests.carole.deployment import SPECIFICATION, Deployment, Upload, make_upload, people
from tests.carole.engine.no_statistics import NO_STATISTICS
from tests.carole.service.test_ownership import deployment, listed, several
from tests.console.coordinator.served import forms, served_to
from tests.coordinator.reports.linkage.conftest import CLAIMS

__all__ = ["deployment", "several"]

PROJECT = "/projects/trial"
RECORDS = 300
REASON = "she leaves for the ministry in May"
FIRST, SECOND = "used inside the secure room only", "agreed with the ethics board in May"
OVERRIDE = "the register is public anyway, see the minutes"


@pytest.fixture(scope="module")
def uploads() -> dict[Side, Upload]:
    return {side: make_upload(side, people(RECORDS, 100 * n), "ab"[n] * 32)[0] for n, side in enumerate(Side)}


def test_a_project_goes_to_another_coordinator_who_has_read_what_is_signed(deployment: Deployment) -> None:
    owned = {"hand-over", "new-epoch", "erase", "amend"}
    with served_to(deployment, "coordinator") as former, served_to(deployment, "successor") as other:
        assert forms(former.client.get(PROJECT).text) == owned
        assert forms(other.client.get(PROJECT).text) == set()
        for path in ("hand-over", "take-over", "new-epoch", "erase", "amend", "approve"):
            refused = other.client.get(f"{PROJECT}/{path}")
            assert refused.status_code == 409
            assert "project of coordinator" in refused.text
        page = former.client.get(f"{PROJECT}/hand-over").text
        assert "<option>successor</option>" in page
        assert "withdraw the offer" not in page
        status, page = former.post(f"{PROJECT}/hand-over", csrf=former.token(), successor="alice", reason=REASON)
        assert (status, "must be a coordinator" in page) == (400, True)
        status, _ = former.post(f"{PROJECT}/hand-over", csrf=former.token(), successor="successor", reason=REASON)
        assert status == 303
        page = former.client.get(PROJECT).text
        assert "is yours until that coordinator takes it over" in page
        assert "handed over to successor" in page
        assert "withdraw the offer" in former.client.get(f"{PROJECT}/hand-over").text
        assert forms(other.client.get(PROJECT).text) == {"take-over"}
        shown = other.client.get(f"{PROJECT}/take-over").text
        assert f"hands over the project of coordinator with the reason: &#34;{REASON}&#34;" in shown
        read = other.read(f"{PROJECT}/take-over")
        # Another offer, with another reason, was not read.
        former.post(f"{PROJECT}/hand-over", csrf=former.token(), successor="successor", reason=f"{REASON} or June")
        status, page = other.post(f"{PROJECT}/take-over", csrf=other.token(), read=read)
        assert (status, "another than the one you read" in page) == (409, True)
        assert deployment.store.projects.get("trial").owner == "coordinator"
        read = other.read(f"{PROJECT}/take-over")
        assert other.post(f"{PROJECT}/take-over", csrf=other.token(), read=read)[0] == 303
        assert deployment.store.projects.get("trial").owner == "successor"
        assert forms(other.client.get(PROJECT).text) == owned
        assert forms(former.client.get(PROJECT).text) == set()


def test_an_offer_is_withdrawn(deployment: Deployment) -> None:
    with served_to(deployment, "coordinator") as console:
        for successor in ("successor", "coordinator"):
            status, _ = console.post(f"{PROJECT}/hand-over", csrf=console.token(), successor=successor, reason=REASON)
            assert status == 303
        assert "The offer is withdrawn." in console.client.get(PROJECT).text
        assert "handed over to" not in console.client.get(PROJECT).text


def test_a_new_epoch_is_opened_once_with_what_it_erases_shown(
    deployment: Deployment, uploads: dict[Side, Upload]
) -> None:
    deployment.custodian(Side.ALICE).contribute(uploads[Side.ALICE])
    with served_to(deployment, "coordinator") as console:
        page = console.client.get(f"{PROJECT}/new-epoch").text
        assert "What Alice has sent: the signatures of 300 rows." in page
        assert "Epoch 2 of trial?" in page
        sent = {"csrf": console.token(), "reason": REASON, "read": console.read(f"{PROJECT}/new-epoch"), "epoch": "2"}
        status, page = console.post(f"{PROJECT}/new-epoch", **{**sent, "reason": "no"})
        assert (status, "a decision needs a reason" in page) == (400, True)
        deployment.custodian(Side.BOB).begin(uploads[Side.BOB])
        deployment.custodian(Side.BOB).put(uploads[Side.BOB], 0)
        status, page = console.post(f"{PROJECT}/new-epoch", **sent)
        assert (status, "no longer what you read" in page) == (409, True)
        sent["read"] = console.read(f"{PROJECT}/new-epoch")
        for epoch, answer in (("1", 409), ("2", 303), ("2", 409)):
            assert console.post(f"{PROJECT}/new-epoch", **{**sent, "epoch": epoch})[0] == answer
    project = deployment.store.projects.get("trial")
    assert (project.state, project.epoch, dict(project.uploads)) == (State.DRAFT, 2, {})


def test_a_project_is_erased_by_its_name_and_by_no_other(deployment: Deployment, uploads: dict[Side, Upload]) -> None:
    deployment.custodian(Side.ALICE).contribute(uploads[Side.ALICE])
    with served_to(deployment, "coordinator") as console:
        page = console.client.get(f"{PROJECT}/erase").text
        assert "What Alice has sent: the signatures of 300 rows." in page
        assert "The audit log, with all approvals, decisions and reasons." in page
        sent = {"csrf": console.token(), "read": console.read(f"{PROJECT}/erase")}
        for name in ("", "Trial", "births"):
            assert console.post(f"{PROJECT}/erase", **sent, name=name)[0] == 400
        deployment.custodian(Side.BOB).contribute(uploads[Side.BOB])
        status, page = console.post(f"{PROJECT}/erase", **sent, name="trial")
        assert (status, "no longer what you read, and nothing was erased" in page) == (409, True)
        assert deployment.store.projects.get("trial").state is State.CONTRIBUTED
        sent["read"] = console.read(f"{PROJECT}/erase")
        assert console.post(f"{PROJECT}/erase", **sent, name="trial")[0] == 303
        page = console.client.get(PROJECT).text
        assert "The project is erased" in page
        assert forms(page) == set()
        # As the page has it: specification and name stay.
        assert "project: trial" in page
        other = SPECIFICATION.replace("results_days: 30", "results_days: 20")
        status, page = console.post("/new", csrf=console.token(), do="propose", text=other)
        assert (status, "trial" in page) == (422, True)
    assert deployment.store.projects.get("trial").state is State.ERASED


def contributed(deployment: Deployment, uploads: dict[Side, Upload], *sides: Side) -> None:
    """These have sent their records; Alice has stated what she measured, above the limit, and why."""
    statement = contribution_pb2.LeakageStatement(worst=0.083, limit=0.05, overridden=True, reason=OVERRIDE)
    for side in sides:
        upload, custodian = uploads[side], deployment.custodian(side)
        request = contribution_pb2.BeginUploadRequest(
            manifest=upload.manifest, upload=upload.name, leakage=statement if side is Side.ALICE else None
        )
        custodian.call(custodian.stub.BeginUpload, request)
        custodian.contribute(upload)


def held(deployment: Deployment) -> None:
    """A result that two stewards must sign."""
    database = Database(f"sqlite:///{deployment.root / 'store' / 'carole.db'}")
    database.holder = deployment.store.holder
    with database.write() as connection:
        connection.execute(update(projects).where(projects.c.name == "trial").values(policy="hold", signatures=2))
    database.close()
    run = deployment.coordinator().start("trial").run
    lease = deployment.store.runs.take("worker")
    assert lease is not None
    population = built(SMALL, 300, (0.5, 0.5), np.random.default_rng(7), "correct_matches: 0.01")
    document = json.dumps(assess(population.combined, population.spec, AssessmentContext(run)).document).encode()
    judged = PolicyDecision({"correct_matches": 0.4}, ("correct_matches",), hashlib.sha256(document).digest())
    shares = {str(Role.CUSTODIAN_A): [b"share"], str(Role.COORDINATOR): [b"{}"], REPORT: [document]}
    deployment.store.runs.finish(lease, 3, shares, judged)


def test_the_second_steward_reads_who_has_signed_and_why_and_what_was_measured(
    deployment: Deployment, uploads: dict[Side, Upload]
) -> None:
    contributed(deployment, uploads, *Side)
    held(deployment)
    with served_to(deployment, "steward") as first, served_to(deployment, "second") as second:
        page = first.client.get(PROJECT).text
        assert "known attacks recovered 8.3 %, where the specification allows 5.0 %: <b>that is above its limit" in page
        assert f"“{OVERRIDE}”" in page
        assert "its service measured nothing, as the specification does not require it" in page
        assert "No steward has signed yet." in page
        read = first.read(PROJECT)
        sent = {"csrf": first.token(), "read": read, "decision": "release", "reason": FIRST}
        assert first.post(f"{PROJECT}/decide", **sent)[0] == 303
        page = first.client.get(PROJECT).text
        assert 'value="release"' not in page
        assert 'value="refuse"' in page
        page = second.client.get(PROJECT).text
        assert "steward has signed the release on 2" in page
        assert f"“{FIRST}”" in page
        assert 'value="release"' in page
        assert "One awaits your decision." in second.client.get("/").text
        sent = {"csrf": second.token(), "read": read, "decision": "release", "reason": SECOND}
        assert second.post(f"{PROJECT}/decide", **sent)[0] == 303
        assert "/decide" not in second.client.get(PROJECT).text
    assert deployment.store.projects.get("trial").state is State.RELEASED


def test_the_page_of_a_run_has_what_is_claimed_with_its_interval(
    deployment: Deployment, uploads: dict[Side, Upload]
) -> None:
    contributed(deployment, uploads, *Side)
    deployment.coordinator().start("trial")
    lease = deployment.store.runs.take("worker")
    assert lease is not None
    claimed = StatisticsDocument.of(
        {**NO_STATISTICS.plain(), "linkage": {**NO_STATISTICS.linkage.plain(), "links": 60, "claims": CLAIMS}},
        "claimed",
    )
    shares = {str(side.role): [b"share"] for side in Side}
    deployment.store.runs.finish(lease, 60, {**shares, str(Role.COORDINATOR): [claimed.written()]})
    with served_to(deployment, "coordinator") as console:
        page = console.client.get(f"{PROJECT}/results").text.replace("\N{NO-BREAK SPACE}", " ")
    assert "By the model 99.8 % (99.0 to 99.96 %) of the links are right" in page


def test_a_steward_hands_over_for_an_owner_who_has_left(deployment: Deployment) -> None:
    sent = {"project": "trial", "former": "coordinator", "successor": "successor", "reason": REASON}
    with served_to(deployment, "steward") as console:
        assert "<option>successor</option>" in console.client.get("/hand-over?project=trial&owner=coordinator").text
        status, page = console.post("/hand-over", csrf=console.token(), **sent)
        assert (status, "only where its owner is no longer a member" in page) == (403, True)
        status, page = console.post("/hand-over", csrf=console.token(), **{**sent, "project": "../x"})
        assert status == 404
        assert console.post("/hand-over", **sent)[0] == 403
    listed(deployment, "coordinator")
    deployment.restart()
    with served_to(deployment, "steward") as console:
        assert console.post("/hand-over", csrf=console.token(), **sent)[0] == 303
        assert "trial is offered to successor." in console.client.get("/").text
    with served_to(deployment, "successor") as console:
        assert f"with the reason: &#34;{REASON}" in console.client.get(f"{PROJECT}/take-over").text


@pytest.mark.parametrize("party", ["coordinator", "steward"])
def test_no_page_on_a_restoration_without_one(deployment: Deployment, party: str) -> None:
    with served_to(deployment, party) as console:
        for path in ("/restored", f"{PROJECT}/restored"):
            answer = console.client.get(path)
            assert answer.status_code == 404
            assert "Carole has recorded no restoration of her store" in answer.text
