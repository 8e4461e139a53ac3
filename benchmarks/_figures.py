"""Figures that several benchmarks print in the same way, and their place in a page."""

from __future__ import annotations

import resource
import statistics
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest


def exact(successes: int, number: int) -> tuple[float, float]:
    """The exact 95 % interval of a share (Clopper and Pearson); of none, anything."""
    if not number:
        return 0.0, 1.0
    ends = binomtest(successes, number).proportion_ci()
    return float(ends.low), float(ends.high)


def share(successes: int, number: int, digits: str = ".2f") -> str:
    """How many of how many, with the exact 95 % interval of that share."""
    low, high = exact(successes, number)
    return f"{successes} of {number} ({low:{digits}} to {high:{digits}})"


def held(inside: NDArray[np.bool_]) -> str:
    """How often an interval holds the truth."""
    return share(int(inside.sum()), len(inside))


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Of each round."""
    return [one / other for one, other in zip(ours, theirs, strict=True)]


def print_spread(name: str, values: Sequence[float], form: str, width: int) -> None:
    """A row of median, minimum and maximum."""
    print(name, *(f"{format(of(values), form):>{width}}" for of in (statistics.median, min, max)))


def peak_bytes() -> int:
    """The most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def write_between(page: Path, name: str, text: str) -> None:
    """Put `text` in a page between the marks of the benchmark of that name."""
    begin, end = f"<!-- benchmark {name}: begin -->", f"<!-- benchmark {name}: end -->"
    head, rest = page.read_text(encoding="utf-8").split(begin)
    page.write_text(f"{head}{begin}\n{text}\n{end}{rest.split(end)[1]}", encoding="utf-8")
