"""``tryst alice``: the commands of Alice's operator."""

from alice import PARTY
from common.custodian.commands import build

app = build(PARTY)
