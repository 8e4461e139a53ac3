"""What dependent fields do to precision, and what a model of them restores: ``python -m benchmarks dependence``.

First a built case: a suburb and its postcode, which people share with their neighbours and which change together when
they move. Then invented people whose kin are in the other file, under their surname, address and telephone, linked with
either kind of dependence. Precision and recall are of all pairs with a match probability of .5 or more, each pair taken
by itself, and of the decision under one-to-one. At last the same people by their names and the parts of their date of
birth as three fields, which do not depend on each other: what evidence chooses must not lose there.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks._in_process import JudgedLinks, SignedFiles, judged
from gemel.carole.engine.run.plan import Dependence
from gemel.carole.engine.run.result import Linkage
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.evaluation.link_quality import quality
from gemel.carole.fellegi_sunter.em import fit
from gemel.carole.fellegi_sunter.kinds.estimation import first_joint, fit_joint
from gemel.carole.fellegi_sunter.kinds.joint_model import JointModel
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.carole.fellegi_sunter.link_rule import Assignment, assigned
from gemel.carole.fellegi_sunter.model import Model, PatternCounts
from gemel.carole.fellegi_sunter.settings import Estimation, FieldLevels
from gemel.common.parties import Side
from gemel.common.specification import Specification
from gemel.common.specification.model.column_words import described_by
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.demonstration.people.population import IDENTIFIER
from gemel.coordinator.draft.specification_draft import draft

KINDS: tuple[tuple[str, Dependence], ...] = (("independence", "none"), ("kinds of pairs", "auto"))
"""Name, and dependence of the model."""

FIELDS = [
    FieldLevels("given_name", 2, describes="name"),
    FieldLevels("surname", 2, describes="family"),
    FieldLevels("born", 2, describes="birth"),
    FieldLevels("suburb", 2, describes="household"),
    FieldLevels("postcode", 2, describes="household"),
]
WORTH_KEEPING = 1e-4
NEAR = 10.0
"""Bits from the decision within which a weight matters."""
SHOWN = 0.05
"""Share of the population in the files whose match weights are examined."""


@dataclass(frozen=True)
class Neighbours:
    """All pairs of two files in which suburb and postcode go together, row by row with their pattern."""

    patterns: PatternCounts
    member: NDArray[np.int64]
    is_match: NDArray[np.bool_]
    n_a: int
    n_b: int


def neighbours(rng: np.random.Generator, n: int = 1000, common: int = 500, moved: float = 0.2) -> Neighbours:
    """Two files of `n` people in 60 suburbs of one postcode each; a share of those in common has moved in between.

    Names and year of birth have errors of their own, which know nothing of each other.
    """

    def people(k: int) -> NDArray[np.int64]:
        place = rng.integers(0, 60, k)
        others = [rng.integers(0, values, k) for values in (60, 150, 60)]
        return np.column_stack([*others, place, place])

    a = people(n)
    b = np.vstack([a[:common], people(n - common)])
    for q, error in enumerate((0.15, 0.15, 0.1)):
        wrong = rng.random(n) < error
        b[wrong, q] = rng.integers(1000, 2000, int(wrong.sum()))
    gone = np.flatnonzero(rng.random(n) < moved)
    b[gone, 3:] = rng.integers(0, 60, len(gone))[:, None]
    return counted(a, b, common)


def counted(a: NDArray[np.int64], b: NDArray[np.int64], common: int) -> Neighbours:
    """Every pair of two files' values compared for equality; the first `common` rows of both are the same people."""
    (n_a, n_fields), n_b = a.shape, len(b)
    code = sum((a[:, None, q] == b[None, :, q]).astype(np.int64) << q for q in range(n_fields))
    vectors, member, count = np.unique(np.asarray(code).ravel(), return_inverse=True, return_counts=True)
    distinct = (vectors[:, None] >> np.arange(n_fields) & 1).astype(np.int8)
    same = np.zeros((n_a, n_b), dtype=np.bool_)
    same[np.arange(common), np.arange(common)] = True
    patterns = PatternCounts(distinct, np.zeros(len(distinct), dtype=np.uint32), count.astype(np.int64))
    return Neighbours(patterns, member.ravel().astype(np.int64), same.ravel(), n_a, n_b)


