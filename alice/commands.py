"""``gemel alice``: the commands of Alice's operator."""

from gemel.alice import PARTY
from gemel.custodian.commands import build

app = build(PARTY)
