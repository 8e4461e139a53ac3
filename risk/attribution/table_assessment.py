"""All measures of a release, as one plain document: what `gemel risk tables` writes as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gemel.common.errors import GemelError, parameter
from gemel.common.progress import Progress, silent
from gemel.risk.arrays import Floats
from gemel.risk.attribution.cell_bounds import Bounds, bounds
from gemel.risk.attribution.laws import INFINITE, UNPUBLISHED
from gemel.risk.attribution.posterior import Posterior, posterior
from gemel.risk.attribution.release import Published, Release, Table
from gemel.risk.attribution.sap import expected_zeros, sap
from gemel.risk.attribution.subtraction import retightened_sap
from gemel.risk.attribution.utility import utility

# A level combination of the variables that two samples share is a unique match when each sample has one record there.
# The match is correct with probability 1/F, F being the population's count there; an intruder ranks matches by E[1/F]
# under the posterior of F.


@dataclass(frozen=True, eq=False)
class Match:
    cell: dict[str, int]
    posterior: Posterior
    truth: int | None

    @property
    def probability(self) -> float:
        return self.posterior.correct_match


def unique_matches(release: Release, samples: Sequence[str]) -> list[dict[str, int]]:
    """Cells of the variables common to the named samples in which each sample has exactly one record."""
    tables = [release.table(name) for name in samples]
    if len(tables) < 2 or not all(t.sample and t.simple for t in tables):
        raise parameter(release.name, "unique matches are between two or more samples, not recoded", ", ".join(samples))
    shared = [v for v in release.variables if all(v.name in t.names for t in tables)]
    if not shared:
        raise parameter(release.name, "the samples share no variable")
    product = np.ones(tuple(v.size for v in shared), dtype=np.int64)
    for table in tables:
        own = tuple(next(v for v in release.variables if v.name == n) for n in table.names)
        product *= Table(own, table.counts).over([v.name for v in shared]).counts
    return [{v.name: int(k) for v, k in zip(shared, index, strict=True)} for index in np.argwhere(product == 1)]


def ranked_matches(release: Release, samples: Sequence[str]) -> list[Match]:
    """Every unique match with its posterior, the likeliest first."""
    found = []
    for cell in unique_matches(release, samples):
        count = posterior(release, cell)
        truth = None
        if release.truth is not None:
            margin = release.truth.over(list(cell))
            truth = int(margin.counts[tuple(cell.values())])
        found.append(Match(cell, count, truth))
    return sorted(found, key=lambda m: -m.probability)


def rank_correlation(matches: Sequence[Match]) -> dict[str, float]:
    """How well unique matches are ranked: Spearman's correlation of an intruder's probabilities with the true 1/F."""
    if any(m.truth is None for m in matches):
        raise parameter("", "the rank correlation needs the true table")
    claimed = np.asarray([m.probability for m in matches])
    true = np.asarray([1.0 / (m.truth or 1) for m in matches])
    if len(matches) < 3 or np.ptp(claimed) == 0 or np.ptp(true) == 0:
        raise parameter("", "too few different unique matches for a rank correlation", f"{len(matches)} matches")
    from scipy.stats import spearmanr  # slow to import, and only a check against the truth needs it

    answer = spearmanr(claimed, true)
    return {"matches": len(matches), "correlation": float(answer.statistic), "p_value": float(answer.pvalue)}


def statements(release: Release, limits: Bounds) -> dict[str, Any]:
    """Exact attributions that the bounds allow.

    For each sensitive variable, and for each set of key variables (any one of the others, and all of them): the groups
    of people who agree on the keys, are known to exist, and for whom some level is impossible. One possible level left
    is a positive attribution; some ruled out, a negative one.
    """
    names = [v.name for v in release.variables]
    upper = np.minimum(limits.upper, 2**31)
    found: dict[str, Any] = {"positive": [], "negative": [], "positive_total": 0, "negative_total": 0}
    for sensitive in range(len(names)):
        others = [a for a in range(len(names)) if a != sensitive]
        sets = {(a,) for a in others} | {tuple(others)}
        levels = release.variables[sensitive].levels
        for keys in sorted(sets, key=lambda s: (len(s), s)):
            gone = tuple(a for a in others if a not in keys)
            high, low = (np.moveaxis(x.sum(axis=gone, keepdims=True), sensitive, -1) for x in (upper, limits.lower))
            possible = high > 0
            for index in np.argwhere((low.sum(axis=-1) > 0) & (possible.sum(axis=-1) < len(levels))):
                cell = tuple(index)
                kind = "positive" if possible[cell].sum() == 1 else "negative"
                found[f"{kind}_total"] += 1
                if len(found[kind]) < _STATED:
                    who = [f"{names[a]}={release.variables[a].levels[index[others.index(a)]]}" for a in keys]
                    shown = [x for x, ok in zip(levels, possible[cell], strict=True) if ok == (kind == "positive")]
                    found[kind].append(
                        {
                            "who": ", ".join(who) or "everyone",
                            "variable": names[sensitive],
                            "levels": shown,
                            "at_least": int(low[cell].sum()),
                        }
                    )
    return found


_STATED = 500  # statements of a kind that are listed
_POSTERIOR_CELLS = 2_000
_SUBTRACTION_WORK = 400_000


def assess(
    release: Release,
    *,
    seed: int = 1,
    seconds: float | None = 60.0,
    draws: int = 1_000,
    known: int | None = None,
    threshold: float = 0.9,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Assess a release.

    `release`: with its truth for the subtraction attribution probability and the cost in utility; without it for what
    an intruder can deduce and infer; `known`: largest number of known people to draw the curve for; by default all, or
    1,000 in large populations.
    """
    limits = bounds(release, seconds=seconds, progress=progress)
    result: dict[str, Any] = {
        "release": release.name,
        "population": release.population,
        "variables": [{"name": v.name, "levels": list(v.levels)} for v in release.variables],
        "tables": [_table(release, t) for t in release.tables],
        "seed": seed,
        "bounds": _bounds(release, limits),
        "statements": statements(release, limits),
    }
    progress("posteriors", 0.0)
    result["posterior"] = _posteriors(release, limits, threshold)
    drawn = tuple(t.name for t in release.tables if t.sample and t.simple)
    result["matches"] = _matches(release, drawn) if len(drawn) > 1 else None
    progress("subtraction", 0.0)
    result["sap"] = _sap(release, limits, np.random.default_rng(seed), draws, known)
    return result


