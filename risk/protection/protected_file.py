"""Protect a file and look again: from the records to what is published, with risk and utility on both sides."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.progress import Progress, silent
from gemel.risk.arrays import Integers
from gemel.risk.identification.individual_risk import check_weights
from gemel.risk.lattice_search import Node
from gemel.risk.protection.candidate import Candidate, Setting, calibrated_of, importance_of, measured
from gemel.risk.protection.changes import STRENGTHS, Change, Methods, changed_numbers, numeric, strata_of
from gemel.risk.protection.comparison import utility_of
from gemel.risk.protection.key_table import KeyTable, information
from gemel.risk.protection.log import log_of
from gemel.risk.protection.minimal_change import candidates, minimal_change, on_frontier, refined
from gemel.risk.protection.perturbed_keys import perturbed_keys
from gemel.risk.protection.policy import UPPER_WORDS, Policy, policy_decision
from gemel.risk.protection.population import Population
from gemel.risk.protection.request import Request

_OTHER_K = (5, 10)
_NEARLY_OWN = 0.9  # distinct values per record from which a column that is published as it is may identify


@dataclass(frozen=True)
class Protected:
    """What is published, in the order of the records; what was done, without values of records, with which `verify`
    compares the file; and risk and utility before and after, the frontier, and the log, on the original file too."""

    frame: pl.DataFrame
    log: dict[str, Any]
    report: dict[str, Any]


def protect(
    frame: pl.DataFrame,
    request: Request,
    generator: np.random.Generator,
    *,
    population: pl.DataFrame | None = None,
    frontier: bool = True,
    progress: Progress = silent,
) -> Protected:
    request.check(frame.columns)
    searched = request.methods.searched
    if not frame.height:
        raise GemelError(ErrorCode.EMPTY_SOURCE, "there are no records", where="records")
    original = request.table(frame, population)
    whole = None if population is None else Population.of(original, population, request.missing_values)
    weights = None
    if request.weights is not None:
        weights = numeric(frame, [request.weights], "--weights", request.missing_values)[:, 0]
        check_weights(weights, f"column {request.weights}", frame.height)
    progress("risk before", 0.0)
    importance, fixed = importance_of(request.keys, request.importance), request.fixed(original)
    plain = Setting(Policy(), request.fraction, importance, weights, fixed=fixed, population=whole)
    bottom: Node = (0,) * len(request.keys)
    before = measured(original, bottom, np.zeros(original.codes.shape, dtype=bool), plain)
    strata = strata_of(frame, request.methods.within)
    limited = replace(plain, policy=request.policy)
    found, best = list[Candidate](), list[tuple[_Tried, Candidate]]()
    for each in _tried(original, limited, request, strata, generator, frontier, progress):
        cheapest = minimal_change(each.found)
        found += [c for c in each.found if c is not cheapest]
        if cheapest is not None:  # refined for each strength: they differ in what of it is needed
            found.append(better := replace(refined(each.table, each.setting, cheapest), strength=cheapest.strength))
            best.append((each, better))
    if not best:
        raise _unmet(found, request)
    of, chosen = min(best, key=lambda pair: (pair[1].loss, pair[1].share_suppressed))
    table, request = of.table, replace(request, methods=of.methods)
    progress("utility", 0.0)
    numbers, more = changed_numbers(frame, request.methods, generator, request.missing_values)
    published = _published(numbers, request, table, chosen)
    changes = [*(of.setting.perturbed.changes if of.setting.perturbed else ()), *_key_changes(table, chosen), *more]
    calibrated = {"before": calibrated_of(original, plain, before), "after": calibrated_of(table, of.setting, chosen)}
    first = replace(before.risk, upper=calibrated["before"].upper)
    last = replace(chosen.risk, upper=calibrated["after"].upper)
    decision = policy_decision(request.policy, first, last, by_larger=limited.by_larger, certain=limited.certain)
    as_they_are = [c for c in published.columns if c not in (*request.keys, *request.methods.numeric)]
    identifying, hidden = _NEARLY_OWN * max(frame.height, 20), chosen.suppressed.mean(axis=0)
    log = log_of(published, request, chosen, changes, decision)
    report = {
        "log": log,
        "before": asdict(first),
        "after": asdict(last),
        "policy_decision": decision,
        "calibrated": {when: own.document for when, own in calibrated.items()},
        "lost": [
            {"key": name, "bits": bits, "of": whole, "suppressed": float(share)}
            for name, bits, whole, share in zip(request.keys, chosen.lost, information(table), hidden, strict=True)
        ],
        "exact": chosen.exact,
        "searched": list(searched),
        "frontier": _frontier(table, found, chosen),
        "utility": utility_of(frame, numbers, request, original, table, chosen),
        "as_they_are": as_they_are,
        "identifying": [
            c for c in as_they_are if not published[c].dtype.is_float() and published[c].n_unique() > identifying
        ],
    }
    return Protected(published, log, _plain(report))


@dataclass(frozen=True, eq=False)
class _Tried:
    """The candidates of one strength of what was redrawn or swapped."""

    methods: Methods
    table: KeyTable
    setting: Setting
    found: list[Candidate]


def _tried(
    original: KeyTable,
    setting: Setting,
    request: Request,
    strata: Integers | None,
    generator: np.random.Generator,
    frontier: bool,
    progress: Progress,
) -> Iterator[_Tried]:
    """Candidates of each strength, or of what is given where none is searched."""
    aims = _aims(request.policy) if frontier else ()
    strengths: Sequence[float | None] = STRENGTHS if request.methods.searched else (None,)
    for number, strength in enumerate(strengths):
        methods = request.methods if strength is None else request.methods.at(strength)
        perturbed = perturbed_keys(original, methods, strata, generator)
        table, own = replace(original, codes=perturbed.codes), replace(setting, perturbed=perturbed)

        def part(stage: str, fraction: float, number: int = number) -> None:
            progress(stage, (number + fraction) / len(strengths))

        try:
            found = candidates(table, own, aims, part)
        except GemelError:
            if strength is None or strength == STRENGTHS[-1]:
                raise  # without changes a limit may be out of reach, and with them not
            found = []
        yield _Tried(methods, table, own, [replace(c, strength=strength) for c in found])


def _aims(policy: Policy) -> list[Policy]:
    """Policies beside the one that is given, to show what other limits would cost: a larger k, and k alone."""
    aims = [replace(policy, k=own) for own in _OTHER_K if policy.k is not None and own > policy.k]
    return [*aims, *([replace(policy, max_correct_matches=None)] if policy.max_correct_matches else [])]


def _unmet(found: Sequence[Candidate], request: Request) -> GemelError:
    limits = ", ".join(f"{name} {value:g}" for name, value in request.policy.limits.items())
    # A file that was judged by two numbers met the policy by the counts, so it is nearer than one that did not.
    nearest = min(found, key=lambda c: (c.risk.upper is None, len(c.breaches), c.risk.judged_matches), default=None)
    got = "no candidate" if nearest is None else f"at best a file that misses {', '.join(nearest.breaches)}"
    remedy = "allow a higher level in --levels, more suppression, or higher limits"
    if nearest is not None and nearest.risk.upper is not None:
        upper = nearest.risk.upper
        got += f" by {UPPER_WORDS[upper.by]}, and meets the policy by the counts alone"
        got += f"; no calibrated estimate: {upper.why}" if upper.why else ""
        remedy += "; or name what risk is measured against: --population, or a limit --k, by which the counts decide"
    return parameter("policy", f"nothing that was tried meets the policy ({limits})", got, remedy)


def _published(frame: pl.DataFrame, request: Request, table: KeyTable, chosen: Candidate) -> pl.DataFrame:
    """Columns in their order; a key as it was keeps its type, one that is left out is not there."""
    values = table.values(chosen.node, chosen.suppressed)
    columns = []
    for name in frame.columns:
        if name not in request.keys:
            columns += [] if name in request.dropped else [frame[name]]
            continue
        q = request.keys.index(name)
        level = chosen.node[q]
        if level == table.heights[q]:
            continue
        own = frame[name]
        if level == 0 and name not in (*request.methods.pram, *request.methods.swap):
            hidden = chosen.suppressed[:, q] | (table.codes[:, q] < 0)
            columns.append(own.to_frame().select(pl.when(pl.Series(~hidden)).then(pl.col(name))).to_series())
            continue
        column = pl.Series(name, values[name], dtype=pl.String)
        columns.append(column.cast(own.dtype) if level == 0 and own.dtype.is_integer() else column)
    return pl.DataFrame(columns)


def _key_changes(table: KeyTable, chosen: Candidate) -> list[Change]:
    changes = []
    for q, h in enumerate(table.hierarchies):
        level, hidden = chosen.node[q], int(chosen.suppressed[:, q].sum())
        if level == h.height:
            changes.append(Change(h.name, "left out", {}, int((table.codes[:, q] >= 0).sum())))
            continue
        if level:
            plain = np.array([a == b for a, b in zip(h.levels[0], h.levels[level], strict=True)])
            shown = (table.codes[:, q] >= 0) & ~chosen.suppressed[:, q]
            moved = int((~plain[table.codes[shown, q]]).sum())
            parameter = {"level": level, "of": h.height, "categories": len(h.labels[level])}
            changes.append(Change(h.name, "global recoding", parameter, moved))
        if hidden:
            changes.append(Change(h.name, "local suppression", {"missing": table.missing}, hidden))
    return changes


def _frontier(table: KeyTable, found: Sequence[Candidate], chosen: Candidate) -> list[dict[str, Any]]:
    rows = [
        {
            "levels": dict(zip(table.names, c.node, strict=True)),
            "k": c.risk.k,
            "strength": c.strength,
            "correct_matches": c.risk.judged_matches,
            "record_risk": c.risk.judged_record,
            "by_counts": {"correct_matches": c.risk.correct_matches, "record_risk": c.risk.record_risk},
            "upper": None if c.risk.upper is None else asdict(c.risk.upper),
            "bits_lost": sum(c.lost),
            "suppressed": c.share_suppressed,
            "breaches": list(c.breaches),
            "on_frontier": on,
            "chosen": c is chosen,
        }
        for c, on in zip(found, on_frontier(found), strict=True)
    ]
    return sorted(rows, key=lambda row: row["bits_lost"])


def _plain(value: Any) -> Any:
    """Ready for JSON: no number that is none."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return value
