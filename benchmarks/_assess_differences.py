"""Two releases of a table that differ by a few people: who compares them reads their values, and what is held now.

The intruder knows of each who has left the data the other variable of the table, and that no one else has come or gone.
A sensitive value is read where all who have left from the same category have one value, in the published difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks._built_population import SMALL, built
from gemel.carole.assessment import Combined
from gemel.carole.assessment.differences import EarlierRelease, differences
from gemel.carole.assessment.publication import base_table, publication
from gemel.carole.assessment.released_counts import coding, counted
from gemel.common.documents.disclosure_measures import MEASURES
from gemel.common.specification.model.assessment import PublishedTable

LEFT = (1, 2, 10, 100)
"""People who have left."""

TABLES = (
    ("as counted", PublishedTable(variables=("region", "illness"))),
    ("rounded to 5", PublishedTable(variables=("region", "illness"), protection="conventional", base=5)),
)
_KNOWN = 5
_LIMIT = MEASURES["differences"].default or 1.0


@dataclass(frozen=True)
class Attacked:
    """How often the attack succeeds, and how often the second release is held."""

    read: int
    people: int
    wrong: int
    judged: float
    noticed_formerly: int
    held: int
    held_unchanged: int
    pairs: int


def wilson(successes: int, number: int) -> tuple[float, float]:
    """Interval of a share, of confidence .95 (Wilson)."""
    z, share = 1.959964, successes / number
    middle = (share + z * z / (2 * number)) / (1 + z * z / number)
    half = z / (1 + z * z / number) * np.sqrt(share * (1 - share) / number + z * z / (4 * number * number))
    return max(0.0, middle - half), min(1.0, middle + half)


def attacked(table: PublishedTable, left: int, number: int, seed: int, *, same_codes: bool) -> Attacked:
    """Release twice, `number` times; the r-th pair is drawn with the seed ``[seed, r]``."""
    read = wrong = people = noticed = held = unchanged = 0
    judged = []
    for r in range(number):
        rng = np.random.default_rng([seed, r])
        whole = built(SMALL, 4_000, (0.5, 0.5), rng, "correct_matches: 1").combined
        gone = rng.choice(whole.n_records, left, replace=False)
        rest = without(whole, gone)
        hits, misses = reads(whole, rest, table, gone)
        formerly = [publication(rest, [table], then, _KNOWN).measures["subtraction"].judged for then in ([], [table])]
        noticed += formerly[0] != formerly[1]
        read, wrong, people = read + hits, wrong + misses, people + left
        codes = [coding("built", bytes(32), epoch) for epoch in (1, 1 if same_codes else 2)]
        former = whole if same_codes else relabelled(whole, rng)
        before = EarlierRelease("1", "built", None, counted(former, [table], codes[1]))
        value = differences(rest.variables, counted(rest, [table], codes[0]), [before]).measures["differences"].value
        judged.append(value)
        held += value > _LIMIT
        same = counted(whole, [table], codes[0])
        unchanged += differences(whole.variables, same, [before]).measures["differences"].value > _LIMIT
    return Attacked(read, people, wrong, float(np.mean(judged)), noticed, held, unchanged, number)


def without(combined: Combined, links: NDArray[np.int64]) -> Combined:
    """The same output with some links fewer."""
    rows = np.setdiff1d(np.arange(combined.n_records), links)
    row_a, row_b, chance = combined.row_a[rows], combined.row_b[rows], combined.probability[rows]
    return replace(
        combined,
        row_a=row_a,
        row_b=row_b,
        probability=chance,
        pair_a=row_a,
        pair_b=row_b,
        pair_probability=chance,
    )


def relabelled(combined: Combined, rng: np.random.Generator) -> Combined:
    """The same output in another project: other codes for the same categories."""
    orders = [rng.permutation(len(variable.categories)) for variable in combined.variables]
    files = [
        np.stack([np.where(file[:, q] < 0, -1, order[file[:, q]]) for q, order in enumerate(orders)], axis=1)
        for file in (combined.alice, combined.bob)
    ]
    return replace(combined, alice=files[0].astype(np.int32), bob=files[1].astype(np.int32))


def reads(before: Combined, after: Combined, table: PublishedTable, gone: NDArray[np.int64]) -> tuple[int, int]:
    """Values that the intruder reads in the difference of the published tables, right and wrong."""
    names = list(table.variables)
    shown = []
    for combined in (before, after):
        found = base_table(combined, names)
        assert found is not None
        # A missing value has a level of its own, in both.
        gaps = [
            (0, len(combined.variables[q].categories) + 1 - n)
            for q, n in zip(combined.columns(names), found.counts.shape, strict=True)
        ]
        counts = np.pad(found.counts, gaps)
        shown.append(counts if table.base is None else (counts + (table.base - 1) // 2) // table.base * table.base)
    fewer = np.maximum(shown[0] - shown[1], 0)
    hits = misses = 0
    for region, illness in before.codes[gone][:, before.columns(names)]:
        values = np.flatnonzero(fewer[region])
        if len(values) == 1:
            right = values[0] == (illness if illness >= 0 else fewer.shape[1] - 1)
            hits, misses = hits + bool(right), misses + (not right)
    return hits, misses


def lines(number: int, seed: int) -> Iterator[str]:
    """The table, a line at a time."""
    yield f"{number} pairs of releases of about 950 linked records each, seed {seed}; table region x illness (8 x 4)."
    yield ""
    yield (
        "| table | people who left | their value read from the two tables | read wrong | noticed by other measures |"
        " `differences` |"
        " held now | held if no one left |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for words, table in TABLES:
        for left in LEFT:
            for same in (True, False) if left == 1 else (True,):
                one = attacked(table, left, number, seed, same_codes=same)
                low, high = wilson(one.read, one.people)
                where = "" if same else ", another project"
                cells = (
                    f"{words}{where}",
                    str(left),
                    f"{one.read / one.people:.2f} ({low:.2f} to {high:.2f})",
                    f"{one.wrong / one.people:.2f}",
                    f"{one.noticed_formerly} of {one.pairs}",
                    f"{one.judged:.2f}",
                    f"{one.held} of {one.pairs}",
                    f"{one.held_unchanged} of {one.pairs}",
                )
                yield f"| {' | '.join(cells)} |"
