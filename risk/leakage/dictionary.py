"""The dictionary attack of one who has the seed: what collusion means.

Whoever has the seed signs every public value and looks the signatures up. No encoding by which equal values are
recognised can prevent it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tryst.common.keys.derivation import FieldKeys
from tryst.common.minhash import signatures
from tryst.common.tokens import tokenise
from tryst.risk.leakage.public import PublicValues
from tryst.risk.leakage.recovery import UNKNOWN
from tryst.risk.leakage.view import FieldView


def dictionary_attack(view: FieldView, public: PublicValues, keys: FieldKeys, token_key: bytes) -> NDArray[np.int64]:
    """Public value of each signature whose value is in the dictionary, ``UNKNOWN`` elsewhere; open mode's keys."""
    signed = signatures(tokenise(public.values, public.tokenisation, token_key), keys, view.bits)
    place = {row.tobytes(): index for index, row in reversed(list(enumerate(signed)))}
    return np.array([place.get(row.tobytes(), UNKNOWN) for row in view.signatures], dtype=np.int64)
