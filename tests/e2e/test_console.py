"""The consoles of a coordinator, a steward and both custodians in Chromium, before three real services: from nothing to
released results by clicks, a held result decided by two, every page at three widths in light and dark.

The second project is approved by the policies in the custodians' configurations. `CONSOLE_SCREENSHOTS=docs` writes the
pictures of docs/console.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from gemel.common.parties import Role, Side
from gemel.coordinator.client.steward_client import connect_steward
from tests.e2e.console_browser import WIDTHS, ConsoleProcess, Watched, browser, chromium, overflow, serious
from tests.e2e.deployment import STATE, Deployment, digest_of, insured, people, specification
from tests.e2e.test_block_keyed import BLOCKING
from tests.e2e.test_disclosure import judged_by

if TYPE_CHECKING:
    from playwright.sync_api import Page

REASON = "used inside the secure room only, see the minutes of May"
BLOCKS = specification("births-2026", more=BLOCKING, mode="block_keyed")
HELD = judged_by("cancer-registry", "sample_uniques: 0.0", "hold\n  signatures: 2")
AMENDED = HELD.replace("signatures: 2", "signatures: 1").replace("cancer-registry", "births-2026")
MANY = 60


@dataclass
class Consoles:
    """Three services, four consoles, and a person before each."""

    made: Deployment
    coordinator: Watched
    steward: Watched
    alice: Watched
    bob: Watched
    second: Path
    """Another steward's configuration."""


@pytest.fixture(scope="module")
def consoles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Consoles]:
    chromium()
    more = {"second": Role.STEWARD}
    made = Deployment(tmp_path_factory.mktemp("console") / "d", [HELD], insured(people(seed=3)), more)
    started = [ConsoleProcess(made.client_yaml(party), made.logs) for party in ("coordinator", "steward")]
    started += [ConsoleProcess(made.configs[side], made.logs, side) for side in Side]
    try:
        made.processes("carole", "alice", "bob")
        with browser() as opened:
            people_there = [Watched.enter(opened, console) for console in started]
            yield Consoles(made, *people_there, made.client_yaml("second"))
    finally:
        for console in started:
            console.stop()
        made.close()


@pytest.fixture(scope="module")
def released(consoles: Consoles) -> str:
    """A project that the coordinator has brought from nothing to its release by clicks; its name."""
    page = consoles.coordinator.page
    assert "There is no project yet" in consoles.coordinator.text()
    consoles.coordinator.follow("Create a project")
    page.fill("#text", BLOCKS.replace("kind: category", "kind: colour"))
    consoles.coordinator.press("Check")
    (wrong,) = page.locator(".errors li").all_inner_texts()
    assert "line 8, fields[2].kind" in wrong
    page.fill("#text", BLOCKS)
    consoles.coordinator.press("Check")
    assert "The specification is in order" in consoles.coordinator.text()
    assert "Carole can compare two values inside a block only" in consoles.coordinator.text()
    consoles.coordinator.press("Create the project")
    assert "approve the specification" in consoles.coordinator.text()
    consoles.coordinator.follow("Read and approve")
    page.check("#agree")
    consoles.coordinator.press("Sign the approval")
    learnt = _measured(consoles.alice)
    for person in (consoles.alice, consoles.bob):
        person.go("/")
        person.wait_for_text("One project waits for you")
        person.follow("births-2026")
        person.follow("Read and approve")
        if person is consoles.alice:
            person.picture("console-approval", at="[aria-labelledby=leaving]")
        person.page.check("#agree")
        person.press("Sign the approval")
        person.wait_for_text("Approved: Carole has the signature.")
    assert "An attacker who has public counts only" in learnt
    # What follows, the pages show by themselves: the custodians agree on keys and contribute.
    consoles.coordinator.press("Start a run")
    consoles.coordinator.wait_for_text("Nothing is awaited.")
    return "births-2026"


def _measured(person: Watched) -> str:
    """What a custodian finds that Carole could learn, before it decides: the report, as it stands in its frame."""
    person.wait_for_text("One project waits for you")
    person.follow("births-2026")
    assert "You: read the specification, and approve or decline it." in person.text()
    person.follow("What Carole could learn")
    person.press("Measure it")
    person.wait_for_text("The report by itself")
    person.picture("console-leakage", scheme="dark")
    shown: str = person.page.frame_locator("iframe.report").locator("body").inner_text()
    return shown


