"""``tryst bob``: the commands of Bob's operator."""

from bob import PARTY
from common.custodian.commands import build

app = build(PARTY)
