"""Differences: what whoever has this release and an earlier one learns of the people who are in one of them only.

Every table that is to be published is compared with every table that the same custodians' projects have released, over
the variables that both have, and its difference attacked as a table. Releases of other projects have other codes for
the same categories: they are put in the order in which the two tables are most alike. A table that is, but for a few
people, the sum of two others is attacked as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from gemel.carole.assessment.ladders import Ladder, alike
from gemel.carole.assessment.measures import Disclosure, Measure
from gemel.carole.assessment.released_counts import CountedTable, ReleasedCounts
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.specification import VariableSpec
from gemel.risk.arrays import Integers, Mask
from gemel.risk.attribution.differences import Difference, Ranges, aligned, difference, in_order, sum_difference

# Two tables over the variables that both have, made comparable: the same levels in the same order.

ALIKE = 0.2
"""Largest difference, as a share of the larger total, of two tables whose codes are put in order by their counts."""

WORK = 50_000_000
"""Subtractions in a step of putting codes in order."""


def common(former: CountedTable, latter: CountedTable) -> tuple[str, ...]:
    """The variables that both have in equal categories, in the order of the latter."""
    known = {variable.name: variable.categories for variable in former.variables}
    return tuple(v.name for v in latter.variables if known.get(v.name) == v.categories)


def gaps(table: CountedTable, names: Sequence[str]) -> Mask:
    """Which of some variables have a level for missing values in a table."""
    return np.array([table.variables[table.names.index(name)].missing for name in names])


def categories(table: CountedTable, names: Sequence[str]) -> list[int]:
    """Numbers of categories of some variables of a table."""
    return [table.variables[table.names.index(name)].categories for name in names]


def shown(table: CountedTable, names: Sequence[str], missing: Mask) -> Ranges:
    """What a table shows of its margin over some variables, those of `missing` with a level for it, be it of no one."""
    axes = [table.names.index(name) for name in names]
    width = [(0, int(more)) for more in missing & ~gaps(table, names)]
    ranges = Ranges.of(table.counts, table.protection, table.base).over(axes)
    return ranges.changed(lambda counts: np.pad(counts, width))


def ordered(former: Ranges, latter: Ranges, levels: Sequence[int]) -> Ranges | None:
    """The former in the latter's order; None where the two are not alike enough to tell."""
    orders = aligned(former.counts.astype(np.float64), latter.counts.astype(np.float64), levels, WORK)
    if orders is None:
        return None
    found = former.changed(lambda counts: in_order(counts, orders))
    larger = max(int(former.counts.sum()), int(latter.counts.sum()))
    return found if int(np.abs(found.counts - latter.counts).sum()) <= ALIKE * larger else None


PARTS = 0.05
"""Largest difference of a table from the sum of two others, as a share of its total."""

MAX_COMPARISONS = 2_000
MAX_SUMMED = 12
"""Tables over the same variables, the newest, among which sums are looked for."""
_SUMMED_CELLS = 20_000
_SHOWN = 100
_EXACT = (
    "counted in the tables as they are published: a false or missed link is in them, and whoever compares them sees no"
    " more; of random rounding the worst draw counts"
)


@dataclass(frozen=True)
class EarlierRelease:
    """A release of the same custodians, or the reason why there are no counts of it; without its project and number of
    links where these are not known, or the reader of the report may not know them."""

    run: str
    project: str
    links: int | None
    counts: ReleasedCounts | None = field(repr=False)
    reason: str = ""


_Coded = tuple[EarlierRelease, CountedTable, str]
"""A table of an earlier release, and the coding of its categories."""


@dataclass(frozen=True)
class Differences(Disclosure):
    """What differences disclose: how many earlier releases were compared, how many not, and the worst in words."""

    compared: int = 0
    unseen: int = 0
    reason: str = ""


_FIGURES = ("people", "small_cells", "small", "attributed", "disclosed", "share")
"""Of a difference, as the document has them."""


