"""Set partitions of the leaves 0 to k - 1: what a categorisation is once names are put aside."""

from __future__ import annotations

import re
from collections.abc import Iterable

# A partition is written as one number per leaf, the block it is in; blocks are numbered in the order of their first
# leaves, so that equal partitions are equal tuples. `None` stands for arbitrary precision, which is finer than every
# partition and which harmonises with each to that partition.

Partition = tuple[int, ...]
Precision = Partition | None
"""A partition, or None for arbitrary precision."""


def canonical(labels: Iterable[int]) -> Partition:
    """The partition that puts leaves with equal labels together."""
    seen: dict[int, int] = {}
    return tuple(seen.setdefault(label, len(seen)) for label in labels)


def partition_of(blocks: Iterable[Iterable[int]], leaves: int) -> Partition:
    """The finest partition in which each block lies within one of its blocks.

    Blocks that share a leaf are joined, leaves of no block stay alone: what a categorisation that is none comes to.

    Examples
    --------
    >>> partition_of([[0, 2], [1]], 4)
    (0, 1, 0, 2)
    """
    parent = list(range(leaves))
    for block in blocks:
        first, *others = list(block)
        for leaf in others:
            _unite(parent, first, leaf)
    return canonical(_root(parent, leaf) for leaf in range(leaves))


def size(partition: Precision) -> float:
    """Number of categories; infinite for arbitrary precision."""
    if partition is None:
        return float("inf")
    return max(partition, default=-1) + 1


def blocks(partition: Partition) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(int(size(partition)))]
    for leaf, label in enumerate(partition):
        found[label].append(leaf)
    return found


def join(a: Precision, b: Precision) -> Precision:
    """The harmonisation of two partitions: the finest of which both are refinements.

    Its blocks are the connected components of the union of their categorisation graphs. O(k) for k leaves, but for the
    slow growth of union-find.

    Examples
    --------
    >>> join((0, 0, 1, 2), (0, 1, 1, 2))
    (0, 0, 0, 1)
    """
    if a is None or b is None:
        return b if a is None else a
    parent = list(range(len(b)))
    first = [-1] * len(a)
    for mine, theirs in zip(a, b, strict=True):
        if first[mine] < 0:
            first[mine] = theirs
        elif first[mine] != theirs:
            _unite(parent, first[mine], theirs)
    # A root is the least of its blocks, which are numbered by their first leaves: in this order numbers are canonical.
    number: list[int] = []
    roots = 0
    for block, above in enumerate(parent):
        if above == block:
            number.append(roots)
            roots += 1
        else:
            number.append(number[above])
    return tuple([number[theirs] for theirs in b])


def _root(parent: list[int], node: int) -> int:
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


def _unite(parent: list[int], a: int, b: int) -> None:
    a, b = _root(parent, a), _root(parent, b)
    if a != b:
        parent[max(a, b)] = min(a, b)


# Codes of categorisations: `C3.001` is the first seen with three categories, `H3.001` a harmonisation with three.
#
# `C0.001` is arbitrary precision: whatever the respondent writes in. Its 0 counts the categories that are specified.

ARBITRARY = "C0.001"
CODE = re.compile(r"([CH])([1-9]\d*|0)\.(\d{3,})")


def code(letter: str, categories: int, number: int) -> str:
    return f"{letter}{categories}.{number:03d}"


def size_of(text: str) -> int | None:
    """The number of categories that a code states, None if it is no code."""
    found = CODE.fullmatch(text)
    return int(found[2]) if found else None


def next_code(letter: str, categories: int, taken: Iterable[str]) -> str:
    """The code after those of the same letter and size."""
    codes = [found.groups() for each in taken if (found := CODE.fullmatch(each))]
    numbers = [int(number) for own, size, number in codes if own == letter and int(size) == categories]
    return code(letter, categories, max(numbers, default=0) + 1)


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
