"""How many rows of what kind an encoding has, for tests."""

from __future__ import annotations

import numpy as np

from gemel.common.signatures.layout import CODES
from gemel.custodian.encoding.records import Encoded


def n_signed(made: Encoded) -> int:
    """Rows with signatures, the samples' apart: in `order` they come first."""
    return sum(len(order) for name, order in made.orders.items() if name != CODES)


def n_dummies(made: Encoded) -> int:
    """Number of dummy rows."""
    return int(np.count_nonzero(made.order >= made.records + made.decoys)) if made.records else 0
