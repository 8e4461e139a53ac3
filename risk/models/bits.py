"""Sets of variables as the bits of a 64-bit integer, for compiled code and for Python alike.

A set of variables is a non-negative integer whose bit v is set where variable v is a member. Python's integers
have no limit; the compiled search holds a set in a signed 64-bit word and so takes at most `MAX_VARIABLES`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from numba import types
from numba.extending import intrinsic

MAX_VARIABLES = 62


@intrinsic
def _popcount(_context: Any, _word: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


@intrinsic
def _lowest(_context: Any, _word: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        undefined_at_zero = context.get_constant(types.boolean, True)
        return builder.cttz(arguments[0], undefined_at_zero)

    return types.int64(types.int64), generate


# Intrinsics are declared with the compiler's context and called without it.
popcount: Any = _popcount
"""Number of members of a set (compiled)."""
lowest: Any = _lowest
"""The smallest member of a set that is not empty (compiled)."""


def members(mask: int) -> Iterator[int]:
    """The members of a set, smallest first."""
    while mask:
        lowest_bit = mask & -mask
        yield lowest_bit.bit_length() - 1
        mask ^= lowest_bit


def mask_of(variables: Iterable[int]) -> int:
    """The set of the given variables."""
    mask = 0
    for v in variables:
        mask |= 1 << v
    return mask
