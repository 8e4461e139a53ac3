"""Two surveys that share category variables only: ``python -m benchmarks survey``.

Ten variables with few values, most of which depend on age and schooling as a survey's do; two fifths of the people are
in both files, and a share of the values is another in the second file. The specification is the draft as it comes for
mode block_keyed, with the custodians' gate measured; the links are those of mode open under the same rules, since the
engine is the same. Beside them stand the links with `value_frequencies` in every field, which mode block_keyed cannot
have, and those of a model with independent fields whose m was counted with the truth in hand, among the same
candidates.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks._in_process import JudgedLinks, SignedFiles, judged
from gemel.carole.engine.run.result import Linkage
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.carole.fellegi_sunter.link_rule import assigned
from gemel.carole.fellegi_sunter.model import match_weights
from gemel.common.specification import Specification
from gemel.coordinator.demonstration.people import TRUTH
from gemel.coordinator.draft.specification_draft import draft
from gemel.custodian.leakage.leakage_assessment import assess


def surveys(n: int, common: int, changed: float, rng: np.random.Generator) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Two files of `n` people, `common` of them in both, with `TRUTH`; a share of Bob's values is changed."""
    people = 2 * n - common
    age = np.clip(rng.gamma(6, 8, people).astype(int), 16, 95)
    old = (age - 16) / 80

    def graded(levels: int, score: NDArray[np.float64], noise: float) -> NDArray[np.int64]:
        """Ranks of a score with noise, in classes of unequal size."""
        order = np.argsort(np.argsort(score + noise * rng.standard_normal(people)))
        bounds = np.cumsum(np.sort(rng.dirichlet(np.full(levels, 3.0)))[::-1]) * people
        return np.searchsorted(bounds, order, side="right").clip(0, levels - 1)

    schooling = graded(6, -old, 0.5)
    columns = {
        "birth_year": 2020 - age,
        "sex": rng.integers(0, 2, people),
        "region": rng.choice(16, people, p=np.sort(rng.dirichlet(np.full(16, 4.0)))),
        "schooling": schooling,
        "employment": graded(7, old + schooling / 12, 0.3),
        "income": graded(10, schooling / 6 - np.abs(old - 0.4), 0.4),
        "household": graded(6, -old, 0.3),
        "tenure": graded(3, old, 0.4),
        "children": graded(5, -np.abs(old - 0.3), 0.3),
        "religion": rng.choice(6, people, p=[0.3, 0.25, 0.2, 0.12, 0.08, 0.05]),
    }
    frame = pl.DataFrame({TRUTH: [f"p{k}" for k in range(people)], **columns}).with_columns(pl.all().cast(pl.String))
    alice, bob = frame.head(n), frame.tail(n)
    for name in columns:
        hit = rng.random(n) < changed
        values = bob[name].to_numpy().copy()
        values[hit] = rng.permutation(values)[hit]
        bob = bob.with_columns(pl.Series(name, values))
    files = []
    for table in (alice, bob):
        table = table[rng.permutation(n)]
        files.append(table.select(pl.Series("id", [f"r{k}" for k in range(n)]), *table.columns))
    return files[0], files[1]


def main(arguments: list[str]) -> int:
    """Draft, link, and print what is claimed beside what is true."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks survey", description=__doc__)
    parser.add_argument("--records", type=int, default=14_000, help="in each file")
    parser.add_argument("--changed", type=float, default=0.1, help="share of Bob's values that are another")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    rng = np.random.default_rng(given.seed)
    alice, bob = surveys(given.records, 2 * given.records // 5, given.changed, rng)
    started = time.perf_counter()
    spec, comments, _ = draft(alice.drop(TRUTH), bob.drop(TRUTH), "survey", True, "block_keyed", gate=assess)
    print(f"drafted in {time.perf_counter() - started:.0f} s: {comments['blocking'].splitlines()[-1]}")
    started = time.perf_counter()
    run, judgements = _linked(alice, bob, spec)
    print(f"linked and judged in {time.perf_counter() - started:.0f} s, {run.n_candidates:,} candidates")
    print("\n| model | links | precision | claimed | recall | claimed | F1 |\n|---|---|---|---|---|---|---|")
    for name, one in judgements.items():
        print(
            f"| {name} | {one.links:,} | {one.precision:.4f} | {one.claimed_precision:.4f} | {one.recall:.4f} "
            f"| {one.claimed_recall:.4f} | {one.f1:.4f} |"
        )
    print(f"\nwarnings: {', '.join(dict.fromkeys(warning.code for warning in run.warnings)) or 'none'}")
    return 0


def _linked(alice: pl.DataFrame, bob: pl.DataFrame, drafted: Specification) -> tuple[Linkage, dict[str, JudgedLinks]]:
    """The linkage, and what it, one that counts rare values for more, and a model that knows the truth claim."""
    spec = drafted.model_copy(update={"mode": "open"})
    files, plan = SignedFiles.of(alice, bob, spec), plan_of(spec)
    rare = replace(plan, fields=tuple(replace(field, value_frequencies=True) for field in plan.fields))
    drafted_run, rare_run = files.linked(plan), files.linked(rare)
    return drafted_run, {
        "as drafted": judged(drafted_run, *files.persons),
        "with value_frequencies, which mode open allows": judged(rare_run, *files.persons),
        "knows the truth": _oracle(drafted_run, files),
    }


def _oracle(run: Linkage, files: SignedFiles) -> JudgedLinks:
    """Links of m counted among the true matches that were kept, and u as estimated, under one-to-one."""
    pairs, patterns = run.pairs, run.patterns
    true, _ = files.matches(run)
    gamma = patterns.gamma[pairs.pattern]
    m = np.zeros_like(run.model.m)
    for q, field in enumerate(run.model.fields):
        counts = np.bincount(gamma[true & (gamma[:, q] >= 0), q], minlength=field.n_levels) + 0.5
        m[q, : field.n_levels] = counts / counts.sum()
    weight = match_weights(patterns.gamma, m, run.model.u)[pairs.pattern]
    links = LinkPosterior("one_to_one", pairs.row_a, pairs.row_b, run.model.n_a, run.model.n_b)
    probability = links.probabilities(weight).probability
    chosen = assigned(pairs.row_a, pairs.row_b, probability, 0.5, "one_to_one")
    return judged(replace(run, links=chosen, pairs=replace(pairs, link_probability=probability)), *files.persons)
