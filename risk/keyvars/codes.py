"""Codes of categorisations: ``C3.001`` is the first seen with three categories, ``H3.001`` a harmonisation with three.

``C0.001`` is arbitrary precision: whatever the respondent writes in. Its 0 counts the categories that are specified.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gemel.risk.keyvars.partitions import Precision

ARBITRARY = "C0.001"
CODE = re.compile(r"([CH])([1-9]\d*|0)\.(\d{3,})")


def code(message: str, categories: int, number: int) -> str:
    """A code.

    Examples
    --------
    >>> code("H", 3, 1)
    'H3.001'
    """
    return f"{message}{categories}.{number:03d}"


def size_of(text: str) -> int | None:
    """The number of categories that a code states, None if it is no code."""
    found = CODE.fullmatch(text)
    return int(found[2]) if found else None


def next_code(message: str, categories: int, taken: Iterable[str]) -> str:
    """The code after those of the same letter and size."""
    numbers = [
        int(found[3])
        for each in taken
        if (found := CODE.fullmatch(each)) and found[1] == message and int(found[2]) == categories
    ]
    return code(message, categories, max(numbers, default=0) + 1)


def harmonisation_codes(nodes: Iterable[Precision], observed: dict[int, str]) -> list[str]:
    """The code of every node of a harmonisation graph; `observed` has those of the categorisations seen."""
    found: list[str] = []
    numbers: dict[int, int] = {}
    for node, partition in enumerate(nodes):
        if node in observed:
            found.append(observed[node])
            continue
        categories = 0 if partition is None else max(partition) + 1
        numbers[categories] = numbers.get(categories, 0) + 1
        found.append(code("H", categories, numbers[categories]))
    return found
