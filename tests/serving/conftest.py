"""The parties whose services and callers these tests run, and the log that they read."""

from __future__ import annotations

import pytest
import structlog

from tests.common.rpc.conftest import parties

__all__ = ["parties"]


@pytest.fixture(autouse=True)
def plain_log() -> None:
    """Lines on standard output: a service's command that ran in this process would leave its own log behind."""
    structlog.reset_defaults()
