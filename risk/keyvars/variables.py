"""A variable: its categories, the categorisations that forms have of it, and what these harmonise to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from gemel.risk.keyvars.aggregation import AggregationGraph, unknown
from gemel.risk.keyvars.analysis import HarmonisationGraph
from gemel.risk.keyvars.intervals import Scale, extend
from gemel.risk.keyvars.partitions import ARBITRARY, Precision, blocks, harmonisation_codes, next_code


@dataclass(frozen=True)
class Variable:
    """A variable of an environment. On the scales interval and whole its categories are intervals, and its graph makes
    itself. Of `ARBITRARY` there are no categories; two codes never mean the same partition. `strict`: a categorisation
    must be one, but for an environment that was opened in spite of its issues."""

    name: str
    scale: Scale = "nominal"
    graph: AggregationGraph = field(default_factory=lambda: AggregationGraph({}))
    categorisations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    strict: bool = True

    @cached_property
    def partitions(self) -> dict[str, Precision]:
        return {
            code: self.graph.partition(names, strict=self.strict) if names else None
            for code, names in self.categorisations.items()
        }

    @cached_property
    def harmonisations(self) -> HarmonisationGraph:
        return HarmonisationGraph(self.partitions.values())

    @cached_property
    def codes(self) -> list[str]:
        """The code of every node of the harmonisation graph."""
        observed: dict[int, str] = {}
        for code in self.categorisations:
            observed.setdefault(self.node(code), code)
        return harmonisation_codes(self.harmonisations.nodes, observed)

    def node(self, code: str) -> int:
        """The node of a code; NOT_FOUND if there is none."""
        if code in self.categorisations:
            return int(self.harmonisations.find(self.partitions[code]) or 0)
        if code in self.codes:
            return self.codes.index(code)
        raise unknown("the variable has no such code", code, self.codes, self.name)

    def leaves(self, code: str) -> list[tuple[str, ...]]:
        """What a code means: the leaves of each of its categories; nothing for arbitrary precision."""
        partition = self.harmonisations.nodes[self.node(code)]
        if partition is None:
            return []
        return [tuple(self.graph.leaves[i] for i in block) for block in blocks(partition)]

    def categories(self, code: str) -> list[str]:
        """What a code means, in the fewest words: category names, joined by *or* where there is none for the whole."""
        if names := self.categorisations.get(code):
            return list(names)
        return [" or ".join(self.graph.categories_of(leaves)) for leaves in self.leaves(code)]

    def code_of(self, categories: Sequence[str]) -> str | None:
        """The code of a categorisation that the variable has, None for one it has not."""
        return self._codes_by_names.get(frozenset(categories))

    def with_categorisation(self, categories: Sequence[str]) -> tuple[Variable, str, tuple[str, ...]]:
        """The variable with one more categorisation, its code, and its categories as the variable calls them.

        The first makes the leaves. On a scale of numbers later ones divide and put together what they need; else they
        must be made of the categories there are.
        """
        if not categories:
            return self._with((), ARBITRARY), ARBITRARY, ()
        graph, names = self.graph, tuple(categories)
        if len(set(names)) == len(names) and (known := self.code_of(names)):
            return self, known, names
        if self.scale != "nominal":
            graph, names = extend(graph, names, self.scale)
        elif not graph.children:
            graph = graph.add_leaves(names)
        graph.partition(names, strict=self.strict)
        made = replace(self, graph=graph)
        if known := made.code_of(names):
            return made, known, names
        code = next_code("C", len(names), self.categorisations)
        return made._with(names, code), code, names

    def renamed(self, old: str, new: str) -> Variable:
        """The variable with another name for a category, wherever it stands."""
        graph = self.graph.rename(old, new)
        named = {
            code: tuple(new if name == old else name for name in names) for code, names in self.categorisations.items()
        }
        return replace(self, graph=graph, categorisations=named)

    def without(self, code: str) -> Variable:
        return replace(self, categorisations={c: n for c, n in self.categorisations.items() if c != code})

    def _with(self, names: tuple[str, ...], code: str) -> Variable:
        return replace(self, categorisations={**self.categorisations, code: names})

    @cached_property
    def _codes_by_names(self) -> dict[frozenset[str], str]:
        return {frozenset(names): code for code, names in self.categorisations.items()}
