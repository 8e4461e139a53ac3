"""Progress of a run that a test does not follow."""

from __future__ import annotations

from typing import Any


def quiet(*reported: Any) -> None:
    """The last that is reported is a fraction, whatever is done."""
    assert 0 <= reported[-1] <= 1
