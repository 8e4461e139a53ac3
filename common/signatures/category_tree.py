"""The order of a variable's codes where its categories may be joined into groups: a group's codes are neighbours.

The groups of all steps are the nodes of a tree whose leaves are the categories. The children of a node are ordered by
their shape, which the specification makes public, and children of one shape by keyed digests. So whoever knows the
specification knows which codes a group has, without any key; and of the keyed permutations that fit, every one is as
probable as another. Nothing is disclosed but what must be to whoever is to join codes: which codes are one group.
Numbers of categories are public, and with them any group that has no other of its shape (docs/adr/0018).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Partition = Sequence[int]
"""The group of each category, in the order of the public list."""


def ordered(
    partitions: Sequence[Partition], ranks: Sequence[Any], of_group: Callable[[Iterable[Any]], Any] = min
) -> list[int]:
    """The categories in the order of their codes, as places in the public list.

    Each of the partitions, the finest first, joins whole groups of the one before; without any every order is possible.
    `ranks`, keyed digests, order categories, and groups of one shape by the smallest rank in each.
    """
    return _ordered(list(range(len(ranks))), partitions, ranks, of_group)[1]


def code_groups(partitions: Sequence[Partition], n_categories: int) -> tuple[NDArray[np.int32], ...]:
    """The group of each code under each step, numbered in the order of the codes: known without a key. `partitions` are
    as in `ordered`; one array of int32, shape (n_categories,), by step."""
    order = ordered(partitions, list(range(n_categories)))
    found = []
    for partition in partitions:
        numbers: dict[int, int] = {}
        groups = [numbers.setdefault(partition[place], len(numbers)) for place in order]
        found.append(np.array(groups, dtype=np.int32))
    return tuple(found)


def _ordered(
    places: Sequence[int],
    partitions: Sequence[Partition],
    ranks: Sequence[Any],
    of_group: Callable[[Iterable[Any]], Any],
) -> tuple[tuple[Any, ...], list[int]]:
    """The shape of a node and its leaves in order."""
    if not partitions:
        return ((),) * len(places), sorted(places, key=ranks.__getitem__)
    groups: dict[int, list[int]] = {}
    for place in places:
        groups.setdefault(partitions[-1][place], []).append(place)
    children = [_ordered(group, partitions[:-1], ranks, of_group) for group in groups.values()]
    children.sort(key=lambda child: (child[0], of_group(ranks[place] for place in child[1])))
    return tuple(shape for shape, _ in children), [place for _, leaves in children for place in leaves]
