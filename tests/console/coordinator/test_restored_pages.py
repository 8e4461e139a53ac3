"""Consoles before a store that was put back from a copy: what was lost is read, then decided on for each project."""

from __future__ import annotations

from gemel.coordinator.client.log_memory import FileMemory
from tests.carole.conftest import deployment, parties
from tests.carole.deployment import Deployment
from tests.carole.service.test_restoration import configured, declare, rolled_back
from tests.console.coordinator.served import served

__all__ = ["deployment", "parties", "rolled_back"]

RESTORED = "/projects/trial/restored"
RUN = "1" * 32


def test_a_log_that_is_not_believed_leads_to_what_was_lost_and_the_decision(rolled_back: Deployment) -> None:
    with served(configured(rolled_back, "coordinator")) as console:
        console.client.get(console.links[-1])
        page = console.client.get("/").text
        assert 'href="/restored"' in page
        assert "`gemel carole declare-restored`" in console.client.get("/restored").text
    declare(rolled_back)
    FileMemory(rolled_back.root / "coordinator.seen.json").note_released("trial", RUN)
    with served(configured(rolled_back, "coordinator")) as console:
        console.client.get(console.links[-1])
        for path in ("/", "/projects/trial", "/certificates"):
            page = console.client.get(path).text
            assert "Carole&#39;s store was restored from a backup" in page
            assert 'href="/restored"' in page
        page = console.client.get("/restored").text
        assert "was put back from a backup of" in page
        assert f'href="{RESTORED}"' in page
        page = console.client.get(RESTORED).text
        assert f"run {RUN} released" in page
        read, token = console.read(RESTORED), console.token("/restored")
        sent = {"csrf": token, "decision": "accept", "read": read}
        # What was lost is no longer what the page showed: another run is known here now.
        FileMemory(rolled_back.root / "coordinator.seen.json").note_released("trial", "2" * 32)
        assert console.post(RESTORED, **sent)[0] == 409
        sent["read"] = console.read(RESTORED)
        assert console.post(RESTORED, **{**sent, "decision": ""})[0] == 400
        assert console.post(RESTORED, **{**sent, "decision": "refuse"})[0] == 400  # without a reason
        assert console.client.get("/").status_code != 200
        assert console.post(RESTORED, **sent)[0] == 303
        page = console.client.get("/restored").text
        assert "Accepted. trial waits for alice, bob." in page
        assert "No project that is shown to you awaits your decision." in page
        assert 'href="/projects/trial/erase"' in page
        assert console.client.get("/").status_code == 200
        assert console.client.get("/projects/trial/approve").status_code == 409
    (entry,) = [each for each in rolled_back.store.audit.entries("trial") if each.action == "accept-restore"]
    assert entry.actor == "coordinator"


def test_a_steward_accepts_by_the_name_of_a_project_that_is_not_listed(rolled_back: Deployment) -> None:
    declare(rolled_back)
    with served(configured(rolled_back, "steward")) as console:
        console.client.get(console.links[-1])
        page = console.client.get("/restored").text
        assert "No project that is shown to you awaits your decision." in page
        assert "No project can have the name" in console.client.get("/restored?project=<b>").text
        answer = console.client.get("/restored?project=trial", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, RESTORED)
        sent = {"csrf": console.token("/restored"), "decision": "accept", "read": console.read(RESTORED)}
        assert console.post(RESTORED, **sent)[0] == 303
        assert console.client.get("/").status_code == 200


def test_a_project_is_erased_before_a_log_that_is_not_believed(rolled_back: Deployment) -> None:
    declare(rolled_back)
    with served(configured(rolled_back, "coordinator")) as console:
        console.client.get(console.links[-1])
        read = console.read("/projects/trial/erase")
        token = console.token("/restored")
        refused = {"csrf": token, "decision": "refuse", "read": console.read(RESTORED)}
        refused["reason"] = "the backup is older than our agreement allows"
        assert console.post(RESTORED, **refused)[0] == 303
        assert "Refused. trial does not go on" in console.client.get("/restored").text
        assert console.post("/projects/trial/erase", csrf=token, name="trial", read=read)[0] == 303
    assert [each.action for each in rolled_back.store.audit.entries("trial")][-2:] == ["refuse-restore", "erase"]
