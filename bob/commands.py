"""``gemel bob``: the commands of Bob's operator."""

from gemel.bob import PARTY
from gemel.custodian.commands import build

app = build(PARTY)
