"""The places of the pairs that Carole names to the other two parties, as a message."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError


def packed_places(places: NDArray[np.int64]) -> bytes:
    """Places as a message."""
    return places.astype("<i8").tobytes()


def unpacked_places(content: bytes) -> NDArray[np.int64]:
    """The places of a message; DEVIATION if it has no whole number of them."""
    if len(content) % 8:
        raise _deviation(f"{len(content)} bytes")
    return np.frombuffer(content, dtype="<i8").astype(np.int64)


def check_places(places: NDArray[np.int64], n_pairs: int) -> NDArray[np.int64]:
    """Accept only places of pairs, each once and in ascending order.

    Raises
    ------
    GemelError
        DEVIATION: a place that is named twice, or in an order of Carole's choice, would tell the resolver or a
        custodian more than that a pair is above the floor.
    """
    if len(places) and (int(places[0]) < 0 or int(places[-1]) >= n_pairs or (np.diff(places) <= 0).any()):
        raise _deviation(f"{len(places):,} numbers that are not ascending places of {n_pairs:,} pairs")
    return places


def _deviation(got: str) -> GemelError:
    return GemelError(
        ErrorCode.DEVIATION,
        "the pairs that Carole names must be places of the permuted pairs, ascending",
        where="name, between Carole and this party",
        got=got,
        remedy="request another run; if it happens again, Carole's installation is not the one that all have agreed on",
    )