@dataclass(frozen=True, eq=False)
class _Compared:
    releases: tuple[EarlierRelease, ...]
    variables: tuple[str, ...]
    reordered: bool
    found: Difference

    def entry(self) -> dict[str, Any]:
        return {
            "runs": [release.run for release in self.releases],
            "projects": [release.project for release in self.releases],
            "variables": list(self.variables),
            "reordered": self.reordered,
            **{name: getattr(self.found, name) for name in _FIGURES},
        }

    def words(self) -> str:
        projects = (f" of project {release.project}" if release.project else "" for release in self.releases)
        which = " and ".join(f"run {release.run}{of}" for release, of in zip(self.releases, projects, strict=True))
        found = self.found
        cells = "1 cell differs" if found.small_cells == 1 else f"{found.small_cells} cells differ"
        return (
            f"against {which}, over {', '.join(self.variables)}: {cells} by one or two people, and"
            f" {found.disclosed} of {found.people} people who come or go are disclosed"
        )


def differences(
    variables: Sequence[VariableSpec],
    now: ReleasedCounts,
    earlier: Iterable[EarlierRelease],
    ladders: Sequence[Ladder] = (),
) -> Differences:
    """Compare the counts of what is to be released with earlier releases of the same custodians.

    `earlier` has the newest first; each is looked at once, and then not kept. `ladders` are the coarsenings that either
    release may have, where both have one coding: they are compared at the coarser of their details.
    """
    sensitive = {variable.name for variable in variables if variable.role == "sensitive"}
    compared: list[_Compared] = []
    unseen: list[tuple[EarlierRelease, str]] = []
    summed: list[_Coded] = []
    seen = releases = left = 0
    for release in earlier:
        releases += 1
        if release.counts is None:
            unseen.append((release, release.reason))
            continue
        pairs = len(now.tables) * len(release.counts.tables)
        if left + pairs > MAX_COMPARISONS:
            unseen.append((release, f"more than {MAX_COMPARISONS} pairs of tables would be compared"))
            continue
        left += pairs
        found, reasons = _against(now, release, release.counts, sensitive, ladders)
        compared += found
        seen += bool(found)
        unseen += [(release, reason) for reason in reasons]
        plain = [table for table in release.counts.tables if table.protection == "none"]
        summed += [(release, table, release.counts.coding) for table in plain]
    compared += _sums(now, summed, sensitive, ladders)
    compared.sort(key=lambda one: (-one.found.share, -one.found.disclosed, one.found.people))
    reason = compared[0].words() if compared and compared[0].found.disclosed else ""
    measures = {}
    if now.tables or now.left_out:
        method = reason or (f"{seen} earlier releases compared" if releases else "no earlier release of the custodians")
        value = compared[0].found.share if compared else 0.0
        measures["differences"] = Measure(value, f"cells of the difference table counted; {method}", no_interval=_EXACT)
    document = {
        "releases": releases,
        "compared": seen,
        "tables": [one.entry() for one in compared[:_SHOWN]],
        "unseen": [
            {"run": release.run, "project": release.project, "links": release.links, "reason": why}
            for release, why in unseen[:_SHOWN]
        ],
    }
    blind, warnings = len({release.run for release, _ in unseen}), list[ResultWarning]()
    if blind and (now.tables or now.left_out):
        warnings.append(result_warning("releases_not_compared", releases=blind))
    if now.left_out:
        warnings.append(result_warning("tables_not_compared", tables=len(now.left_out)))
    return Differences(measures, document, tuple(warnings), seen, blind, reason)


