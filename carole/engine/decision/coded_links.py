"""Links between rows of the two sets of codes, as a resolver reports them: enough for the assessment, but no join.

In mode block_keyed Carole knows candidate pairs of rules' rows with their comparison vectors. She must also know which
rows of codes are linked, but not which candidate a link is. So the list is sorted by its rows, whose order is random,
and its probabilities are micro-aggregated: an exact one is that of few comparison vectors and would join the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from gemel.carole.engine.run.contribution import malformed, n_distinct, pair_numbers
from gemel.carole.engine.run.result import Linkage
from gemel.common.arrays import F64, I32

GROUP = 20
"""Minimum number of links with the same probability."""

WIDTH = 0.01
"""A group includes every link whose probability is at most this much above its lowest."""

PRECISION_DIGITS = 4
"""Decimals of the precision that a document claims."""

STATED = 10.0**-PRECISION_DIGITS + 1e-9
"""How far from its claim the mean probability of links may be."""


def stated_share(share: float) -> float:
    """To so many decimals, and never 1 where it is less."""
    rounded = round(share, PRECISION_DIGITS)
    return rounded if rounded < 1 or share >= 1 else 1 - 10.0**-PRECISION_DIGITS


@dataclass(frozen=True, repr=False)
class CodedLinks:
    """Links by their rows in the sets of codes.

    `row_a`, `row_b` (int32, shape (n_links,)): ascending by Alice's row, then Bob's; no pair twice; `probability`
    (float64, shape (n_links,)): link probabilities, micro-aggregated.
    """

    row_a: I32
    row_b: I32
    probability: F64


@dataclass(frozen=True)
class Expected:
    """What Carole knows of a resolver's links by rows of codes: records of both files, and whether each has one link
    at most."""

    n_a: int
    n_b: int
    one_to_one: bool


def coded_links(linkage: Linkage, codes_a: I32, codes_b: I32) -> CodedLinks:
    """The links of a resolved linkage.

    `codes_a`, `codes_b` (int32, shape (n_handles,)): row of each handle's record in Alice's and in Bob's set of codes.
    """
    pairs, links = linkage.pairs, linkage.links
    row_a, row_b = codes_a[pairs.row_a[links]], codes_b[pairs.row_b[links]]
    order = np.lexsort((row_b, row_a))
    probability = micro_aggregated(np.clip(pairs.link_probability[links], 0.0, 1.0))
    return CodedLinks(row_a[order], row_b[order], probability[order])


def check_coded(links: CodedLinks, precision: float | None, expected: Expected) -> None:
    """Accept only links that agree with the rest of a result."""
    for row, bound in ((links.row_a, expected.n_a), (links.row_b, expected.n_b)):
        if len(row) and (int(row.min()) < 0 or int(row.max()) >= bound):
            raise _malformed("a row of codes that does not exist")
        if expected.one_to_one and n_distinct(row) != len(row):
            raise _malformed("two links with the same row of codes")
    place = pair_numbers(links.row_a, links.row_b)
    if (place[1:] <= place[:-1]).any():
        raise _malformed("links out of order by rows of codes, or repeated")
    # Written so that NaN is refused.
    if not ((links.probability >= 0) & (links.probability <= 1)).all():
        raise _malformed("numbers that are no probabilities")
    sizes = np.unique(links.probability, return_counts=True)[1]
    if len(sizes) > 1 and int(sizes.min()) < GROUP:
        raise _malformed("probabilities other than the means of the links' groups")
    if precision is not None and len(links.row_a) and abs(float(links.probability.mean()) - precision) > STATED:
        raise _malformed("probabilities with another mean than the links'")


def micro_aggregated(probability: F64) -> F64:
    """Probabilities each shared by at least `GROUP` links, or by all where there are fewer.

    `probability` (float64, shape (n,)). Returns float64, shape (n,): the mean of each one's group; the total is
    unchanged. From the lowest up, a group has the next `GROUP` links and all up to `WIDTH` above its lowest; the
    remaining links at the top join the last group. There are at most 1 / `WIDTH` + 1 groups. O(n log n).
    """
    n = len(probability)
    order = np.argsort(probability, kind="stable")
    ascending = probability[order]
    begins = [0]
    while True:
        start = begins[-1]
        reach = int(np.searchsorted(ascending, ascending[start] + WIDTH, side="right")) if n else 0
        end = max(start + GROUP, reach)
        if n - end < GROUP:
            break
        begins.append(end)
    sizes = np.diff([*begins, n])
    means = np.add.reduceat(ascending, begins) / sizes if n else np.empty(0)
    found = np.empty(n)
    found[order] = np.repeat(means, sizes)
    return np.clip(found, 0.0, 1.0)


_malformed = partial(malformed, what="the resolver's links by rows of codes are not those of its result")
