"""``tryst alice``: the commands of Alice's operator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tryst.alice import PARTY
from tryst.common.custodian.commands import build

if TYPE_CHECKING:
    import polars as pl

    from tryst.common.leakage_report import LeakageReport
    from tryst.common.specification import Specification


def _gate(columns: Mapping[str, pl.Series], spec: Specification, variables: Mapping[str, pl.Series]) -> LeakageReport:
    from tryst.risk.leakage.leakage_assessment import assess  # compiled code, which help does not load

    return assess(columns, spec, variables)


app = build(PARTY, _gate)