def _against(
    now: ReleasedCounts, release: EarlierRelease, before: ReleasedCounts, sensitive: set[str], ladders: Sequence[Ladder]
) -> tuple[list[_Compared], list[str]]:
    """The differences from one release, and why tables of it could not be compared."""
    same = before.coding == now.coding
    worst: dict[tuple[str, ...], _Compared] = {}
    reasons: list[str] = []
    if not before.tables:
        reasons.append("it published no table")
    for table in before.tables:
        reached = False
        for own in now.tables:
            former, latter = alike(table, own, ladders) if same else (table, own)
            names = common(former, latter)
            if not names:
                continue
            reached = True
            missing = gaps(former, names) | gaps(latter, names)
            pair = shown(former, names, missing), shown(latter, names, missing)
            if not same:
                placed = ordered(*pair, categories(latter, names))
                if placed is None:
                    reasons.append(f"its counts over {', '.join(names)} are not alike: which code is which is unknown")
                    continue
                pair = placed, pair[1]
            targets = [q for q, name in enumerate(names) if name in sensitive]
            one = _Compared((release,), names, not same, difference(*pair, targets))
            if names not in worst or one.found.share > worst[names].found.share:
                worst[names] = one
        if now.tables and not reached:
            what = ", ".join(table.names)
            reasons.append(f"its table over {what} has no variable in common with this release, in equal categories")
    if before.left_out:
        reasons.append(f"{len(before.left_out)} of its tables had too many cells to be kept")
    return list(worst.values()), list(dict.fromkeys(reasons))


def _sums(
    now: ReleasedCounts, earlier: Sequence[_Coded], sensitive: set[str], ladders: Sequence[Ladder]
) -> Iterator[_Compared]:
    """Tables that are, but for a few people, the sum of two others, one of the three being published now."""
    for table, others in _at_each_detail(now, earlier, ladders):
        if table.protection != "none" or table.counts.size > _SUMMED_CELLS:
            continue
        names = table.names
        alike = [other for other in others if set(common(other[1], table)) == set(names)][:MAX_SUMMED]
        levels = np.any([gaps(former, names) for _, former, _ in alike] + [gaps(table, names)], axis=0)
        targets = [q for q, name in enumerate(names) if name in sensitive]
        own = shown(table, names, levels).counts, now.coding
        for (one, first, its), (other, second, theirs) in combinations(alike, 2):
            if one.run == other.run:
                continue
            made = [own, *((shown(part, names, levels).counts, of) for part, of in ((first, its), (second, theirs)))]
            for whole in range(3):
                found = _left_of(made[whole], made[:whole] + made[whole + 1 :], categories(table, names), targets)
                if found is not None:
                    yield _Compared((one, other), names, len({codes for _, codes in made}) > 1, found)


def _at_each_detail(
    now: ReleasedCounts, earlier: Sequence[_Coded], ladders: Sequence[Ladder]
) -> Iterator[tuple[CountedTable, list[_Coded]]]:
    """Each table as it is published and as coarse as an earlier one is, with the earlier ones brought to that."""
    for own in now.tables:
        details = {tuple(v.categories for v in own.variables): own}
        for _, former, codes in earlier if ladders else ():
            if codes == now.coding:
                coarser = alike(former, own, ladders)[1]
                details.setdefault(tuple(v.categories for v in coarser.variables), coarser)
        for table in details.values():
            others = [
                (release, alike(former, table, ladders)[0] if codes == now.coding else former, codes)
                for release, former, codes in earlier
            ]
            yield table, others


def _left_of(
    whole: tuple[Integers, str], parts: Sequence[tuple[Integers, str]], levels: Sequence[int], targets: Sequence[int]
) -> Difference | None:
    counts, codes = whole
    total = sum(int(part.sum()) for part, _ in parts)
    if abs(int(counts.sum()) - total) > PARTS * max(int(counts.sum()), 1):
        return None
    placed = [part for part, _ in parts]
    for k in (0, 1, 0, 1):
        if parts[k][1] == codes:
            continue
        # At first the other part is not in order yet: then this one, in proportion, is as near to the whole as can be.
        rest = counts - placed[1 - k] if k or parts[1][1] == codes else counts
        scaled = placed[k].astype(np.float64) * (float(rest.sum()) / max(float(placed[k].sum()), 1.0))
        orders = aligned(scaled, rest.astype(np.float64), levels, WORK)
        if orders is None:
            return None
        placed[k] = in_order(placed[k], orders)
    return sum_difference(counts, placed, targets, PARTS)
