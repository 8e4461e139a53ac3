"""The specification's limit on what the linkage unit could learn from the signatures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, takewhile
from typing import Literal

from pydantic import Field

from gemel.common.specification.model.defaults import IN_BLOCKS, Mode
from gemel.common.specification.model.section import Section


class LeakageSpec(Section):
    """How much the linkage unit may be able to learn, as each custodian measures it on its own records.

    Each kind of attacker has a limit of its own: who has public counts of values only; who has some of these people in
    clear; who has them all.
    """

    limit: float = Field(default=0.05, ge=0, le=1, allow_inf_nan=False)
    """Share of a field's records whose value known attacks may recover, above the share recovered by guessing the
    commonest value."""
    partial_register: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    """In mode block_keyed: share of the people whom an attacker has in a register in clear, with 10 or 40 % of the
    file's people, whose rows she may recognise; the custodian's own file plays the register. Default: no limit; it is
    measured and shown."""
    full_register: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    """The same where the register has all of the file's people."""
    above: Literal["warn", "refuse"] | None = None
    """Above the limit: warn, or refuse to contribute until the custodian's operator overrides with a reason. Default:
    refuse in modes block_keyed and shared, which promise little leakage; warn in the others, which leak by design."""

    def refuses(self, mode: Mode) -> bool:
        return (self.above or ("refuse" if mode in IN_BLOCKS else "warn")) == "refuse"


SEPARATION = 1.0
"""Standard errors between two bounds, at least."""

DISTINGUISHABLE_ERRORS = 2 * 1.96
"""Standard errors between equal values and values with nothing in common, at least: some bound lies so far from both
that either estimate crosses it once in forty times."""

REACHED = 0.975
"""Probability with which two equal values reach the top level, at least."""

_GRAIN = 1000
"""Bounds that are found rather than given are multiples of 1/1000, rounded down."""


def contrast(randomised_response: float) -> Fraction:
    """Factor by which noise on both sides shrinks a similarity: (1 - 2r)^2, r as the decimal number it prints as."""
    return (1 - 2 * Fraction(str(randomised_response))) ** 2


def standard_error(similarity: float, bits: int, randomised_response: float = 0.0) -> float:
    """Standard error of a similarity estimated from `bits` bits with randomised response."""
    c = float(contrast(randomised_response))
    return math.sqrt(1 - (c * similarity) ** 2) / (c * math.sqrt(bits))


def separation(low: float, high: float, bits: int, randomised_response: float = 0.0) -> float:
    """Standard errors that two similarities lie apart."""
    c = float(contrast(randomised_response))
    return math.sqrt(bits) * (math.asin(c * high) - math.asin(c * low))


def is_distinguishable(bits: int, randomised_response: float) -> bool:
    """Whether equal values can be distinguished from values with nothing in common: the minimum for a field."""
    return separation(0.0, 1.0, bits, randomised_response) >= DISTINGUISHABLE_ERRORS


def min_bits(randomised_response: float) -> int:
    """The smallest signature length that is distinguishable, a multiple of 64; more than are possible if none is."""
    words = math.ceil((DISTINGUISHABLE_ERRORS / math.asin(float(contrast(randomised_response)))) ** 2 / 64)
    return 64 * max(1, words)


@lru_cache(maxsize=1024)
def reached_by_equals(bits: int, randomised_response: float) -> float:
    """Greatest similarity, in thousandths, that the estimate for two equal values exceeds with probability `REACHED`.
    Exact: their disagreeing bits are binomial with probability 2r(1 - r). O(bits)."""
    c = contrast(randomised_response)
    p = float((1 - c) / 2)
    reached = takewhile(lambda total: total < REACHED, accumulate(_binomial(bits, p)))
    allowed = sum(1 for _ in reached)
    outside_blocks = (1 - Fraction(2 * allowed, bits)) / c
    return (math.ceil(outside_blocks * _GRAIN) - 1) / _GRAIN


def halfway(randomised_response: float) -> float:
    """The similarity, in thousandths, that lies as many standard errors below 1 as above 0."""
    c = float(contrast(randomised_response))
    return round(math.sin(math.asin(c) / 2) / c, 3)


def confused(bits: int, randomised_response: float) -> float:
    """Approximate probability that equal values are estimated below `halfway`, or unrelated ones above it."""
    return math.erfc(separation(0.0, 1.0, bits, randomised_response) / 2 / math.sqrt(2)) / 2


def tolerant_bounds(bounds: Sequence[float], bits: int, randomised_response: float = 0.0) -> tuple[float, ...]:
    """The bounds, inclusive upper ones of at least two levels, ascending to 1, that signatures of so many bits
    distinguish.

    The last is 1. The one before, where the top level begins, stays unless there is randomised response; of bounds too
    close together the higher one stays. They are unchanged where nothing can be distinguished at all.

    Examples
    --------
    >>> tolerant_bounds((0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.999, 1.0), 1024)
    (0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.999, 1.0)
    >>> tolerant_bounds((0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.999, 1.0), 1024, 0.25)
    (0.2, 0.4, 0.6, 0.765, 1.0)
    """
    if not is_distinguishable(bits, randomised_response):
        return tuple(bounds)
    top = bounds[-2]
    if randomised_response:
        top = min(top, reached_by_equals(bits, randomised_response))
    kept = [top]
    for bound in reversed(bounds[:-2]):
        apart = bound < kept[0] and separation(bound, kept[0], bits, randomised_response) >= SEPARATION
        if apart and separation(0.0, bound, bits, randomised_response) >= SEPARATION:
            kept.insert(0, bound)
    return (*kept, 1.0)


def _binomial(n: int, p: float) -> Iterator[float]:
    if p == 0:
        yield 1.0
        return
    of_n = math.lgamma(n + 1)
    for k in range(n + 1):
        ways = of_n - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        yield math.exp(ways + k * math.log(p) + (n - k) * math.log1p(-p))
