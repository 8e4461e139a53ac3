"""Key variable mapping: an environment like the thesis's, and growth: ``python -m research keyvars``.

The thesis's environment: Age in almost 200 forms, 61 leaves, 5 distinct codings of which one is arbitrary precision, 4
harmonisations, H7.001 of C9.001 and C45.001, H3.001 of these and C7.001. It does not state what the codings were; these
have its numbers. *graph* is the harmonisation graph from nothing, *analysis* what one target and every prevalence then
take, *files* the reading and checking of the JSON. *thesis* is its algorithm, every node harmonised with every other,
in the same Python. Growing environments have bands of ages drawn from steps that people use.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import median

import numpy as np

from gemel.risk.keyvars.analysis import HarmonisationGraph
from gemel.risk.keyvars.documents import environment_of, texts_of
from gemel.risk.keyvars.environment import Environment
from gemel.risk.keyvars.partitions import Precision, join
from gemel.risk.keyvars.variables import Variable

FORMS = 200
REPEATS = 7


def bands(bounds: Sequence[int]) -> list[str]:
    """Bands of whole years from 0, the last one open."""
    return [str(a) if b == a + 1 else f"{a}-{b - 1}" for a, b in pairwise(bounds)] + [f"{bounds[-1]}+"]


def like_the_thesis(forms: int) -> Environment:
    """Age with 61 leaves, 5 distinct codings and 4 harmonisations; most forms have the date of birth."""
    codings = [
        bands([0, 20, 25, 30, 40, 50, 60, 65, 75]),
        bands([0, *range(17, 61)]),
        bands([0, 5, 10, 15, 20, 60, 70]),
        bands([0, 20, 22, 35, 45, 55, 62, 64, 67, 68, 72, 74, 78, 80, 82, 85]),
        [],
    ]
    made = Environment()
    made.add_variable("Age", "whole")
    for i in range(forms):
        made.add_form(f"form {i}")
        made.code(f"form {i}", "Age", codings[min(i % 7, 4)])
    return made


def growing(forms: int, distinct: int, rng: np.random.Generator) -> Environment:
    """Forms with so many distinct codings of one variable, popular ones more often."""
    codings: dict[tuple[int, ...], None] = {}
    while len(codings) < distinct:
        step = int(rng.choice([5, 10, 15, 20]))
        start = int(rng.choice([0, 15, 16, 18]))
        bounds = {0, *range(start, int(rng.choice([60, 65, 75, 80])) + 1, step)}
        extra = rng.choice(np.arange(1, 90), size=int(rng.integers(0, 4)), replace=False).tolist()
        dropped = set(rng.choice(sorted(bounds), size=min(2, len(bounds) - 1), replace=False).tolist()) - {0}
        codings[tuple(sorted(bounds.union(extra) - dropped))] = None
    texts = [bands(bounds) for bounds in codings]
    weights = 1 / np.arange(1, distinct + 1)
    drawn = rng.choice(distinct, size=forms, p=weights / weights.sum())
    drawn[:distinct] = np.arange(distinct)
    made = Environment()
    made.add_variable("Age", "whole")
    for i, chosen in enumerate(drawn.tolist()):
        made.add_form(f"form {i}")
        made.code(f"form {i}", "Age", texts[chosen])
    return made


def fresh(variable: Variable) -> Variable:
    """The variable without anything worked out."""
    return Variable(variable.name, variable.scale, variable.graph, variable.categorisations)


def by_the_thesis(categorisations: Sequence[Precision]) -> tuple[int, int]:
    """Nodes and harmonisations of the thesis's algorithm: what is new goes through the same queue."""
    nodes: dict[Precision, None] = {}
    queue = dict.fromkeys(categorisations)
    count = 0
    while queue:
        u, _ = queue.popitem()
        for v in nodes:
            count += 1
            if (h := join(v, u)) not in nodes and h != u:
                queue[h] = None
        nodes[u] = None
    return len(nodes), count


def milliseconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """The median of some tries."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1000 * median(times)


def measured(made: Environment, *, thesis: bool) -> dict[str, float]:
    """Sizes and times of one environment."""
    variable = made.variables["Age"]
    partitions = list(fresh(variable).partitions.values())
    graph = HarmonisationGraph(partitions)
    texts = texts_of(made)

    def whole() -> None:
        made.variables["Age"] = fresh(variable)
        made.analyse("form 0", 0.5)

    found = {
        "forms": len(made.forms),
        "leaves": len(variable.graph.leaves),
        "codings": len(variable.categorisations),
        "nodes": len(graph),
        "harmonisations": graph.harmonisations,
        "all": milliseconds(whole),
        "graph": milliseconds(lambda: HarmonisationGraph(partitions)),
        "analysis": milliseconds(lambda: made.analyse("form 0", 0.5)),
        "files": milliseconds(lambda: environment_of(texts), 3),
        "edges": milliseconds(lambda: list(graph.edges()), 1),
    }
    if thesis:
        start = time.perf_counter()
        nodes, count = by_the_thesis(partitions)
        assert nodes == len(graph)
        found |= {"thesis": 1000 * (time.perf_counter() - start), "its harmonisations": count}
    return found


def main(arguments: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m research keyvars", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--forms", type=int, default=10_000, help="forms of the largest environment")
    options = parser.parse_args(arguments)
    rng = np.random.default_rng(options.seed)
    first = measured(like_the_thesis(FORMS), thesis=True)
    print(
        f"like the thesis's: {first['forms']} forms, Age with {first['leaves']} leaves, {first['codings']} codings, "
        f"{first['nodes']} nodes of which {first['nodes'] - first['codings']} are harmonisations"
    )
    print(
        f"  from the codings to the answer for every prevalence: {first['all']:.2f} ms "
        f"({first['harmonisations']} harmonisations calculated; the thesis's algorithm "
        f"{first['its harmonisations']}, and {first['thesis']:.2f} ms for its graph)\n"
    )
    heads = ("forms", "codings", "leaves", "nodes", "harmonised", "graph ms", "analysis ms", "edges ms", "files ms")
    print("".join(f"{head:>12s}" for head in (*heads, "thesis ms", "harmonised")))
    for forms, distinct in ((200, 5), (1000, 10), (1000, 20), (options.forms, 10), (options.forms, 30)):
        row = measured(growing(forms, distinct, rng), thesis=distinct <= 20)
        counts = [f"{row[key]:12,.0f}" for key in ("forms", "codings", "leaves", "nodes", "harmonisations")]
        times = [f"{row[key]:12.2f}" for key in ("graph", "analysis", "edges", "files")]
        reported = [f"{row['thesis']:12.2f}", f"{row['its harmonisations']:12,.0f}"] if "thesis" in row else ()
        print("".join([*counts, *times, *reported]))
    print(f"\nseed {options.seed}; medians of {REPEATS}, edges and thesis once")
    return 0
