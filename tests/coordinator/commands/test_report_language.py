"""The language of a report: what is given, else the configuration's, else English; never the environment's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gemel.common.errors import GemelError
from gemel.coordinator.client.client_configuration import report_language, steward_template, template
from gemel.coordinator.client.risk_reports import Report, show_report
from gemel.coordinator.commands import demo, steward


def configured(tmp_path: Path, text: str, language: str = "") -> Path:
    path = tmp_path / "party.yaml"
    path.write_text(text + (f"language: {language}\n" if language else ""), encoding="utf-8")
    return path


@pytest.mark.parametrize("text", [template("localhost:7443"), steward_template("localhost:7443")])
def test_what_is_given_precedes_the_configuration(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "fr_FR.UTF-8")
    assert report_language(configured(tmp_path, text), None) == "en"
    assert report_language(configured(tmp_path, text, "de"), None) == "de"
    assert report_language(configured(tmp_path, text, "de"), "fr") == "fr"
    with pytest.raises(GemelError, match="language"):
        report_language(configured(tmp_path, text, "nl"), None)


def test_an_unknown_language_is_refused_with_those_that_there_are() -> None:
    refused = CliRunner().invoke(steward.app, ["report", "x", "--language", "nl"])
    assert refused.exit_code == 2
    assert "'en', 'de', 'fr'" in " ".join(refused.output.replace("│", " ").split())


def test_the_document_stays_as_it_was_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written: dict[str, Any] = {}
    monkeypatch.setattr(
        "gemel.coordinator.client.risk_reports.write_risk_report",
        lambda path, document, **given: written.update(given, path=path, document=document),
    )
    monkeypatch.setattr("gemel.coordinator.client.risk_reports.verdict_lines", lambda _: ["The policy is met"])
    monkeypatch.setattr(Report, "document", property(lambda self: json.loads(self.text)))
    show_report(Report(b'{"a": 1}', bytes(32)), tmp_path, "de")
    assert (tmp_path / "assessment.json").read_bytes() == b'{"a": 1}'
    assert written["language"] == "de"
    assert "The policy is met" in capsys.readouterr().out


def test_a_demonstration_passes_its_language_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(
        "gemel.coordinator.rehearsal.output_folder.rehearse_into", lambda *_, **options: given.update(options)
    )
    demo.command(out=tmp_path / "demo", people=40, corrupted=0.2, seed=1, variables=True, language="fr")
    assert given["language"] == "fr"
