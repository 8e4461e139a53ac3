"""A built population with known truth: two samples of it, their links with errors, and every true risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.carole.assessment.attribution import Groups, learnt
from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.publication import recovery
from gemel.common.specification import Specification, load_specification
from gemel.risk.models.counts import distinct_rows

MISSING = 0.02
FALSE_LINKS = 0.02
MISSED = 0.05


@dataclass(frozen=True)
class Trait:
    """A variable of the population: who holds it, its number of categories, its role."""

    name: str
    holder: str
    levels: int
    role: str


SMALL = (
    Trait("sex", "both", 2, "key"),
    Trait("age", "alice", 7, "key"),
    Trait("region", "alice", 8, "key"),
    Trait("occupation", "bob", 9, "key"),
    Trait("household", "bob", 4, "key"),
    Trait("income", "alice", 4, "sensitive"),
    Trait("illness", "bob", 4, "sensitive"),
)
"""Five keys."""

FEW = tuple(trait for trait in SMALL if trait.name not in ("age", "household"))
"""Three keys, with which hardly anybody is alone in a large population."""

WIDE = (
    *SMALL,
    Trait("education", "alice", 5, "key"),
    Trait("marital", "alice", 4, "key"),
    Trait("tenure", "bob", 4, "key"),
)
"""Eight keys."""


def specification(
    traits: Sequence[Trait], fractions: tuple[float, float, float], limits: str = "correct_matches: 0.2"
) -> Specification:
    """Of a project that links them."""
    lines = [
        f"  - {{name: {t.name}, holder: {t.holder}, role: {t.role},"
        f" categories: [{', '.join(f'c{k}' for k in range(t.levels))}]}}"
        for t in traits
    ]
    alice, bob, combined = fractions
    return load_specification(
        "version: 1\nproject: built\nmode: open\ncustodians: {alice: {identifier: id}, bob: {identifier:"
        " id}}\nfields:\n  - {name: surname, kind: name}\nvariables:\n" + "\n".join(lines) + "\n"
        "assessment:\n"
        f"  fractions: {{alice: {alice:.9g}, bob: {bob:.9g}, combined: {combined:.9g}}}\n"
        "  tables:\n    - {variables: [region, illness]}\n"
        "    - {variables: [sex, occupation], protection: random, base: 5}\n"
        f"  limits: {{{limits}}}\n  on_breach: hold\n"
        "retention: {uploads_days: 7, results_days: 30, maps_days: 90}\n",
        "built",
    )


@dataclass(frozen=True)
class Built:
    """A population, what was linked of it, and what is true of it."""

    combined: Combined
    spec: Specification
    truth: dict[str, float]


def population(traits: Sequence[Trait], size: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Codes of everybody: one of four walks of life decides how common each category is, some values are missing."""
    walk = rng.integers(0, 4, size)
    columns = []
    for trait in traits:
        shares = rng.dirichlet(np.full(trait.levels, 1.5), 4)
        drawn = (rng.random(size)[:, None] > shares.cumsum(axis=1)[walk][:, :-1]).sum(axis=1)
        columns.append(np.where(rng.random(size) < MISSING, -1, drawn))
    return np.stack(columns, axis=1).astype(np.int32)


def built(
    traits: Sequence[Trait],
    size: int,
    fractions: tuple[float, float],
    rng: np.random.Generator,
    limits: str = "correct_matches: 0.2",
) -> Built:
    """Sample two files, link them with errors, and work out every true risk of what was linked.

    A false link has a person of each file; no one is found behind it. Links that are right are given link
    probabilities: how often such links are right.
    """
    everybody = population(traits, size, rng)
    alices, bobs = (np.flatnonzero(rng.random(size) < fraction) for fraction in fractions)
    held = {side: np.array([t.holder in ("both", side) for t in traits]) for side in ("alice", "bob")}
    files = {
        side: np.where(held[side], everybody[people], -1).astype(np.int32)
        for side, people in (("alice", alices), ("bob", bobs))
    }
    place = np.full(size, -1)
    place[bobs] = np.arange(len(bobs))
    both = np.flatnonzero(place[alices] >= 0)
    found = both[rng.random(len(both)) >= MISSED]
    row_a, row_b = found.astype(np.int64), place[alices[found]].astype(np.int64)
    # Wrong partners for some, among Bob's people that no one is linked to.
    wrong = rng.random(len(row_a)) < FALSE_LINKS
    free = np.setdiff1d(np.arange(len(bobs)), row_b)
    wrong &= np.cumsum(wrong) <= len(free)
    row_b[wrong] = rng.permutation(free)[: int(wrong.sum())]
    chance = np.full(len(row_a), 1.0 - FALSE_LINKS)
    shares = (len(alices) / size, len(bobs) / size, len(row_a) / size)
    spec = specification(traits, shares, limits)
    variables = tuple(spec.variables)
    combined = Combined(variables, files["alice"], files["bob"], row_a, row_b, chance, row_a, row_b, chance)
    right = alices[row_a] == bobs[row_b]
    ideal_rows = (both.astype(np.int64), place[alices[both]].astype(np.int64))
    sure = np.ones(len(both))
    ideal = Combined(variables, files["alice"], files["bob"], *ideal_rows, sure, *ideal_rows, sure)
    truth = _identified(combined, everybody, right, files) | _attributed(ideal, everybody)
    truth |= _recovered(combined, spec, rng) | _learnt(combined, right, spec)
    return Built(combined, spec, truth)


