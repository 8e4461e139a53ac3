"""Protection of Adult (8 keys, age in years): risk and utility of `gemel risk protect` beside suppression by sdcMicro.

The policy: every record agrees with at least 3, and expected correct matches are at most .5 % of the records. Two
readings of it: the file is a sample of 5 %, and an intruder knows who is in the file (fraction 1). sdcMicro's route is
its documented algorithm (`_suppression_peer`), for k = 3, and with k raised until the file meets the policy. The same
functions measure all rows.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from benchmarks._public_populations import ADULT, EUSILC, SES
from gemel.risk.models.counts import distinct_rows
from gemel.risk.protection.candidate import Candidate, Setting, measured
from gemel.risk.protection.changes import Levels
from gemel.risk.protection.comparison import utility_of
from gemel.risk.protection.key_table import KeyTable
from gemel.risk.protection.local_suppression import suppress
from gemel.risk.protection.minimal_change import candidates, minimal_change, refined
from gemel.risk.protection.policy import Policy
from gemel.risk.protection.request import Request


def documented_suppression(codes: NDArray[np.int32], sizes: list[int], k: int) -> NDArray[np.bool_]:
    """Which values the documented algorithm suppresses, shape (n_records, n_keys)."""
    _, which = distinct_rows(codes + 1, [s + 1 for s in sizes])
    order = np.argsort(which, kind="stable")
    start = np.flatnonzero(np.r_[True, np.diff(which[order]) > 0])
    place = np.arange(len(order)) - np.repeat(start, np.diff(np.r_[start, len(order)]))
    kept = np.sort(order[place < k])
    now = codes[kept].copy()
    levels = np.array([len(np.unique(codes[codes[:, q] >= 0, q])) for q in range(codes.shape[1])])
    keys = np.argsort(-levels, kind="stable")
    f = _frequencies(now)
    while (f < k).any():
        short = np.flatnonzero(f < k)
        _round(now, short[np.argsort(f[short], kind="stable")], keys, k)
        f = _frequencies(now)
    mask = np.zeros(codes.shape, dtype=bool)
    mask[kept] = (now < 0) & (codes[kept] >= 0)
    return mask


@njit(cache=True)
def _frequencies(now: NDArray[np.int32]) -> NDArray[np.int64]:
    n, width = now.shape
    f = np.zeros(n, dtype=np.int64)
    for i in range(n):
        for j in range(n):
            agrees = True
            for q in range(width):
                if now[i, q] != now[j, q] and now[i, q] >= 0 and now[j, q] >= 0:
                    agrees = False
                    break
            f[i] += agrees
    return f


@njit(cache=True)
def _round(now: NDArray[np.int32], short: NDArray[np.int64], keys: NDArray[np.int64], k: int) -> None:
    n, width = now.shape
    distance = np.empty(n, dtype=np.int64)
    for i in short:
        nearest, agree = width, 0
        for j in range(n):
            d = 0
            for q in range(width):
                if now[i, q] != now[j, q] and now[i, q] >= 0 and now[j, q] >= 0:
                    d += 1
            distance[j] = d
            agree += d == 0
            if 0 < d < nearest:
                nearest = d
        if agree >= k:
            continue
        done = False
        for q in keys:
            for j in range(n):
                if distance[j] == nearest and now[i, q] != now[j, q] and now[i, q] >= 0 and now[j, q] >= 0:
                    now[i, q] = -1
                    done = True
                    break
            if done:
                break


POLICY = Policy(k=3, max_correct_matches=0.005)

_EDUCATION = {
    "below 9th": ("Preschool", "1st-4th", "5th-6th", "7th-8th"),
    "9th to 12th": ("9th", "10th", "11th", "12th"),
    "school": ("HS-grad",),
    "college": ("Some-college", "Assoc-acdm", "Assoc-voc"),
    "Bachelors": ("Bachelors",),
    "higher": ("Masters", "Prof-school", "Doctorate"),
}
_MARITAL = {
    "married": ("Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"),
    "was married": ("Divorced", "Separated", "Widowed"),
    "Never-married": ("Never-married",),
}
_WORK = {
    "government": ("Federal-gov", "State-gov", "Local-gov"),
    "self-employed": ("Self-emp-inc", "Self-emp-not-inc"),
    "Private": ("Private",),
    "unpaid": ("Without-pay", "Never-worked"),
}
HIERARCHIES = {"education": _EDUCATION, "marital_status": _MARITAL, "workclass": _WORK}


def levels() -> Levels:
    """Hierarchies of Adult that a user would write; the other keys have the default ones."""
    rows = {
        key: ([[value, group] for group, values in groups.items() for value in values], key)
        for key, groups in HIERARCHIES.items()
    }
    return Levels(rows=rows, widths={"age": (5, 10, 20)}, top={"age": 80})


def row(name: str, frame: pl.DataFrame, request: Request, table: KeyTable, candidate: Candidate, seconds: float) -> str:
    """A line of the table."""
    found = utility_of(frame, frame, request, table, table, candidate)
    hellinger = np.mean([t["hellinger"] for t in found["tables"]])
    overlap = np.mean([c["overlap"] for c in found["coefficients"]]) if found["coefficients"] else float("nan")
    risk, meets = candidate.risk, "no" if candidate.breaches else "yes"
    return (
        f"{name:44s} {risk.k:4d} {risk.correct_matches:8.4f} {candidate.suppressed.sum():8,d} "
        f"{sum(candidate.lost):6.2f} {hellinger:9.3f} {overlap:8.2f}   {meets:>4s} {seconds:6.1f}"
    )


def chosen(
    frame: pl.DataFrame, request: Request, setting: Setting, name: str = "gemel risk protect"
) -> tuple[str, tuple[int, ...]]:
    """A line for the change that the command chooses, and its levels."""
    begun = time.process_time()
    table = request.table(frame)
    best = minimal_change(candidates(table, setting))
    assert best is not None
    best = refined(table, setting, best)
    return row(name, frame, request, table, best, time.process_time() - begun), best.node


def adult(fraction: float, *, peer: bool, raised: bool) -> None:
    """The table for one reading of the policy."""
    frame = ADULT.records()
    keys = ADULT.keys["8 keys"]
    request = Request(
        keys, fraction, POLICY, levels(), model=("hours_per_week", ("age", "sex", "marital_status")), missing="any"
    )
    table = request.table(frame)
    setting = Setting(POLICY, fraction, (1.0,) * len(keys))
    bottom = (0,) * len(keys)
    codes, sizes = table.at(bottom), [int(s) for s in table.sizes(bottom)]
    print(f"\nAdult, {frame.height:,} records, 8 keys, fraction {fraction:g}: k >= 3, correct matches <= .005\n")
    print(" " * 47 + "k  matches   values   bits Hellinger  overlap  meets      s")
    nothing = measured(table, bottom, np.zeros(codes.shape, dtype=bool), setting)
    print(row("as it is", frame, request, table, nothing, 0.0))
    for name, method in (
        ("sdcMicro's documented suppression", documented_suppression if peer else None),
        ("Gemel's suppression", suppress),
    ):
        low, high = 3, 11  # at a fraction of .05 no record with which 11 agree is above the limit
        k, lines = 3, dict[int, str]()
        while method is not None and low <= high:
            begun = time.process_time()
            found = measured(table, bottom, method(codes, sizes, k), setting, k)
            lines[k] = row(f"{name}, k = {k}", frame, request, table, found, time.process_time() - begun)
            if k == 3:
                print(lines[k], flush=True)
            low, high = (k + 1, high) if found.breaches else (low, k - 1)
            if not raised:
                break
            k = (low + high) // 2
        if low in lines and low > 3:
            print(lines[low], flush=True)
    for missing, name in (("any", "gemel risk protect --missing any"), ("level", "gemel risk protect")):
        line, node = chosen(frame, replace(request, missing=missing), setting, name)
        print(line, flush=True)
        print("  levels:", ", ".join(f"{n} {i}" for n, i in zip(keys, node, strict=True) if i) or "as they are")


def held_out() -> None:
    """The populations that nothing was tuned on: whether the policy is met, and at what cost."""
    for population, keys in ((EUSILC, "6 keys"), (SES, "7 keys")):
        names = population.keys[keys]
        frame = population.records().select(names)
        request = Request(names, 0.05, POLICY)
        setting = Setting(POLICY, 0.05, (1.0,) * len(names))
        print(f"\n{population.name}, {frame.height:,} records, {keys}, fraction .05")
        print(chosen(frame, request, setting)[0])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks protect", description=__doc__)
    parser.add_argument("--no-peer", action="store_true", help="leave sdcMicro's algorithm out, which takes minutes")
    parser.add_argument("--held-out", action="store_true", help="also the populations kept out of all tuning")
    options = parser.parse_args(arguments)
    for own in ((0.05, True), (1.0, False)):
        adult(own[0], peer=not options.no_peer and own[1], raised=own[1])
    if options.held_out:
        held_out()
    print("\nvalues: suppressed; bits: lost a record; Hellinger: mean of all tables of two keys; overlap: mean of the")
    print("intervals of a regression of hours on age, sex and marital status; s: seconds of processor")
    return 0