def linked(
    case: Neighbours, kind: str, fields: Sequence[FieldLevels] = FIELDS
) -> tuple[Model, JointModel, NDArray[np.float64], NDArray[np.int64]]:
    """The built case linked: models, the match probability of each pair by itself, and the links under one-to-one."""
    model = fit(case.patterns, fields, case.n_a, case.n_b)
    start = first_joint(model, case.patterns, kind, Estimation())
    by_pattern = np.maximum(*(each.match_probabilities(case.patterns.gamma) for each in (model, start)))
    kept = np.flatnonzero(by_pattern[case.member] >= WORTH_KEEPING)
    row_a, row_b = np.divmod(kept, case.n_b)
    pairs = LinkPosterior("one_to_one", row_a, row_b, case.n_a, case.n_b), case.member[kept]
    model, joint, posterior = fit_joint(model, case.patterns, kind, pairs=pairs)
    by_pattern = joint.match_probabilities(case.patterns.gamma)
    assert posterior is not None
    return model, joint, by_pattern[case.member], kept[assigned(row_a, row_b, posterior.probability, 0.5, "one_to_one")]


def kin(
    n: int, sampled: float, seed: int, block: bool, assignment: Assignment = "one_to_one"
) -> dict[str, tuple[Linkage, NDArray[np.bool_], int]]:
    """Invented people: by kind of dependence the linkage, which of its pairs are matches, and how many there are."""
    tables = two_files(n, n, n // 2, 0.2, np.random.default_rng(seed), sampled=sampled)
    spec, *_ = draft(tables[0].drop(TRUTH), tables[1].drop(TRUTH), "dependence", block)
    files = SignedFiles.of(*tables, spec)
    found: dict[str, tuple[Linkage, NDArray[np.bool_], int]] = {}
    for name, kind in KINDS:
        run = files.linked(replace(plan_of(spec), dependence=kind, assignment=assignment))
        found[name] = run, *files.matches(run)
    return found


PARTS = {"given_name": "name", "surname": "name", "year": "category", "month": "category", "day": "category"}
"""Fields of people who are known by name and date of birth only, with their kinds."""


def parts_of_a_date(n: int, common: int, sampled: float, seed: int) -> dict[str, tuple[str, JudgedLinks]]:
    """Link people by name and parts of a date: by kind of dependence what law and how many kinds, and the links."""
    spec = Specification.model_validate(
        {
            "version": 1,
            "project": "parts",
            "mode": "open",
            "custodians": {side: {"identifier": IDENTIFIER} for side in Side},
            "fields": [{"name": name, "kind": kind, "describes": described_by(name)} for name, kind in PARTS.items()],
            "retention": {"uploads_days": 7, "results_days": 30, "maps_days": 90},
        }
    )
    date = pl.col("date_of_birth").str.split("-").list
    tables = [
        table.with_columns(date.get(k, null_on_oob=True).alias(name) for k, name in enumerate(list(PARTS)[2:]))
        for table in two_files(n, n, common, 0.2, np.random.default_rng(seed), sampled=sampled)
    ]
    files = SignedFiles.of(tables[0], tables[1], spec)
    found = {}
    for name, kind in KINDS:
        run = files.linked(replace(plan_of(spec), dependence=kind))
        joint = run.scheme.joint
        assert joint is not None
        found[name] = f"{joint.kind}, {len(joint.kinds)} kinds", judged(run, *files.persons)
    return found


def main(arguments: list[str]) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks dependence", description=__doc__)
    parser.add_argument("--people", type=int, default=5000, help="records in each file of people with kin; 0: none")
    parser.add_argument("--seeds", type=int, default=10, help="repetitions of the built case")
    parser.add_argument("--assignment", choices=get_args(Assignment), default="one_to_one", help="of people with kin")
    given = parser.parse_args(arguments)
    print("| suburb and postcode | precision at .5 | recall | precision linked | recall | expected matches |")
    print("|---|---|---|---|---|---|")
    for name, kind in KINDS:
        rows = []
        for seed in range(given.seeds):
            case = neighbours(np.random.default_rng(seed))
            model, _, probability, links = linked(case, kind)
            n = int(case.is_match.sum())
            alone = quality(case.is_match[probability >= 0.5], n)
            decided = quality(case.is_match[links], n)
            rows.append([alone.precision, alone.recall, decided.precision, decided.recall, model.expected_matches])
        mean, spread = np.mean(rows, axis=0), 1.96 * np.std(rows, axis=0, ddof=1) / np.sqrt(len(rows))
        cells = [f"{value:.3f} ± {half:.3f}" for value, half in zip(mean[:4], spread, strict=False)]
        print(f"| {name} | {' | '.join(cells)} | {mean[4]:.0f} ± {spread[4]:.0f} of {n} |")
    if not given.people:
        return 0
    print("\n| people with kin | dependence | precision at .5 | recall | precision linked | recall | F1 | expected |")
    print("|---|---|---|---|---|---|---|---|")
    falls = []
    for sampled in (SHOWN, 0.3, 1.0):
        for name, (run, match, n) in kin(given.people, sampled, 1, True, given.assignment).items():
            alone = quality(match[run.pairs.match_probability >= 0.5], n)
            decided = quality(match[run.links], n)
            print(
                f"| {sampled:.0%} of the population | {name} | {alone.precision:.4f} | {alone.recall:.4f} "
                f"| {decided.precision:.4f} | {decided.recall:.4f} | {decided.f1:.4f} "
                f"| {run.model.expected_matches:.0f} of {n} |"
            )
            if sampled == SHOWN:
                falls.append((name, *monotone(run)))
    print("\n| agreement on one field more | compared | lower by a bit or more | near the decision | most, in bits |")
    print("|---|---|---|---|---|")
    for name, compared, lower, near, maximum in falls:
        print(f"| {name} | {compared:,} | {lower:,} | {near:,} | {maximum:.1f} |")
    print("\n| parts of a date, in common | dependence | chosen | precision | claimed | recall | claimed | F1 |")
    print("|---|---|---|---|---|---|---|---|")
    for common, sampled, seed in product((given.people // 5, 2 * given.people // 5), (SHOWN, 1.0), (1, 2)):
        for name, (chosen, links) in parts_of_a_date(given.people, common, sampled, seed).items():
            print(
                f"| {common:,}, {sampled:.0%} of the population, seed {seed} | {name} | {chosen} "
                f"| {links.precision:.4f} | {links.claimed_precision:.4f} "
                f"| {links.recall:.4f} | {links.claimed_recall:.4f} | {links.f1:.4f} |"
            )
    return 0


def monotone(run: Linkage) -> tuple[int, int, int, float]:
    """Comparison vectors that differ in one field, which one of them has at its top level, and where that weighs less.

    How many there are; in how many the one that agrees weighs less by a bit or more; how many of these have either
    within `NEAR` bits of a link probability of one half; and the largest difference in bits.
    """
    patterns, fields = run.patterns, run.model.fields
    weight = dict(zip(map(tuple, patterns.gamma.tolist()), patterns.weight.tolist(), strict=True))
    decision = np.log2(1 - run.model.p) - np.log2(run.model.p)
    pairs = [
        (weight[vector], weight[higher])
        for vector in weight
        for q, field in enumerate(fields)
        if 0 <= vector[q] < field.n_levels - 1
        and (higher := (*vector[:q], field.n_levels - 1, *vector[q + 1 :])) in weight
    ]
    lower = [(one, other) for one, other in pairs if other < one - 1]
    near = [pair for pair in lower if min(abs(each - decision) for each in pair) < NEAR]
    return len(pairs), len(lower), len(near), max((one - other for one, other in lower), default=0.0)
