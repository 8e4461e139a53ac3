"""``tryst alice``: the commands of Alice's operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tryst.alice import PARTY
from tryst.common.custodian.commands import build

if TYPE_CHECKING:
    from tryst.common.leakage_report import Gate


def load_gate() -> Gate:
    """What measures what Carole could learn. Imported here: compiled code, which help does not load."""
    from tryst.risk.leakage.leakage_assessment import assess

    return assess


app = build(PARTY, load_gate)
