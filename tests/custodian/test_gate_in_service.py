"""The gate in a running service: it waits above the limit, and an override reaches Carole with the upload."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
import pytest

from gemel.common.errors import GemelError
from gemel.common.keys.noise import AssessmentKeys
from gemel.common.parties import Side
from gemel.common.specification import Specification
from gemel.custodian.leakage_report import Finding, LeakageReport
from gemel.custodian.operator.control import Control
from gemel.custodian.service import CustodianService
from tests.custodian.conftest import SPECIFICATION
from tests.custodian.test_flow import CONTRIBUTED, eventually, running, shown

REFUSING = SPECIFICATION + "leakage: {limit: 0.05, above: refuse}\n"


def leaky(
    columns: Mapping[str, pl.Series], spec: Specification, variables: Mapping[str, pl.Series], keys: AssessmentKeys
) -> LeakageReport:
    return LeakageReport(spec.mode, 120, spec.leakage.limit, True, (Finding("surname", "", "counts", 0.5, 0.0),))


def test_nothing_is_uploaded_before_the_override(make_world) -> None:
    world = make_world(text=REFUSING)
    service = CustodianService(world.alice.party, world.alice.configuration, leaky)
    service.start()
    try:
        with running(world.bob):
            eventually(lambda: "than the limit" in shown(world.alice).blocking_error)
            assert "field surname" in shown(world.alice).blocking_error
            assert ("BeginUpload", Side.ALICE) not in world.carole.calls
            with Control.open(world.alice.config, world.alice.party) as control:
                with pytest.raises(GemelError, match="needs a reason"):
                    control.override("people", " ")
                control.override("people", "a public register")
            world.carole.wait_for(lambda: world.carole.state == CONTRIBUTED)
    finally:
        service.close()
    assert ("BeginUpload", Side.ALICE) in world.carole.calls