@pytest.fixture(scope="module")
def held(consoles: Consoles) -> str:
    consoles.made.contributed(HELD)
    consoles.made.coordinator.start("cancer-registry")
    consoles.made.wait_for("cancer-registry", STATE.PROJECT_STATE_HELD)
    return "cancer-registry"


def _looked_at(page: Page, script: str) -> list[str]:
    """What is wrong with a page at some width, in light or dark."""
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in ("light", "dark"):
            # In the dark only the colours are others.
            page.emulate_media(color_scheme=scheme)
            found += [f"{width} {scheme}: {each}" for each in serious(page, script, colours=scheme == "dark")]
        found += [f"{width}: {each}" for each in [overflow(page)] if each]
    return found


def test_clicks_lead_from_an_empty_console_to_a_released_result(consoles: Consoles, released: str) -> None:
    """In mode block_keyed: the console resolves the records as `gemel project watch` does."""
    person = consoles.coordinator
    assert consoles.made.status(released).state == STATE.PROJECT_STATE_RELEASED
    for side in Side:
        assert list((consoles.made.folders[side] / "results" / released).rglob("links.parquet"))
    person.go(f"/projects/{released}")
    person.follow("Results")
    assert "pairs were compared" in person.text()
    report = person.page.frame_locator("iframe.report")
    assert released in report.locator("h1").inner_text()
    # By the keyboard, once all is there: a click while the frame still loads may be lost.
    person.page.wait_for_load_state("load")
    link = person.page.get_by_role("link", name="model.json", exact=True)
    link.focus()
    with person.page.expect_download() as download:
        person.page.keyboard.press("Enter")
    assert download.value.suggested_filename == f"{released}-model.json"
    assert person.errors == []
    for side, custodian in ((Side.ALICE, consoles.alice), (Side.BOB, consoles.bob)):
        custodian.go(f"/projects/{released}")
        custodian.wait_for_text("Your share of the result is there")
        custodian.follow("Results")
        page = custodian.text()
        (table,) = (consoles.made.folders[side] / "results" / released).rglob("links.parquet")
        links = pl.read_parquet(table)
        assert f"Your share has {links.height} links. It lies in the folder {table.parent} " in page
        assert digest_of(BLOCKS).hex() in page
        assert not {each for column in ("identifier", "link_id") for each in links[column] if each in page}
        assert custodian.errors == []


