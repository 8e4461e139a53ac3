"""``gemel alice``: the commands of Alice's operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gemel.alice import PARTY
from gemel.common.custodian.commands import build

if TYPE_CHECKING:
    from gemel.common.leakage_report import Gate


def load_gate() -> Gate:
    """What measures what Carole could learn. Imported here: compiled code, which help does not load."""
    from gemel.risk.leakage.leakage_assessment import assess

    return assess


app = build(PARTY, load_gate)
