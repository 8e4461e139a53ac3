"""A coordinator's console in Chromium, before a log of Carole's that was put back from a copy."""

from __future__ import annotations

from pathlib import Path

from tests.carole.conftest import deployment, parties
from tests.carole.deployment import Deployment
from tests.carole.service.test_restoration import configured, declare, rolled_back
from tests.e2e.console_browser import ConsoleProcess, Watched, browser, chromium
from tests.e2e.console_views import axe_script, findings

__all__ = ["deployment", "parties", "rolled_back"]


def test_clicks_lead_from_the_error_to_the_decision(rolled_back: Deployment, tmp_path: Path) -> None:
    chromium()
    declare(rolled_back)
    script, found = axe_script(), []
    console = ConsoleProcess(configured(rolled_back, "coordinator"), tmp_path)
    try:
        with browser() as opened:
            person = Watched.enter(opened, console)
            assert "Carole's store was restored from a backup" in person.text()
            person.follow("What was lost, and your decision")
            found += findings(person, "/restored", "restored", script)
            person.follow("trial")
            found += findings(person, "/projects/trial/restored", "restored-project", script)
            person.page.check("#accept")
            person.press("Sign the decision")
            assert "Accepted. trial waits for alice, bob." in person.text()
            person.go("/")
            assert "alice: accept or refuse Carole's restored audit log" in person.text()
            assert found == []
            assert all("the server responded with a status of 409" in each for each in person.errors)
    finally:
        console.stop()
