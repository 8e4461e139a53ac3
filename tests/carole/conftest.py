"""Parties with throw-away keys, and a Carole for each test that needs one."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gemel.common.parties import Side
from gemel.common.pki.certificates import Validity
from gemel.coordinator.provisioning import provision
from tests.carole.deployment import RECORDS, Deployment, make_upload, people


@pytest.fixture(scope="session")
def parties(tmp_path_factory):
    return provision(
        tmp_path_factory.mktemp("deployment") / "parties",
        linker_names=["127.0.0.1"],
        validity=Validity.lasting(timedelta(hours=6)),
    )


@pytest.fixture
def deployment(parties, tmp_path):
    """Carole with an empty store, serving, without a worker."""
    made = Deployment(parties, tmp_path / "carole")
    made.start()
    yield made
    made.stop()


@pytest.fixture
def carole(deployment):
    return deployment


@pytest.fixture(scope="session")
def uploads():
    """Contributions of 9,000 people each, some chunks long, that have 4,500 in common."""
    return {
        Side.ALICE: make_upload(Side.ALICE, people(RECORDS), "a" * 32)[0],
        Side.BOB: make_upload(Side.BOB, people(RECORDS, offset=RECORDS // 2), "b" * 32)[0],
    }
