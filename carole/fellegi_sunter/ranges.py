"""Work on consecutive parts of an array, on several threads: the same parts, and so the same result, on any number."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

RANGE = 1 << 18
"""Elements of a part."""

Result = TypeVar("Result")


def ranges(first: NDArray[np.integer]) -> list[slice]:
    """Parts of a sequence of which each has about `RANGE` of what its elements have; one at least.

    Parameters
    ----------
    first : ndarray of int, shape (n + 1,)
        Ascending from 0: where what each element has begins, and the end.
    """
    cuts = np.searchsorted(first[:-1], np.arange(0, max(int(first[-1]), 1), RANGE))
    found = [slice(begin, end) for begin, end in pairwise(np.unique([0, *cuts, len(first) - 1]).tolist())]
    return found or [slice(0, 0)]


def equal_ranges(n: int) -> list[slice]:
    """Parts of a sequence of `n` elements; one at least."""
    return [slice(begin, min(begin + RANGE, n)) for begin in range(0, max(n, 1), RANGE)]


def in_ranges(parts: list[slice], threads: int, work: Callable[[slice], Result]) -> list[Result]:
    """What work on each of some parts gives, in their order."""
    if threads == 1 or len(parts) < 2:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(threads, thread_name_prefix="ranges") as pool:
        return list(pool.map(work, parts))