def _identified(
    combined: Combined, everybody: NDArray[np.int32], right: NDArray[np.bool_], files: dict[str, NDArray[np.int32]]
) -> dict[str, float]:
    keys = combined.columns(combined.with_role("key"))
    sizes, own = _counted(combined.codes[:, keys], everybody[:, keys])
    unique = own == 1
    found = np.where(right & (sizes > 0), 1.0 / np.maximum(sizes, 1), 0.0)
    matches = float(found.mean())
    alone = []
    for side, rows in (("alice", combined.row_a), ("bob", combined.row_b)):
        known = combined.columns([v.name for v in combined.variables if v.role == "key" and v.held_by(side)])
        people, _ = _counted(files[side][rows][:, known], everybody[:, known])
        alone.append(float((1.0 / people).mean()))
    return {
        "correct_unique_matches": float(right[unique].sum()) / max(1.0, float(sizes[unique].sum())),
        "population_uniques": float((right & (sizes == 1)).mean()),
        "correct_matches": matches,
        "largest_record_risk": float(found.max()),
        "gain_over_own_file": max(0.0, matches - min(alone)),
        "members_disclosed": max(float(right.sum()) / len(file) for file in files.values()),
    }


def _attributed(ideal: Combined, everybody: NDArray[np.int32]) -> dict[str, float]:
    """The rise of a value's probability in the output as it would be without an error, over the population's."""
    keys = ideal.columns(ideal.with_role("key"))
    rises = []
    for q in ideal.columns(ideal.with_role("sensitive")):
        there = ideal.codes[:, q] >= 0
        records, values = ideal.codes[there][:, keys], ideal.codes[there][:, [q]]
        own, _ = _counted(np.hstack([records, values]), np.hstack([records, values]))
        all_of_group, _ = _counted(records, records)
        known = everybody[:, q][everybody[:, q] >= 0]
        common = np.bincount(known, minlength=len(ideal.variables[q].categories)) / len(known)
        rises.append(float((own / all_of_group - common[values[:, 0]]).max()))
    return {"attribution_gain": max(rises)}


def _recovered(combined: Combined, spec: Specification, rng: np.random.Generator) -> dict[str, float]:
    """What is recovered of the tables of the links, randomly rounded once more as they are published."""
    policy = spec.assessment
    assert policy is not None
    listed = [policy.tables, *((table,) for table in policy.tables)]
    return {"subtraction": max(recovery(combined, tables, policy.known_people, rng).probability for tables in listed)}


def _learnt(combined: Combined, right: NDArray[np.bool_], spec: Specification) -> dict[str, float]:
    """What is learnt of the linked records that are of one person; and those of them that are unique."""
    policy = spec.assessment
    assert policy is not None
    keys = combined.columns(combined.with_role("key"))
    codes, pairs = combined.codes, combined.pair_codes
    groups = Groups.of(codes[:, keys], pairs[:, keys])
    every = [
        learnt(
            groups, codes[:, q], pairs[:, q], combined.pair_probability, len(variable.categories), policy,
            [right.astype(np.float64)],
        )
        for q, variable in enumerate(combined.variables)
        if variable.role == "sensitive"
    ]  # fmt: skip
    shares = ("certain_attribution", "probable_attribution", "few_values")
    _, own = _counted(codes[:, keys], codes[:, keys])
    unique = {"sample_uniques": float((right & (own == 1)).mean())}
    return {name: max(one.measures[name].value for one in every) for name in shares} | unique


def _counted(records: NDArray[np.int32], people: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many people, and how many of the records, have each record's values."""
    both = np.concatenate([records, people]) + 1
    _, which = distinct_rows(both, (both.max(axis=0) + 1).tolist())
    n = len(records)
    there = np.bincount(which[n:], minlength=which.max() + 1)
    own = np.bincount(which[:n], minlength=which.max() + 1)
    return there[which[:n]].astype(np.int64), own[which[:n]].astype(np.int64)
