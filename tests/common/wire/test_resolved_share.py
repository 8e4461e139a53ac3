"""A resolver's share names pairs of the custodian's own request, and no other."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from gemel.common.errors import ErrorCode
from gemel.common.keys.sealing import SealContext
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.wire.resolved_share import ResolvedShare, open_share, seal_share
from tests.carole.refusals import refusal

KEY = SealingKey.create()
CONTEXT = SealContext("study", "run", "alice")
REQUEST = b"the request for handles"
PAIRS = 5
SHARE = ResolvedShare(
    hashlib.sha256(REQUEST).digest(),
    bytes(range(32)),
    np.array([0, 2, PAIRS - 1], np.uint32),
    np.array([0.0, 0.5, 1.0]),
    np.array([False, False, True]),
    np.array([0, 1], np.uint32),
    np.array([0, 2], np.uint32),
)


def opened(**changes: object) -> ResolvedShare:
    changed = {name: np.array(value, getattr(SHARE, name).dtype) for name, value in changes.items()}
    sealed = seal_share(KEY.public, CONTEXT, replace(SHARE, **changed))
    return open_share(KEY, CONTEXT, sealed, REQUEST, PAIRS)


def test_the_first_and_the_last_pair_of_a_request_may_be_named() -> None:
    assert opened().pair.tolist() == [0, 2, PAIRS - 1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"pair": [0, 2, PAIRS]},  # one past the last
        {"pair": [0, 2, 2]},
        {"pair": [2, 0, 4]},
        {"pair": [0, 2]},
        {"probability": [0.0, 0.5, 1.0000001]},
        {"probability": [-1e-9, 0.5, 1.0]},
        {"probability": [0.0, np.nan, 1.0]},
        {"drawn": [0, 3]},  # one past the last
        {"drawn": [0]},
    ],
    ids=str,
)
def test_a_pair_past_the_last_and_numbers_just_out_of_bounds_are_refused(wrong: dict[str, object]) -> None:
    with refusal(ErrorCode.SEALED):
        opened(**wrong)
