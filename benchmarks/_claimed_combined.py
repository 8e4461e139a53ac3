"""What the combined assessment claims of two linked samples of a public population, beside what is true of it.

Alice's sample and Bob's overlap; each has some of the key variables, and Bob a sensitive one. Some matches are missed
and some links are false: to anybody of Bob's file that is not in Alice's, or to someone alike in two of her variables,
as blocking would have it. Link probabilities are drawn first and decide which links are false, so that they are
calibrated; then they may be changed, so that they claim another share, and an estimate of the true one, from as many
links as a check field might tell of, stands beside them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from benchmarks._figures import share
from benchmarks._public_populations import ADULT, EUSILC, EUSILC_P, SES, PublicPopulation
from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.expected_matches import Believed, unique_links, unique_matches, with_interval
from gemel.common.documents.linkage_document import LinkageDocument
from gemel.common.specification import Specification, load_specification
from gemel.risk.models.counts import distinct_rows

NEAR = 0.05
"""Pairs below this link probability are not reported."""


@dataclass(frozen=True)
class Split:
    """A population, and who holds what."""

    population: PublicPopulation
    alice: tuple[str, ...]
    bob: tuple[str, ...]
    sensitive: str
    block: tuple[str, ...]
    overlap: float = 0.05
    alone: float = 0.1


SPLITS = {
    "eusilcP": Split(EUSILC_P, ("region", "gender", "ageg"), ("ecoStat", "citizenship", "hs"), "", ("gender", "ageg")),
    "adult, 6 keys": Split(
        ADULT,
        ("age", "sex", "race", "native_country"),
        ("marital_status", "education"),
        "income",
        ("sex", "age"),
    ),
    "adult, 8 keys": Split(
        ADULT,
        ("age", "sex", "race", "native_country"),
        ("marital_status", "education", "workclass", "occupation"),
        "income",
        ("sex", "age"),
    ),
    "eusilc": Split(EUSILC, ("db040", "rb090", "age"), ("pl030", "pb220a", "hsize"), "", ("rb090", "age"), 0.1, 0.15),
    "ses": Split(
        SES, ("location", "sex", "age", "education"), ("NACE1", "size", "occupation"), "contract", ("sex", "age"),
        0.1, 0.15,
    ),
}  # fmt: skip
"""The last two are kept out of all tuning."""


@dataclass(frozen=True)
class Errors:
    """How the links err."""

    false: float
    missed: float = 0.05
    alike: bool = False
    claimed: float = 1.0

    def __str__(self) -> str:
        how = "none" if not self.false else f"{100 * self.false:g} %, {'alike' if self.alike else 'anybody'}"
        return how if self.claimed == 1 else f"{how}, {self.claimed:g} times as many claimed"


ERRORS = (
    Errors(0.0),
    Errors(0.03),
    Errors(0.1),
    Errors(0.03, alike=True),
    Errors(0.1, alike=True),
    Errors(0.1, claimed=0.5),
    Errors(0.1, claimed=1.5),
)


@dataclass(frozen=True)
class Sampled:
    """Two linked samples, and what is true of them."""

    combined: Combined
    spec: Specification
    linkage: LinkageDocument | None
    truth: dict[str, float]


@cache
def everybody(name: str) -> tuple[NDArray[np.int32], tuple[tuple[str, int], ...]]:
    """Codes of a split's population, and each variable with its number of categories: Alice's, Bob's, the sensitive."""
    split = SPLITS[name]
    names = [*split.alice, *split.bob, *([split.sensitive] if split.sensitive else [])]
    columns, levels = [], []
    table = split.population.records()
    for variable in names:
        values = table[variable].cast(str).fill_null("?").to_numpy()
        there, codes = np.unique(values, return_inverse=True)
        columns.append(codes)
        levels.append((variable, len(there)))
    return np.stack(columns, axis=1).astype(np.int32), tuple(levels)


def specification(split: Split, levels: tuple[tuple[str, int], ...]) -> Specification:
    """Of a project that links the two samples."""
    lines = []
    for variable, number in levels:
        holder = "alice" if variable in split.alice else "bob"
        role = "sensitive" if variable == split.sensitive else "key"
        categories = ", ".join(f"c{k}" for k in range(number))
        lines.append(f"  - {{name: {variable.lower()}, holder: {holder}, role: {role}, categories: [{categories}]}}")
    one = split.overlap + split.alone
    return load_specification(
        "version: 1\nproject: claimed\nmode: open\ncustodians: {alice: {identifier: id}, bob: {identifier:"
        " id}}\nfields:\n  - {name: surname, kind: name}\nvariables:\n" + "\n".join(lines) + "\n"
        f"assessment:\n  fractions: {{alice: {one:.9g}, bob: {one:.9g}, combined: {split.overlap:.9g}}}\n"
        "  limits: {correct_matches: 1}\n  on_breach: hold\n"
        "retention: {uploads_days: 7, results_days: 30, maps_days: 90}\n",
        "claimed",
    )


