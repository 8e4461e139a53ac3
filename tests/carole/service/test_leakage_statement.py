"""A custodian's leakage measurement reaches the audit log; an invalid one does not."""

from __future__ import annotations

import pytest

from gemel.carole.service.wire import leakage_details
from gemel.common.errors import GemelError
from gemel.protos.linkage.v1 import contribution_pb2

Statement = contribution_pb2.LeakageStatement


def begin(statement):
    return contribution_pb2.BeginUploadRequest(upload="0" * 32, leakage=statement)


def test_an_override_is_recorded_with_its_reason():
    assert leakage_details(begin(None)) == {}
    assert leakage_details(begin(Statement(worst=0.01, limit=0.05))) == {"leakage": 0.01, "leakage_limit": 0.05}
    stated = Statement(worst=0.6, limit=0.05, overridden=True, reason=" public register ")
    assert leakage_details(begin(stated))["leakage_override"] == "public register"


@pytest.mark.parametrize(
    "stated",
    [
        Statement(worst=1.5, limit=0.05),
        Statement(worst=float("nan"), limit=0.05),
        Statement(worst=0.5, limit=-1),
        Statement(worst=0.5, limit=0.05, overridden=True, reason="  "),
        Statement(worst=0.5, limit=0.05, overridden=True, reason="x" * 1001),
    ],
)
def test_invalid_statements(stated):
    with pytest.raises(GemelError):
        leakage_details(begin(stated))
