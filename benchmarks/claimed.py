"""What is claimed of the links, what is true, and how often intervals hold: ``python -m benchmarks claimed``.

Files of 800 people a side, 400 in both, linked many times, with sex as the check field and 1,000 decoys. In the first
case the model is right: fields and errors are independent given who matches. In the others it is wrong by construction:
errors cluster in records; or all kin of the people in one file are in the other, who share surname, address and
telephone, while the model takes fields to be independent. In the last such files are linked as drafted, with kin and
dependences in the model. Coverage has a 95 % interval of its own.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks._figures import exact
from benchmarks._in_process import SignedFiles, no_progress
from gemel.carole.engine import FieldPlan, Linkage, LinkagePlan, Resources, link
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.evaluation.quality_estimate import Interval
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet
from gemel.common.specification import LEVELS, load_specification
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.draft.specification_draft import draft
from gemel.coordinator.draft.specification_text import dump_specification

BITS = 256
SIZES = {"given_name": 120, "surname": 250, "born": 400, "town": 40, "street": 150, "sex": 2}
"""Distinct values of each field, of which some are far more common than others, but for sex."""

ERRORS = {"given_name": 0.12, "surname": 0.12, "born": 0.1, "town": 0.15, "street": 0.2, "sex": 0.03}
"""Share of records of the second file with another value, by field."""

CHECK = "sex"


@dataclass(frozen=True)
class BuiltFiles:
    """Two files whose first `common` rows are the same people."""

    a: SignatureSet
    b: SignatureSet
    common: int


def built_files(n: int, common: int, rng: np.random.Generator, *, clustered: bool) -> BuiltFiles:
    """Two files of `n` people, whose fields are independent of each other.

    Half of the errors leave a similar value, as a typing error does; the others any value.
    """
    careless = rng.random(n) < 0.25
    sides: tuple[dict[str, FieldSignatures], dict[str, FieldSignatures]] = {}, {}
    for name, size in SIZES.items():
        share = np.full(size, 1 / size) if name == CHECK else rng.dirichlet(np.full(size, 0.7))
        value_a, value_b = rng.choice(size, n, p=share), rng.choice(size, n, p=share)
        value_b[:common] = value_a[:common]
        rate = np.where(careless, 4 * ERRORS[name], 0.0) if clustered else np.full(n, ERRORS[name])
        wrong, typed = rng.random(n) < rate, rng.random(n) < 0.5
        other = rng.choice(size, n, p=share)
        if name == CHECK:
            value_b = np.where(wrong, 1 - value_b, value_b)
        else:
            value_b = np.where(wrong, np.where(typed, value_b + size, other), value_b)
        signatures = rng.integers(0, 2**64, (size, BITS // 64), dtype=np.uint64)
        # Of a similar value a fifth of the bits differ.
        differing = np.packbits(rng.random((size, BITS)) < 0.2, axis=1).view(np.uint64)
        signatures = np.concatenate([signatures, signatures ^ differing])
        for side, values in zip(sides, (value_a, value_b), strict=True):
            used, codes = np.unique(values, return_inverse=True)
            side[name] = FieldSignatures(BITS, signatures[used], codes.ravel().astype(np.int32))
    return BuiltFiles(SignatureSet("", n, sides[0], {}), SignatureSet("", n, sides[1], {}), common)


def with_built_decoys(files: BuiltFiles, decoys: int, rng: np.random.Generator) -> BuiltFiles:
    """The files with decoys after their records: a random half of each one's fields is from either of two records."""

    def extended(part: SignatureSet) -> SignatureSet:
        household = rng.integers(0, part.n_rows, decoys)
        person = (household + rng.integers(1, part.n_rows, decoys)) % part.n_rows
        of_person = rng.random((decoys, len(part.fields))).argsort(axis=1).argsort(axis=1) < len(part.fields) // 2
        fields = {}
        for q, (name, field) in enumerate(part.fields.items()):
            codes = field.codes[np.where(of_person[:, q], person, household)]
            fields[name] = FieldSignatures(field.bits, field.signatures, np.concatenate([field.codes, codes]))
        return SignatureSet(part.rule, part.n_rows + decoys, fields, {})

    return BuiltFiles(extended(files.a), extended(files.b), files.common)


def built_plan(seed: int) -> LinkagePlan:
    """Of built files: the check field held out, no dependence, no blocking."""
    fields = tuple(FieldPlan(name, BITS, LEVELS["em8"]) for name in SIZES if name != CHECK)
    check = FieldPlan(CHECK, BITS, LEVELS["exact"])
    return LinkagePlan(fields, seed=seed, check_field=check)


