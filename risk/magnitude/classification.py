"""A variable that spans a table: its levels, what they add up to, and its total."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gemel.common.errors import parameter

TOTAL = "Total"


@dataclass(frozen=True)
class Classification:
    """A tree of levels: the total at its root, the levels of records at its leaves.

    Parameters
    ----------
    name
        Of the variable.
    nodes
        The total first, then all other levels.
    parents
        Number of each node's parent; -1 for the total.
    """

    name: str
    nodes: tuple[str, ...]
    parents: tuple[int, ...]

    @classmethod
    def of(cls, name: str, levels: Sequence[str], parents: Mapping[str, str] | None = None) -> Classification:
        """The tree over the levels that records have.

        Parameters
        ----------
        name
            Of the variable.
        levels
            Of the records, in order.
        parents
            What each level adds up to, level by level; what has none adds up to the total. Levels that no record has
            may be named, too.

        Raises
        ------
        GemelError
            A level of records that is called like the total, or that others add up to; a cycle.
        """
        parents = {} if parents is None else parents
        if TOTAL in levels or TOTAL in parents:
            raise parameter(
                f"variable {name!r}",
                f"a level is called {TOTAL!r}, as the sum over all levels is",
                remedy="rename it in the records, or leave those records out",
            )
        inner = set(parents.values()) - {TOTAL}
        wrong = len(inner & set(levels))
        if wrong:
            raise parameter(
                f"variable {name!r}",
                "records have levels that other levels add up to",
                f"{wrong} such level{'' if wrong == 1 else 's'}",
                "give those records a level below, or take the level out of the hierarchy",
            )
        # Only what lies above a level of the records is a row of the table.
        above: dict[str, str] = {}
        for level in levels:
            node, steps = level, 0
            while node != TOTAL:
                above[node] = parents.get(node, TOTAL)
                node = above[node]
                steps += 1
                if steps > len(parents) + 1:
                    raise parameter(
                        f"variable {name!r}",
                        "the hierarchy has a cycle: a level adds up, by way of others, to itself",
                        remedy="let every level lead to the total",
                    )
        nodes = (TOTAL, *dict.fromkeys([*levels, *above]))
        numbers = {node: k for k, node in enumerate(nodes)}
        return cls(name, nodes, (-1, *(numbers[above[node]] for node in nodes[1:])))

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of each node's children; none for a level of records."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                found[parent].append(node)
        return tuple(map(tuple, found))

    def path(self, node: int) -> tuple[int, ...]:
        """A node and all that it adds up to, the total last."""
        found = [node]
        while self.parents[found[-1]] >= 0:
            found.append(self.parents[found[-1]])
        return tuple(found)
