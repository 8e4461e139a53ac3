"""What a rehearsal prints as it runs."""

from __future__ import annotations

import pytest

from gemel.common.documents.result_warning import result_warning
from gemel.coordinator.rehearsal.narration import Narrator


def test_warnings_that_matter_are_printed_with_their_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    """On the console, not in the report alone; notes stay there."""
    Narrator(explain=False).warn(
        [
            result_warning("equal_records", records=70, side="Bob", assignment="one_to_one", other="one_to_many"),
            result_warning("levels_not_observed", levels="sex 1"),
        ]
    )
    printed = " ".join(capsys.readouterr().out.split())
    assert "70 of Bob's records equal another" in printed
    assert "one_to_many links all" in printed
    assert "Set links.assignment" in printed
    assert "sex 1" not in printed
