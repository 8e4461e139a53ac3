"""`gemel demo`, and the language of reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role
from gemel.common.specification import load_specification
from gemel.coordinator.client.client_configuration import report_language, template
from gemel.coordinator.client.coordinator_client import Report
from gemel.coordinator.client.risk_reports import show_report
from gemel.coordinator.commands import demo, steward
from gemel.coordinator.draft import specification_draft
from gemel.coordinator.rehearsal import output_folder


def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> tuple[str, str]:
    """What it prints before the linkage, and the specification."""
    monkeypatch.setattr(output_folder, "rehearse_into", lambda *_, **__: None)
    app = typer.Typer()
    app.command()(demo.command)
    ran = CliRunner().invoke(app, ["--out", str(tmp_path), "--people", "300", *options])
    assert ran.exit_code == 0, ran.output
    return " ".join(ran.output.split()), (tmp_path / "linkage.yaml").read_text()


def test_of_few_people_it_states_that_the_draft_was_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed, text = shown(tmp_path, monkeypatch)
    assert "was not measured, as `gemel spec draft` would: each custodian measures it" in printed
    assert "Measured on files of" not in text


def test_of_many_the_draft_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "UNMEASURED", 200)
    printed, text = shown(tmp_path, monkeypatch)
    assert "was measured, and is within the custodians' limits" in printed
    assert "Measured on files of 300 records" in text


def test_a_draft_that_would_be_refused_is_named_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = specification_draft.draft

    def refused(*given: object, **options: object) -> specification_draft.Drafted:
        return draft(*given, **options)._replace(accepted=False)  # type: ignore[arg-type]

    monkeypatch.setattr(specification_draft, "draft", refused)
    monkeypatch.setattr(demo, "UNMEASURED", 200)
    assert "the custodians will refuse, as its comments explain" in shown(tmp_path, monkeypatch)[0]


def test_with_variables_nothing_is_drafted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "UNMEASURED", 200)
    printed, _ = shown(tmp_path, monkeypatch, "--variables")
    assert "measured" not in printed
    assert "little to compare" in printed


def test_in_mode_shared_it_names_who_computes_and_what_the_policy_cannot_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed, text = shown(tmp_path, monkeypatch, "--mode", "shared")
    assert "shared mode" in printed
    assert "ANY TWO OF THE THREE TOGETHER" in printed
    assert load_specification(text).mode == "shared"
    assert "compute: {coordinator: coordinator, steward: steward}" in text
    assert "near_copies: 1" in text


@pytest.mark.parametrize("options", [("--mode", "trusted"), ("--mode", "shared", "--variables")])
def test_other_modes_are_refused(options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_folder, "rehearse_into", lambda *_, **__: None)
    app = typer.Typer()
    app.command()(demo.command)
    ran = CliRunner().invoke(app, ["--out", str(tmp_path), "--people", "300", *options])
    assert isinstance(ran.exception, GemelError)
    assert ran.exception.code is ErrorCode.PARAMETER
    assert not (tmp_path / "linkage.yaml").exists()


def configured(tmp_path: Path, text: str, language: str = "") -> Path:
    path = tmp_path / "party.yaml"
    path.write_text(text + (f"language: {language}\n" if language else ""), encoding="utf-8")
    return path


@pytest.mark.parametrize("text", [template("localhost:7443", role=role) for role in (Role.COORDINATOR, Role.STEWARD)])
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
    show_report(Report(b'{"a": 1}'), tmp_path, "de")
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