def _table(release: Release, table: Published) -> dict[str, Any]:
    cost = None
    if release.truth is not None:
        truth, counts = release.truth.counts.ravel(), table.counts.ravel()
        true = [int(truth[release.block(table, i)].sum()) for i in np.ndindex(table.counts.shape)]
        scale = sum(true) / max(1, int(counts.sum())) if table.sample else 1
        cost = utility(true, counts * scale)
    return {
        "name": table.name,
        "variables": list(table.names),
        "law": table.law.name,
        "settings": {k: v for k, v in vars(table.law).items() if isinstance(v, int | float)},
        "cells": int(table.counts.size),
        "withheld": int((table.counts == UNPUBLISHED).sum()),
        "utility": cost,
    }


def _bounds(release: Release, limits: Bounds) -> dict[str, Any]:
    low, high = limits.lower.ravel(), limits.upper.ravel()
    truth = None if release.truth is None else release.truth.counts.ravel()
    cells = [
        {
            "cell": release.label(c),
            "lower": int(low[c]),
            "upper": None if high[c] >= INFINITE else int(high[c]),
            "tight": bool(limits.lower_tight.ravel()[c] and limits.upper_tight.ravel()[c]),
            "true": None if truth is None else int(truth[c]),
        }
        for c in range(release.cells)
    ]
    return {
        "method": limits.method,
        "tight": limits.tight,
        "seconds": round(limits.seconds, 3),
        "recovered": int(limits.recovered.sum()),
        "zeros": int(limits.zeros.sum()),
        "ones": int(((low == 1) & (high == 1)).sum()),
        "cells": cells,
    }