def sampled(name: str, errors: Errors, rng: np.random.Generator) -> Sampled:
    """Two samples, linked with errors."""
    split = SPLITS[name]
    codes, levels = everybody(name)
    spec = specification(split, levels)
    size = len(codes)
    order = rng.permutation(size)
    n_both, n_alone = round(split.overlap * size), round(split.alone * size)
    both, only_a, only_b = order[:n_both], order[n_both : n_both + n_alone], order[n_both + n_alone :][:n_alone]
    alices, bobs = np.concatenate([both, only_a]), np.concatenate([both, only_b])
    # Matches stand first in either file, in one order. Candidate links: probabilities first, truth after them.
    found = round((1 - errors.missed) * n_both)
    n_links = round(found / (1 - errors.false))
    chance = np.ones(n_links)
    if errors.false:
        doubtful = rng.random(n_links) < min(1.0, 4 * errors.false)
        mean = errors.false / min(1.0, 4 * errors.false)
        chance[doubtful] = 1 - rng.beta(2 * mean, 2 * (1 - mean), int(doubtful.sum()))
        chance = np.maximum(chance, 0.5)
    right = rng.random(n_links) < chance
    n_false = int((~right).sum())
    matches = rng.permutation(n_both)
    found = min(int(right.sum()), n_both)
    row_a, row_b = np.empty(n_links, dtype=np.int64), np.empty(n_links, dtype=np.int64)
    row_a[right] = row_b[right] = matches[:found]
    row_a[~right] = rng.permutation(np.arange(n_both, len(alices)))[:n_false]
    free = rng.permutation(np.arange(n_both, len(bobs)))
    row_b[~right] = _partners(codes[alices[row_a[~right]]], codes[bobs[free]], levels, split, errors.alike, free)
    # What was missed is among the pairs below the threshold, with others as probable.
    missed = matches[found:]
    share = rng.uniform(0.2, 0.5, len(missed))
    others = np.flatnonzero(rng.random(len(missed)) < 1 / share - 1)
    more = rng.choice(np.arange(n_both, len(alices)), len(others)), rng.choice(free, len(others))
    pair_a, pair_b = np.concatenate([row_a, missed, more[0]]), np.concatenate([row_b, missed, more[1]])
    pair_chance = np.concatenate([chance, share, share[others]])
    linkage = None
    if errors.claimed != 1:
        changed = _with_mean(chance, errors.claimed * errors.false)
        pair_chance, chance = np.concatenate([changed, pair_chance[n_links:]]), changed
        linkage = _estimated(right, rng)
    held = np.array([variable in split.alice for variable, _ in levels])
    alice = np.where(held, codes[alices], -1).astype(np.int32)
    bob = np.where(held, -1, codes[bobs]).astype(np.int32)
    combined = Combined(tuple(spec.variables), alice, bob, row_a, row_b, chance, pair_a, pair_b, pair_chance)
    return Sampled(combined, spec, linkage, _truth(combined, codes, right, alices, bobs, split, levels))


def _partners(
    of_a: NDArray[np.int32],
    of_free: NDArray[np.int32],
    levels: tuple[tuple[str, int], ...],
    split: Split,
    alike: bool,
    free: NDArray[np.int64],
) -> NDArray[np.int64]:
    """A row of Bob's for each of Alice's people, each once; alike ones as far as there are any left."""
    if not alike:
        return free[: len(of_a)]
    columns = [q for q, (variable, _) in enumerate(levels) if variable in split.block]
    left: dict[tuple[int, ...], list[int]] = {}
    for row, values in zip(free.tolist(), of_free[:, columns].tolist(), strict=True):
        left.setdefault(tuple(values), []).append(row)
    found, used = [], set()
    for values in of_a[:, columns].tolist():
        stock = left.get(tuple(values))
        if stock:
            found.append(stock.pop())
            used.add(found[-1])
        else:
            found.append(-1)
    rest = iter(row for row in free.tolist() if row not in used)
    return np.array([row if row >= 0 else next(rest) for row in found], dtype=np.int64)


def _with_mean(chance: NDArray[np.float64], false: float) -> NDArray[np.float64]:
    """The same probabilities with their odds of a false link changed so that they claim another share."""
    odds = (1 - chance) / np.maximum(chance, 1e-9)
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        moved = odds * np.exp(middle)
        low, high = (middle, high) if float((moved / (1 + moved)).mean()) < false else (low, middle)
    moved = odds * np.exp((low + high) / 2)
    return np.asarray(1 - moved / (1 + moved))


def _estimated(right: NDArray[np.bool_], rng: np.random.Generator) -> LinkageDocument:
    """A run's estimate of the share of true links, from a third of them."""
    seen = right[rng.random(len(right)) < 1 / 3]
    good, n = int(seen.sum()), len(seen)
    low, high = beta.ppf([0.025, 0.975], [good + 0.5] * 2, [n - good + 0.5] * 2)
    precision = {"value": good / n, "lower": float(low), "upper": float(high)}
    check: dict[str, Any] = {"method": "check_field", "precision": precision, "observations": n}
    linkage: dict[str, Any] = {
        "pairs": len(right),
        "candidates": len(right),
        "kept": len(right),
        "links": len(right),
        "records": {"alice": len(right), "bob": len(right)},
        "unlinked": {"alice": 0, "bob": 0},
        "threshold": 0.5,
        "histogram": {"edges": [0.0, 1.0], "counts": [0]},
        "blocking": None,
        "quality": [{**check, "supposes": []}],
    }
    return LinkageDocument.of(linkage, "linkage")


