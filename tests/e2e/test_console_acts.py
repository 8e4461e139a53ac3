"""The consoles of a coordinator and of a second steward in Chromium: what hands over, erases, begins again and signs.

One Carole in this process; the custodians' part is played by their messages, so that each page is there when it is
looked at. `CONSOLE_SCREENSHOTS=docs` writes the pictures of docs/console.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gemel.carole.projects.project import State
from gemel.common.parties import Side
from gemel.coordinator.client.client_configuration import template
from tests.carole.deployment import SPECIFICATION, Deployment, steward
from tests.carole.service.test_ownership import REASON, deployment, several, types
from tests.console.coordinator.test_whose_project import FIRST, SECOND, contributed, held, uploads
from tests.e2e.console_browser import ConsoleProcess, Watched, browser, chromium
from tests.e2e.console_views import axe_script, findings, pictures_from

__all__ = ["deployment", "several", "uploads"]

PROJECT = "/projects/trial"


@pytest.fixture
def persons(deployment: Deployment, tmp_path: Path) -> Iterator[tuple[Watched, Watched]]:
    """A coordinator and the second of two stewards, each before a console."""
    chromium()
    configs = []
    for party in ("coordinator", "second"):
        folder = tmp_path / party
        folder.mkdir()
        configs.append(folder / f"{party}.yaml")
        keys = str(deployment.parties.parties[party].path)
        configs[-1].write_text(template(deployment.address, keys=keys, state=str(folder)))
    started = [ConsoleProcess(config, tmp_path) for config in configs]
    try:
        with browser() as opened:
            coordinator, second = (Watched.enter(opened, console) for console in started)
            yield coordinator, second
    finally:
        for console in started:
            console.stop()


def test_a_project_is_taken_over_begun_again_held_signed_by_two_and_erased(
    deployment: Deployment, uploads: dict, persons: tuple[Watched, Watched]
) -> None:
    script, found = axe_script(), []
    coordinator, second = persons
    # A project of another coordinator, which is offered to this one.
    moved = SPECIFICATION.replace("trial", "moved")
    deployment.coordinator("successor").create(moved)
    types(deployment, "successor", "hand-over", "moved", "--to", "coordinator", "--reason", REASON, "--yes")
    coordinator.go("/")
    coordinator.follow("moved")
    coordinator.follow("Read and take over")
    assert f'successor hands over the project of successor with the reason: "{REASON}"' in coordinator.text()
    found += findings(coordinator, "/projects/moved/take-over", "take-over", script)
    coordinator.page.check("#agree")
    coordinator.press("Sign and take over")
    assert "The project is yours" in coordinator.text()
    found += findings(coordinator, "/projects/moved/approve", "approve", script)

    contributed(deployment, uploads, Side.ALICE)
    found += findings(coordinator, PROJECT, "project", script)
    found += findings(coordinator, f"{PROJECT}/amend", "amend", script)
    coordinator.go(PROJECT)
    coordinator.follow("New epoch")
    assert "What Alice has sent: the signatures of 300 rows." in coordinator.text()
    found += findings(coordinator, f"{PROJECT}/new-epoch", "new-epoch", script)
    found += findings(coordinator, f"{PROJECT}/hand-over", "hand-over", script)
    contributed(deployment, uploads, Side.BOB)
    held(deployment)

    first = steward(deployment)
    (status,) = first.assessed()
    report = first.report("trial", status.run.run)
    first.decide("trial", status.run.run, report.sha256, release=True, reason=FIRST)
    found += findings(coordinator, f"{PROJECT}/risk", "risk", script)
    found += findings(second, "/", "results", script)
    assert "One awaits your decision." in second.text()
    second.follow("trial")
    assert "steward has signed the release on" in second.text()
    assert FIRST in second.text()
    assert "that is above its limit" in second.text()
    found += findings(second, PROJECT, "result", script)
    pictures_from(second, "decision", "section:has(#leakage)")
    second.page.check("#release")
    second.page.fill("#reason", SECOND)
    second.press("Sign the decision")
    assert "You have released the result." in second.text()
    assert deployment.store.projects.get("trial").state is State.RELEASED

    second.go("/")
    coordinator.go(PROJECT)
    coordinator.follow("Erase")
    assert "Of the release, that it was made" in coordinator.text()
    found += findings(coordinator, f"{PROJECT}/erase", "erase", script)
    coordinator.page.fill("#name", "moved")
    coordinator.press("Erase the project")
    assert "what was typed is not the project's name" in coordinator.text()
    coordinator.go(f"{PROJECT}/erase")
    coordinator.page.fill("#name", "trial")
    coordinator.press("Erase the project")
    assert "The project is erased" in coordinator.text()
    assert deployment.store.projects.get("trial").state is State.ERASED

    for name, path in (("projects", "/"), ("new", "/new"), ("certificates", "/certificates")):
        found += findings(coordinator, path, name, script)
    for name, path in (("audit", "/audit"), ("steward-hand-over", "/hand-over")):
        found += findings(second, path, name, script)
    assert found == []
    # A browser reports an answer that is no success, as that to the wrong name, and nothing else.
    assert all("the server responded with a status of 400" in each for each in coordinator.errors)
    assert second.errors == []
