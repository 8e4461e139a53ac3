"""The reporter of stages: each once, and on a terminal alone."""

from __future__ import annotations

import sys

import pytest

from gemel.common.progress import stages_on_terminal


@pytest.mark.parametrize(("terminal", "shown"), [(True, "... bounds\n... posteriors\n"), (False, "")])
def test_each_stage_is_shown_once_on_a_terminal(
    terminal: bool, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    report = stages_on_terminal()
    for stage, fraction in [("bounds", 0.0), ("bounds", 0.5), ("posteriors", 0.0)]:
        report(stage, fraction)
    assert capsys.readouterr().err == shown
