"""The parties whose services and callers these tests run."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gemel.common.pki.certificates import Validity
from gemel.coordinator.provisioning import Provisioned, provision


@pytest.fixture(scope="session")
def parties(tmp_path_factory: pytest.TempPathFactory) -> Provisioned:
    """All five, whose files no test changes."""
    return provision(tmp_path_factory.mktemp("parties"), validity=Validity.lasting(timedelta(hours=1)))