def test_what_carole_could_learn_is_shown_to_all(consoles: Consoles, released: str) -> None:
    """By the service's measurement, and by the console's; both are of the specification before it is amended."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    report = consoles.alice.report(f"/projects/{released}/measured.html")
    assert "Measured by the custodian's service" in report.inner_text("main")
    found = _looked_at(report, axe.axe_script)
    for page in ("override", "leakage"):
        consoles.alice.go(f"/projects/{released}/{page}")
        assert "Within the limits" in consoles.alice.text()
        found += _looked_at(consoles.alice.page, axe.axe_script)
    assert found == []


def test_a_held_result_is_decided_by_two_stewards(consoles: Consoles, held: str) -> None:
    person, page = consoles.steward, consoles.steward.page
    person.go("/")
    assert "One result is held One awaits your decision." in person.text()
    person.follow(held)
    assert "its release needs 2 more signatures" in person.text()
    assert "the policy is breached" in page.frame_locator("iframe.report").locator("body").inner_text().lower()
    consoles.coordinator.go(f"/projects/{held}")
    consoles.coordinator.picture("console-project")
    page.check("#release")
    page.fill("#reason", REASON)
    person.picture("console-steward", scheme="dark")
    person.press("Sign the decision")
    assert "The result stays held until the other signature is there." in person.text()
    assert consoles.made.status(held).state == STATE.PROJECT_STATE_HELD
    assert page.locator("#release").count() == 0
    with connect_steward(consoles.second) as other:
        (status,) = [each for each in other.assessed() if each.project == held]
        report = other.report(held, status.run.run)
        other.decide(held, status.run.run, report.sha256, release=True, reason=REASON)
    page.wait_for_selector("#reason", state="detached")  # the page sees it by itself
    assert "released" in page.inner_text("main .badge")
    person.go(f"/audit?project={held}")
    person.picture("console-audit")
    shown = person.text()
    assert shown.count(f"“{REASON}”") == 2
    assert "is proven to be in the log" in shown
    assert not re.search(r"[0-9a-f]{24,}", shown)
    assert person.errors == []


def test_an_amended_specification_is_of_the_same_encoding(consoles: Consoles, released: str) -> None:
    """What Carole refuses, the page shows with its remedy; what is of another project is not even sent."""
    page = consoles.coordinator.page
    consoles.coordinator.go(f"/projects/{released}/amend")
    page.fill("#text", HELD)
    consoles.coordinator.press("Propose the amendment")
    assert "an amended specification is of the same project" in consoles.coordinator.text()
    page.fill("#text", AMENDED)
    consoles.coordinator.press("Propose the amendment")
    assert "One thing is to be corrected" in consoles.coordinator.text()
    assert page.input_value("#text") == AMENDED.strip("\n") or page.input_value("#text") == AMENDED
    page.fill("#text", BLOCKS.replace("results_days: 30", "results_days: 20"))
    consoles.coordinator.press("Propose the amendment")
    assert "The amended specification is proposed" in consoles.coordinator.text()
    assert consoles.made.status(released).state == STATE.PROJECT_STATE_DRAFT
    # A browser reports an answer that is no success, and nothing else.
    assert all("the server responded with a status of 4" in each for each in consoles.coordinator.errors)
    consoles.coordinator.errors.clear()


def test_sixty_projects_are_shown_a_page_at_a_time(consoles: Consoles, released: str, held: str) -> None:
    person = consoles.coordinator
    for number in range(MANY - 2):
        consoles.made.create(BLOCKS.replace(released, f"cohort-{number:03}"), approve=False)
    person.go("/")
    assert f"1 to 25 of {MANY}" in person.text()
    person.picture("console-projects")
    person.follow("Next")
    assert f"26 to 50 of {MANY}" in person.text()
    person.page.fill("#q", "cohort-05")
    person.press("Show")
    assert f"1 to 8 of 8 that match, of {MANY}" in person.text()
    person.follow("cohort-057")
    assert "Alice: approve or decline the specification" in person.text()
    assert person.errors == []


def test_every_page_is_accessible_at_every_width_in_light_and_dark(
    consoles: Consoles, released: str, held: str
) -> None:
    """With all that the tests before have made."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    draft = "/projects/cohort-000"
    shown = [
        (consoles.coordinator, path)
        for path in (
            "/",
            "/new",
            "/certificates",
            f"/projects/{released}",
            draft,
            f"{draft}/approve",
            f"{draft}/amend",
            f"/projects/{held}/risk",
            f"/projects/{held}/results",
            "/projects/none-such",
        )
    ]
    shown += [(consoles.steward, path) for path in ("/", f"/projects/{held}", "/audit", "/certificates")]
    found = []
    for person, path in shown:
        person.go(path)
        found += _looked_at(person.page, axe.axe_script)
    consoles.coordinator.go(f"/projects/{held}")
    consoles.coordinator.picture("console-phone", width=390, height=780)
    assert found == []
    assert [each for each in consoles.coordinator.errors if "status of 404" not in each] == []
    assert consoles.steward.errors == []


def test_so_is_every_page_of_a_custodian(consoles: Consoles, released: str, held: str) -> None:
    """Last; but for those of `test_what_carole_could_learn_is_shown_to_all`."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    draft, person = "/projects/cohort-000", consoles.alice
    # Until the service has read its source for all of them, pages are loaded again by themselves.
    person.go("/")
    person.wait_for_text(f"{MANY - 1} projects wait for you")
    person.picture("console-custodian")
    shown = ["/", "/checkpoints", "/certificates", draft, f"/projects/{released}", f"/projects/{held}/results"]
    shown += [f"{draft}/{path}" for path in ("approve", "decline", "profile", "leakage", "fetch-alone")]
    found = []
    for path in shown:
        person.go(path)
        found += _looked_at(person.page, axe.axe_script)
    assert found == []
    assert person.errors == []
    assert consoles.bob.errors == []
