"""The report on disclosure risk: holds what the document holds, verdict first, and a browser shows it offline."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemel.carole.assessment.combined_assessment import AssessmentContext, assess
from gemel.common.documents.disclosure_measures import MEASURES
from gemel.common.documents.result_warning import result_warning
from gemel.common.errors import GemelError
from gemel.coordinator.client.risk_reports import verdict_lines
from gemel.coordinator.reports.disclosure import render_risk_report, write_risk_report
from gemel.coordinator.reports.disclosure.content import options
from gemel.coordinator.reports.disclosure.wording import figure
from tests.coordinator.reports.disclosure.browser import installed, visit
from tests.coordinator.reports.disclosure.documents import NOT_COARSENED, coarsened, page_of, population, text_of
from tests.e2e.console_browser import browser

CHARTS = ("measures", "linking", "sizes", "chances", "variables", "options")


@pytest.fixture(scope="module")
def within(breach: dict[str, Any]) -> dict[str, Any]:
    """The same with limits that hold."""
    document = deepcopy(breach)
    document["verdict"], document["breaches"] = "within", []
    for measure in document["measures"].values():
        measure["limit"] = None if measure["limit"] is None else 1.0
        measure["breached"] = False
    return document


@pytest.fixture(scope="module")
def empty(breach: dict[str, Any]) -> dict[str, Any]:
    """A document of a run without links, as `carole.assessment` makes it."""
    made, none = population(300, (0.3, 0.3)), np.zeros(0, dtype=np.int64)
    old = made.combined
    combined = type(old)(old.variables, old.alice, old.bob, none, none, np.zeros(0), none, none, np.zeros(0))
    return assess(combined, made.spec, AssessmentContext("r" * 32)).document


def test_the_verdict_comes_first(breach: dict[str, Any], within: dict[str, Any]) -> None:
    broken, held = text_of(page_of(breach)), text_of(page_of(within))
    assert "The policy is breached Two of the six limits on which the parties agreed are exceeded." in broken
    assert "The result waits for a steward" in broken
    assert broken.index("The policy is breached") < broken.index("Each risk in plain words")
    assert "The policy is met All six limits on which the parties agreed held." in held
    assert "above its limit" not in held.replace("above its limit within its limit", "")
    refused = text_of(page_of({**breach, "on_breach": "refuse"}))
    assert "The result is refused: no one receives anything." in refused


def test_what_no_limit_judges_is_named_beside_the_verdict(within: dict[str, Any]) -> None:
    text = text_of(render_risk_report(within, sha256=bytes(32)))
    free = {name: found["value"] for name, found in within["measures"].items() if found["limit"] is None}
    largest = max(free, key=lambda name: free[name] or 0.0)
    assert free[largest] >= 0.05
    verdict = text[: text.index("Each risk in plain words")]
    assert f"The largest: {MEASURES[largest].title}: {figure(free[largest])}".replace("\u00a0", " ") in verdict
    assert f"Specification {within['specification_digest']} " in text
    assert f"SHA-256 {'0' * 64} " in text
    small = deepcopy(within)
    for name in free:
        small["measures"][name]["value"] = 0.04
    assert "Not judged" not in text_of(page_of(small))


def test_what_was_coarsened_is_shown_with_what_was_before(breach: dict[str, Any], within: dict[str, Any]) -> None:
    text = text_of(page_of({**breach, "protection": NOT_COARSENED}))
    assert "The specification allows coarsenings, but every allowed coarsening leaves a limit breached." in text
    assert "Of 5 coarsenings that the specification allows 5 were assessed; that is all of them." in text
    assert "age as bands and region dropped 1.25 People found by their key variables" in text
    assert "Not coarsened, as the specification allows: every" in " ".join(
        verdict_lines({**breach, "protection": NOT_COARSENED})
    )
    measures = {name: measure["judged"] for name, measure in breach["measures"].items()}
    text = text_of(page_of({**within, "protection": coarsened(measures)}))
    assert "The policy is met by a coarser result" in text
    assert "2 were assessed; none that was not assessed costs less." in text
    assert "age bands 7 to 3 75 %" in text
    before = figure(measures["correct_matches"]).replace("\u00a0", " ")
    assert f"People found by their key variables {before} {before} 100 %" in text
    assert "75 % of it is left" in text
    assert "What was coarsened" not in text_of(page_of(within))


def test_every_measure_is_shown_with_its_number_interval_limit_and_intruder(breach: dict[str, Any]) -> None:
    text = text_of(page_of(breach))
    for name, measure in breach["measures"].items():
        assert MEASURES[name].title in text
        assert measure["words"].replace("'", "&#39;") in text
        assert measure["intruder"].replace("'", "&#39;") in text
        assert figure(measure["value"]).replace("\u00a0", " ") in text
    unique = breach["measures"]["correct_unique_matches"]
    interval = f"{figure(unique['lower'])} to {figure(unique['upper'])}".replace("\u00a0", " ")
    assert f"{interval}, with 95% confidence" in text


def test_what_a_released_joint_distribution_discloses_is_a_table(breach: dict[str, Any]) -> None:
    entry = {"variable": "illness", "lower": 0.25, "upper": 0.35, "by_frequency": 0.0, "posterior": "as released"}
    found = [{**entry, "intruder": who, "inferred": share} for who, share in (("keys", 0.28), ("alice", 0.31))]
    text = text_of(page_of({**breach, "released_joint": found}))
    assert "illness the key variables 28 % 25 % to 35 %" in text
    assert "all that Alice's file has 31 %" in text
    assert "What the released joint distribution discloses" not in text_of(page_of(breach))


def test_ways_that_would_be_enough_come_first_and_are_right(breach: dict[str, Any]) -> None:
    shown = options(breach)
    enough = [row["enough"] for row in shown["rows"]]
    assert enough == sorted(enough, reverse=True)
    for row in shown["rows"]:
        option = next(o for o in breach["options"] if o["action"].lower() == row["action"].lower())
        after = {n: option["effect"].get(n, m["judged"]) for n, m in breach["measures"].items()}
        limits = {n: m["limit"] for n, m in breach["measures"].items() if m["limit"] is not None}
        assert row["enough"] == all(after[n] <= limit for n, limit in limits.items())


def test_a_run_without_links_has_a_report(empty: dict[str, Any]) -> None:
    assert empty["records"] == 0
    assert "There is no linked record" in text_of(page_of(empty))


@pytest.mark.parametrize("change", [{"version": 3}, {"version": None}])
def test_another_version_is_refused(breach: dict[str, Any], change: dict[str, Any]) -> None:
    with pytest.raises(GemelError, match="expected a risk assessment of version 1"):
        render_risk_report({**breach, **change})


def test_a_document_that_lacks_a_part_is_refused(breach: dict[str, Any]) -> None:
    with pytest.raises(GemelError, match=r"(?s)assessment\.options.*required"):
        render_risk_report({name: part for name, part in breach.items() if name != "options"})


def test_text_is_escaped(breach: dict[str, Any]) -> None:
    warning = result_warning("variable_without_values", variable="<b>x</b>").plain()
    page = render_risk_report({**breach, "project": "<script>alert(1)</script>", "warnings": [warning]})
    assert "<script" not in page
    assert "<b>x" not in page


@pytest.mark.skipif(installed() is None, reason="no Chromium on this machine: apt-get install chromium")
def test_a_browser_shows_it_without_network_or_complaint(breach: dict[str, Any], tmp_path: Path) -> None:
    page = tmp_path / "risk.html"
    write_risk_report(page, breach)
    drawn = (
        "[...document.querySelectorAll('.chart svg')].filter(s => s.getBoundingClientRect().height > 60 &&"
        " s.querySelectorAll('path').length > 3).map(s => s.getAttribute('aria-labelledby'))"
    )
    outside_blocks = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    seen = visit(
        page, tmp_path / "profile", drawn, "getComputedStyle(document.querySelector('h1')).fontSize", outside_blocks
    )
    assert seen.requested == [page.as_uri()]
    assert seen.console == []
    assert sorted(seen.values[0]) == sorted(f"risk-{name}-alt" for name in CHARTS)
    assert float(seen.values[1].removesuffix("px")) > 30, "the style sheet is not in force"
    assert seen.values[2] is False, "something is wider than the page"
    assert seen.screenshot.startswith(b"\x89PNG")
    assert seen.pdf.startswith(b"%PDF")


def test_on_a_phone_each_limit_has_its_verdict_in_sight(breach: dict[str, Any], tmp_path: Path) -> None:
    page = tmp_path / "risk.html"
    write_risk_report(page, breach)
    limited = [found for found in breach["measures"].values() if found["limit"] is not None]
    with browser() as opened:
        phone = opened.new_page(viewport={"width": 390, "height": 800})
        phone.goto(page.as_uri())
        table = phone.get_by_role("table", name="The limits, and what was found")
        marks = table.locator(".mark")
        assert marks.count() == len(limited) > 1
        for box in [mark.bounding_box() for mark in marks.all()]:
            assert box is not None
            assert box["x"] + box["width"] <= 390
        # Still a table for who does not see it, and one for who has a wide screen.
        assert table.get_by_role("row").count() == len(limited)
        phone.set_viewport_size({"width": 1024, "height": 800})
        assert table.get_by_role("columnheader").count() == 5
        assert len({mark.bounding_box()["x"] for mark in marks.all()}) == 1  # type: ignore[index]


@pytest.mark.skipif(installed() is None, reason="no Chromium on this machine: apt-get install chromium")
def test_the_browser_would_report_requests_and_console_errors(tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text("<img src='gone.png'><script>console.error('alas'); nothing.at.all</script>")
    seen = visit(page, tmp_path / "profile")
    assert len(seen.requested) == 2
    assert any("alas" in entry for entry in seen.console)
    assert any("ReferenceError" in entry for entry in seen.console)


def test_columns_that_are_passed_on_without_an_assessment_are_named(within: dict[str, Any]) -> None:
    granted = [{"to": "institute", "of": "bob", "assessed": ["illness"], "not_assessed": ["income"]}]
    text = text_of(page_of({**within, "granted": granted}))
    assert "institute Bob illness income" in text
    assert "Columns that are passed on" not in text_of(page_of(within))
    assert "NOT ASSESSED: income of Bob's linked records, which institute receives." in [
        *verdict_lines({**within, "granted": granted})
    ]
