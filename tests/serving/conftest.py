"""The parties whose services and callers these tests run."""

from __future__ import annotations

from tests.common.rpc.conftest import parties

__all__ = ["parties"]
