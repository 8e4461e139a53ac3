"""What is required of judged worlds, and whether it is met: claims that hold, F1 beside the peer's, warnings, time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.worlds.judged import Outcome
from benchmarks.worlds.kept import Judged

FIGURES = ("precision", "recall", "sum", "people", "candidates")
"""What is claimed; the first three have requirements."""
REQUIRED = FIGURES[:3]
NUMBERS = ("sum", "people")
"""Figures that are no shares."""

COVERED, COVERED_BY_VALUE, JUDGED = 0.92, 0.85, 30
"""Least share of intervals that hold the truth: of all, and within a value of a dimension that so many claims have."""
WIDTHS = {"precision": 0.04, "recall": 0.06}
"""Largest median width of the intervals."""
F1_LESS, F1_SHARE = 0.005, 0.95
"""How far F1 may be below the peer's, and in what share of the worlds it has to be at least that."""
POOR, WARNED = 0.9, 0.9
"""F1 below which there is to be a serious warning, in at least this share of such worlds."""
GOOD, WARNED_OF_GOOD = 0.97, 0.05
"""F1 above which there is to be none, but in at most this share."""
TIMES_COUNTING, COUNTED = 5.0, 5.0
"""Times counting that deciding may take, where counting takes more than so many seconds."""
AT_MOST, RECORDS = 30.0, 5000
"""Seconds that deciding may take with files of at most so many records."""


@dataclass(frozen=True)
class Requirement:
    """What is required, what was measured, and whether that meets it; None where nothing was there to measure."""

    what: str
    bound: str
    measured: str
    met: bool | None

    @property
    def row(self) -> str:
        verdict = {True: "met", False: "NOT met", None: "not measured"}[self.met]
        return f"| {self.what} | {self.bound} | {self.measured} | {verdict} |"


def held(own: Outcome, figure: str) -> bool | None:
    """Whether a claim's interval holds the truth; None where the claim does not count."""
    true = own.true.get(figure)
    if own.incident or own.refused or true is None:
        return None
    value, lower, upper = own.claims.get(figure, (None, None, None))
    if lower is None or upper is None:
        # The share of matches among the compared pairs may be said not to be estimable.
        return None if figure == "candidates" and value is None else False
    # An end that is the truth may be off by rounding.
    return lower - 1e-9 <= true <= upper + 1e-9


def coverage(owns: Iterable[Outcome], figure: str) -> tuple[float, int]:
    """Share of the claims that count whose interval holds the truth, NaN of none, and how many count."""
    counted = [one for own in owns if (one := held(own, figure)) is not None]
    return mean(counted), len(counted)


def error(own: Outcome, figure: str) -> float | None:
    """What is claimed beyond the truth, of a number as a share of it; None where nothing is claimed."""
    true, value = own.true.get(figure), own.claims.get(figure, (None,))[0]
    return None if true is None or value is None else (value - true) / _unit(figure, true)


def by_value(owns: Iterable[Outcome]) -> dict[tuple[str, str], list[Outcome]]:
    """The worlds of every value of every dimension."""
    found: dict[tuple[str, str], list[Outcome]] = {}
    for own in owns:
        for label in own.labels.items():
            found.setdefault(label, []).append(own)
    return dict(sorted(found.items()))


def too_slow(own: Outcome) -> bool:
    """Whether deciding took longer than a requirement allows."""
    long = own.counting > COUNTED and own.deciding > TIMES_COUNTING * own.counting
    return long or (max(own.records) <= RECORDS and own.deciding > AT_MOST)


def requirements(found: Sequence[Judged]) -> list[Requirement]:
    """Everything that is required of worlds."""
    owns = [one.own for one in found]
    made = [_least("runs without an incident", mean([not own.incident for own in owns]), len(owns), 1.0)]
    for figure in REQUIRED:
        made.append(_least(f"{figure}: intervals that hold the truth", *coverage(owns, figure), COVERED))
    made.append(_every_value(owns))
    for figure, bound in WIDTHS.items():
        wide = widths(owns, figure)
        made.append(_most(f"{figure}: median width", quantile(wide, 0.5), len(wide), bound, ".4f"))
    beside = [(one.own.f1, one.peer.f1) for one in found if one.peer is not None and not one.peer.refused]
    near = mean([own >= peer - F1_LESS for own, peer in beside])
    made.append(_least(f"F1 at least the peer's less {F1_LESS}", near, len(beside), F1_SHARE))
    own_mean, peer_mean = (mean([pair[side] for pair in beside]) for side in (0, 1))
    measured = f"{own_mean:.4f} (n {len(beside)})"
    made.append(Requirement("mean F1", f"≥ the peer's {peer_mean:.4f}", measured, _met(own_mean >= peer_mean, beside)))
    poor, good = [own.serious for own in owns if own.f1 < POOR], [own.serious for own in owns if own.f1 > GOOD]
    made.append(_least(f"a serious warning where F1 < {POOR}", mean(poor), len(poor), WARNED))
    made.append(_most(f"a serious warning where F1 > {GOOD}", mean(good), len(good), WARNED_OF_GOOD, ".1%"))
    some = [own.serious for own in owns if own.f1 > GOOD and own.matches]
    made.append(_most("the same, with people in common", mean(some), len(some), WARNED_OF_GOOD, ".1%"))
    slow = [str(own.seed) for own in owns if too_slow(own)]
    limits = f"≤ {TIMES_COUNTING:g} x counting above {COUNTED:g} s; ≤ {AT_MOST:g} s to {RECORDS:,} records"
    made.append(Requirement("deciding", limits, f"{len(slow)} longer (n {len(owns)})", _met(not slow, owns)))
    return made


def _every_value(owns: Sequence[Outcome]) -> Requirement:
    """The least coverage of a required figure within any value that enough worlds have."""
    found = []
    for (dimension, value), some in by_value(owns).items():
        for figure in REQUIRED:
            share, n = coverage(some, figure)
            if n >= JUDGED:
                found.append((share, f"{figure}, {dimension} {value}"))
    below = sum(share < COVERED_BY_VALUE for share, _ in found)
    measured = f"{below} of {len(found)} below" + (", least {:.1%} ({})".format(*min(found)) if found else "")
    what = f"intervals that hold the truth, by value of {JUDGED} worlds"
    return Requirement(what, f"≥ {COVERED_BY_VALUE:.0%}", measured, _met(not below, found))


def _least(what: str, share: float, n: int, bound: float) -> Requirement:
    return Requirement(what, f"≥ {bound:.0%}", f"{share:.1%} (n {n})", share >= bound if n else None)


def _most(what: str, value: float, n: int, bound: float, style: str) -> Requirement:
    return Requirement(what, f"≤ {bound:{style}}", f"{value:{style}} (n {n})", value <= bound if n else None)


def _met(met: bool, measured: Sequence[object]) -> bool | None:
    return met if measured else None


def widths(owns: Iterable[Outcome], figure: str) -> list[float]:
    """Of the intervals of claims that count, a number's as a share of what is true."""
    found = []
    for own in owns:
        _, lower, upper = own.claims.get(figure, (None, None, None))
        if held(own, figure) is not None and lower is not None and upper is not None:
            found.append((upper - lower) / _unit(figure, own.true[figure] or 0.0))
    return found


def _unit(figure: str, true: float) -> float:
    return max(true, 1.0) if figure in NUMBERS else 1.0


def mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def quantile(values: Sequence[float], share: float) -> float:
    return float(np.quantile(values, share)) if len(values) else float("nan")