def _posteriors(release: Release, limits: Bounds, threshold: float) -> dict[str, Any]:
    """Naive posteriors of the base cells within the bounds, and the likeliest attributions from their means."""
    if release.cells > _POSTERIOR_CELLS or (limits.upper >= INFINITE).any():
        return {"computed": False, "why": "too many cells" if release.cells > _POSTERIOR_CELLS else "unbounded cells"}
    means = np.zeros(release.shape)
    rows = []
    for index in np.ndindex(*release.shape):
        query = {v.name: int(k) for v, k in zip(release.variables, index, strict=True)}
        within = int(limits.lower[index]), int(limits.upper[index])
        try:
            found = posterior(release, query, within=within)
        except GemelError:  # naive independence can contradict itself where the tables together do not
            found = posterior(Release(release.variables, ()), query, within=within)
        means[index] = found.mean
        rows.append({"mean": round(found.mean, 6), "empty": round(found.empty, 6), "used": list(found.used)})
    return {"computed": True, "cells": rows, "approximate": _approximate(release, means, threshold)}


def _approximate(release: Release, means: Floats, threshold: float) -> list[dict[str, Any]]:
    found = []
    for axis in range(len(release.variables)):
        whole = means.sum(axis=axis, keepdims=True)
        share = np.divide(means, whole, out=np.zeros_like(means), where=whole > 0)
        for index in np.argwhere((share >= threshold) & (whole >= 0.5)):
            words = [f"{v.name}={v.levels[i]}" for v, i in zip(release.variables, index, strict=True)]
            what = words.pop(axis)
            found.append(
                {
                    "who": ", ".join(words) or "everyone",
                    "what": what,
                    "share": round(float(share[tuple(index)]), 4),
                    "people": round(float(np.take(whole, 0, axis=axis)[tuple(np.delete(index, axis))]), 2),
                }
            )
    return sorted(found, key=lambda e: (-e["share"], -e["people"]))


def _matches(release: Release, samples: Sequence[str]) -> dict[str, Any]:
    try:
        found = ranked_matches(release, samples)
    except GemelError as error:
        return {"samples": list(samples), "matches": [], "correlation": None, "note": str(error)}
    names = {v.name: v for v in release.variables}
    rows = [
        {
            "cell": ", ".join(f"{n}={names[n].levels[k]}" for n, k in m.cell.items()),
            "probability": round(m.probability, 6),
            "true": None if m.truth is None else round(1.0 / m.truth, 6),
            "range": [int(m.posterior.counts[0]), int(m.posterior.counts[-1])],
        }
        for m in found
    ]
    correlation, note = None, ""
    try:
        correlation = rank_correlation(found)
    except GemelError as error:
        note = error.what
    return {"samples": list(samples), "matches": rows, "correlation": correlation, "note": note}


def _sap(
    release: Release, limits: Bounds, generator: np.random.Generator, draws: int, known: int | None
) -> dict[str, Any]:
    if release.truth is None:
        return {"computed": False, "why": "the true table is not given"}
    if (release.truth.counts > limits.upper).any() or (release.truth.counts < limits.lower).any():
        what = "the true table does not satisfy the release"
        raise parameter(release.name, what, remedy="check the protections stated for the tables")
    people = release.truth.total
    maximum = min(people, known if known is not None else (people if people <= 5_000 else 1_000))
    static = sap(release.truth.counts, limits.upper, maximum)
    expected = expected_zeros(release.truth.counts, limits.upper)[: maximum + 1]
    found: dict[str, Any] = {
        "computed": True,
        "people": people,
        "static": _rounded(static),
        "expected_zeros": _rounded(expected),
        "known_for": _known_for(static),
        "retightened": None,
    }
    if people * release.cells > _SUBTRACTION_WORK or (limits.upper >= INFINITE).any():
        found["why_not_retightened"] = "too large to derive the bounds again after each subtraction"
        return found
    again = retightened_sap(release, generator, draws=draws)
    curves = {"curve": again.curve, "lower": again.lower, "upper": again.upper}
    found["retightened"] = {
        **{name: _rounded(curve[: maximum + 1]) for name, curve in curves.items()},
        "method": again.method,
        "exact": again.exact,
        "known_for": _known_for(again.curve),
    }
    return found


def _known_for(curve: Floats) -> dict[str, int | None]:
    """With how many known people the curve reaches some levels; None where it never does."""
    return {str(level): int(np.argmax(curve >= level)) if curve.max() >= level else None for level in (0.01, 0.05, 0.5)}


def _rounded(curve: Floats) -> list[float]:
    return [round(float(x), 9) for x in curve]