def matches_of(files: BuiltFiles, row_a: NDArray[np.int32], row_b: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether each pair of rows is one person."""
    return np.asarray((row_a == row_b) & (row_a < files.common))


RECORDS, COMMON, DECOYS = 800, 400, 1000
RESOURCES = Resources(2 << 30, 1)


@dataclass(frozen=True)
class Judged:
    """The precision of one run's links: as claimed, as it is true, and as estimated by each method."""

    claimed: Interval
    true: float
    found: dict[str, Interval]


def judged(run: Linkage, right: np.ndarray) -> Judged:
    """A run beside the truth of its links."""
    assert run.claims is not None
    assert run.claims.precision is not None
    found = {str(estimate.method): estimate.precision for estimate in run.quality}
    return Judged(run.claims.precision, float(right.mean()), found)


def built(seed: int, *, clustered: bool) -> Judged:
    """Files of independent fields."""
    rng = np.random.default_rng(seed)
    files = with_built_decoys(built_files(RECORDS, COMMON, rng, clustered=clustered), DECOYS, rng)
    plan = replace(built_plan(seed), decoys=DECOYS)
    run = link(files.a, files.b, plan, RESOURCES, no_progress)
    right = matches_of(files, run.pairs.row_a[run.links], run.pairs.row_b[run.links])
    return judged(run, right)


def kin(seed: int, *, modelled: bool = False) -> Judged:
    """Invented people, all of whose kin are in one of the files; by independent fields, or modelled as drafted."""
    tables = two_files(RECORDS, RECORDS, COMMON, 0.2, np.random.default_rng(seed), sampled=1.0)
    drafted, *_ = draft(tables[0].drop(TRUTH), tables[1].drop(TRUTH), "claimed", False)
    quality = f"quality: {{check_field: {CHECK}, decoys: {DECOYS}}}"
    spec = load_specification(f"{dump_specification(drafted)}{quality}\n")
    plan = replace(plan_of(spec), seed=seed)
    if not modelled:
        plan = replace(plan, dependence="none")
    signed = SignedFiles.of(*tables, spec)
    run = signed.linked(plan, RESOURCES)
    return judged(run, signed.matches(run)[0][run.links])


CASES: dict[str, Callable[[int], Judged]] = {
    "the model is right": lambda seed: built(seed, clustered=False),
    "errors cluster": lambda seed: built(seed, clustered=True),
    "kin in both files": kin,
    "kin, modelled": lambda seed: kin(seed, modelled=True),
}


def main(arguments: list[str]) -> int:
    """Link, judge and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks claimed", description=__doc__)
    parser.add_argument("--runs", type=int, default=40, help="of each case")
    parser.add_argument("--seed", type=int, default=1, help="of the first run; the others count on")
    parser.add_argument("--only", choices=CASES, help="one case")
    given = parser.parse_args(arguments)
    print(f"precision of the links, seeds {given.seed} to {given.seed + given.runs - 1}")
    print("case                method       claimed  true     estimate width    holds (95 %)       claim met")
    for name, case in CASES.items():
        if given.only not in (None, name):
            continue
        started = time.perf_counter()
        runs = [case(given.seed + k) for k in range(given.runs)]
        for method in ("check_field", "decoys"):
            _print(name, method, runs)
        print(f"  {(time.perf_counter() - started) / given.runs:.1f} s a run")
    return 0


def _print(name: str, method: str, runs: list[Judged]) -> None:
    there = [run for run in runs if method in run.found]
    if not there:
        print(f"{name:<19} {method:<12} no estimate")
        return
    intervals, claimed = [run.found[method] for run in there], [run.claimed for run in there]
    true = np.array([run.true for run in there])
    holds = int(sum(not interval.excludes(t) for interval, t in zip(intervals, true.tolist(), strict=True)))
    met = int(sum(not interval.apart(claim) for interval, claim in zip(intervals, claimed, strict=True)))
    low, high = exact(holds, len(there))
    print(
        f"{name:<19} {method:<12} {np.mean([claim.value for claim in claimed]):.4f}   {true.mean():.4f}   "
        f"{np.mean([i.value for i in intervals]):.4f}   {np.mean([i.upper - i.lower for i in intervals]):.4f}"
        f"   {holds}/{len(there)} ({low:.2f}-{high:.2f})   {met}/{len(there)}"
    )
