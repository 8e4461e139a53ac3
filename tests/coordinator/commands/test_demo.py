"""What the demonstration states of its draft: whether the custodians' gate measured it, and would refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.specification import load_specification
from gemel.coordinator.commands import demo
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
