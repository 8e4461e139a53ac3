"""What all tests share: where the reference data lies, when it is there."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"
"""Reference data and oracles beside the checkout; tests that read it skip when it is absent."""


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the checkout."""
    if not (SHARED / "data").is_dir():
        pytest.skip("the folder of reference data is not beside this checkout")
    return SHARED