def _truth(
    combined: Combined,
    codes: NDArray[np.int32],
    right: NDArray[np.bool_],
    alices: NDArray[np.int64],
    bobs: NDArray[np.int64],
    split: Split,
    levels: tuple[tuple[str, int], ...],
) -> dict[str, float]:
    """Every measure as its meaning has it: behind a false link there are two people, and no match with it is right."""
    names = [variable for variable, _ in levels]
    keys = [q for q, variable in enumerate(names) if variable != split.sensitive]
    F, f, group = _counted(combined.codes[:, keys], codes[:, keys])
    unique = f == 1
    matched = np.where(right, 1.0 / np.maximum(F, 1), 0.0)
    alone = []
    for side, people in (("alice", alices[combined.row_a]), ("bob", bobs[combined.row_b])):
        own = [q for q in keys if (names[q] in split.alice) == (side == "alice")]
        size, _, _ = _counted(codes[people][:, own], codes[:, own])
        alone.append(float((1.0 / size).mean()))
    truth = {
        "sample_uniques": float((right & unique).mean()),
        "correct_unique_matches": float(right[unique].sum()) / max(1.0, float(F[unique].sum())),
        "population_uniques": float((right & (F == 1)).mean()),
        "correct_matches": float(matched.mean()),
        "largest_record_risk": float(matched.max()),
        "gain_over_own_file": max(0.0, float(matched.mean()) - min(alone)),
    }
    if split.sensitive:
        value = combined.codes[:, names.index(split.sensitive)].astype(np.int64)
        pairs = np.unique(np.stack([group, value], axis=1), axis=0)
        different = np.bincount(pairs[:, 0], minlength=group.max() + 1)[group]
        truth["certain_attribution"] = truth["few_values"] = float((right & (different == 1)).mean())
    return truth


def _counted(
    records: NDArray[np.int32], people: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """How many people, and how many of the records, have each record's values; and the group of those."""
    both = np.concatenate([records, people])
    _, which = distinct_rows(both, (both.max(axis=0) + 1).tolist())
    n, groups = len(records), int(which.max()) + 1
    F, f = np.bincount(which[n:], minlength=groups), np.bincount(which[:n], minlength=groups)
    own = which[:n]
    return F[own].astype(np.int64), f[own].astype(np.int64), own.astype(np.int64)


@dataclass(frozen=True)
class Claimed:
    """One measure over replicates: what was claimed, what is true, and how often the interval held the truth."""

    claimed: float
    true: float
    inside: int | None
    of: int
    width: float | None

    @property
    def bias(self) -> float:
        """Relative to the truth."""
        return self.claimed / self.true - 1 if self.true else float("nan")


def compared(name: str, errors: Errors, replicates: int, seed: int) -> dict[str, Claimed]:
    """The measures of people over `replicates` pairs of samples; the r-th is drawn with the seed ``[seed, r]``."""
    found: dict[str, list[tuple[float, float, float | None, float | None]]] = {}
    for r in range(replicates):
        made = sampled(name, errors, np.random.default_rng([seed, r]))
        assert made.spec.assessment is not None
        share = made.spec.assessment.fractions.of("combined")
        cases = Believed.of(made.combined, share, made.linkage).cases()
        for measure, e in {
            "sample_uniques": unique_links(cases),
            "correct_unique_matches": unique_matches(cases)[1],
            "population_uniques": with_interval("alone", cases, ""),
            "correct_matches": with_interval("matched", cases, ""),
        }.items():
            found.setdefault(measure, []).append((e.value, made.truth[measure], e.lower, e.upper))
    result = {}
    for measure, rows in found.items():
        ends = [(low, high, true) for _, true, low, high in rows if low is not None and high is not None]
        result[measure] = Claimed(
            float(np.mean([row[0] for row in rows])),
            float(np.mean([row[1] for row in rows])),
            sum(low - 1e-9 <= true <= high + 1e-9 for low, high, true in ends) if ends else None,
            len(rows),
            float(np.mean([high - low for low, high, _ in ends])) if ends else None,
        )
    return result


def run(names: tuple[str, ...], every: tuple[Errors, ...], replicates: int, seed: int) -> Iterator[str]:
    """The lines of the table."""
    yield (
        "| population | false links | measure | true | claimed | bias, % of the truth | width of the interval"
        " | truth inside |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for name in names:
        named = name if SPLITS[name].population.tuned else f"{name} (kept out)"
        for errors in every:
            for measure, c in compared(name, errors, replicates, seed).items():
                held = "no interval" if c.inside is None else share(c.inside, c.of)
                width = "" if c.width is None else f"{c.width:.4f}"
                yield (
                    f"| {named} | {errors} | `{measure}` | {c.true:.4f} | {c.claimed:.4f} | {100 * c.bias:+.0f} |"
                    f" {width} | {held} |"
                )
