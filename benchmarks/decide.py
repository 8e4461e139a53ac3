"""Deciding beside counting, where records have hundreds of candidates: ``python -m benchmarks decide``.

Two files of people under four poor fields: given name and surname as frequent as they are, a postcode and a suburb of
which there are few. Linked whole, one to one. Processor time of the decision (estimation under the assignment, link
probabilities, standard errors, links) is set beside that of counting the comparison vectors, and what is claimed of the
links beside what is true. The first case runs once before it is shown: kernels are compiled then.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks._in_process import judged, persons, signed
from gemel.carole.engine import Resources, link
from gemel.carole.engine.run.specified import plan_of
from gemel.common.parties import Side
from gemel.common.specification import Specification
from gemel.coordinator.demonstration.people import TRUTH
from gemel.coordinator.demonstration.people.names import name_tables
from gemel.coordinator.draft.specification_draft import draft

MEMORY, THREADS = 6 << 30, 1

CASES = (
    (0.8, 400, 0.3),
    (0.9, 100, 0.02),
    (0.9, 40, 0.25),
    (1.0, 20, 0.1),
    (0.5, 20, 0.1),
    (0.02, 20, 0.1),
    (0.95, 10, 0.1),
)
"""Share of each file's people who are in the other, postcodes, and share of values with an error."""


def files(n: int, overlap: float, postcodes: int, errors: float, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Two files of `n` people; a twentieth of their values are missing."""
    rng = np.random.default_rng(seed)
    common = round(n * overlap)
    people = _people(2 * n - common, postcodes, rng)
    return (
        _recorded(people[:n], errors, rng),
        _recorded(people[n - common :], errors, rng),
    )


def _people(n: int, postcodes: int, rng: np.random.Generator) -> pl.DataFrame:
    names = name_tables()
    given = np.where(rng.random(n) < 0.5, names["female"].draw(n, rng), names["male"].draw(n, rng))
    code = rng.integers(0, postcodes, n)
    # Suburbs are called like people; each postcode has three.
    suburb = names["surname"].names[3 * code + rng.integers(0, 3, n)]
    values = {"given_name": given, "surname": names["surname"].draw(n, rng), "suburb": suburb}
    return pl.DataFrame(
        {TRUTH: np.arange(n).astype(str), "postcode": (2000 + 7 * code).astype(str)}
        | {name: value.astype(str) for name, value in values.items()}
    )


def _recorded(people: pl.DataFrame, errors: float, rng: np.random.Generator) -> pl.DataFrame:
    """The records of some people, in an order of their own."""
    people = people[rng.permutation(people.height)]
    fields = people.drop(TRUTH)
    named = {name: _with_errors(fields[name].to_list(), errors, rng) for name in fields.columns}
    return pl.DataFrame({"record": np.arange(people.height).astype(str), TRUTH: people[TRUTH]} | named)


def _with_errors(values: list[str], errors: float, rng: np.random.Generator) -> list[str | None]:
    """Values with one letter or digit replaced, or missing."""
    chance: NDArray[np.float64] = rng.random(len(values))
    return [
        None if u < 0.05 else _replaced(value, rng) if u < 0.05 + errors else value
        for value, u in zip(values, chance, strict=True)
    ]


def _replaced(value: str, rng: np.random.Generator) -> str:
    place = int(rng.integers(len(value)))
    letters = "0123456789" if value[place].isdigit() else "abcdefghijklmnopqrstuvwxyz"
    return value[:place] + letters[rng.integers(len(letters))] + value[place + 1 :]


class _Clock:
    """Processor time by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stage, self._since = "", time.process_time()

    def __call__(self, stage: str, fraction: float) -> None:
        now = time.process_time()
        self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + now - self._since
        self._stage, self._since = stage, now


def line(alice: pl.DataFrame, bob: pl.DataFrame, spec: Specification) -> str:
    """Link two files, and say what it took and what is claimed."""
    (set_a, of_a), (set_b, of_b) = signed(alice, spec, Side.ALICE), signed(bob, spec, Side.BOB)
    clock = _Clock()
    run = link(set_a, set_b, plan_of(spec), Resources(MEMORY, THREADS), clock)
    clock("", 1.0)
    found = judged(run, *persons(of_a, of_b))
    count, decide = clock.seconds["count"], clock.seconds["decide"]
    unsettled = any(warning.code == "competing_records_not_converged" for warning in run.warnings)
    return (
        f"{len(run.pairs.row_a):9,} {count:6.2f} s {decide:6.2f} s {decide / count:6.1f} {len(run.links):6,} "
        f"{found.claimed_precision:.4f} {found.precision:.4f}  {found.claimed_recall:.4f} {found.recall:.4f}"
        f"{'  not settled' if unsettled else ''}"
    )


def main(arguments: list[str]) -> int:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks decide", description=__doc__)
    parser.add_argument("--people", type=int, default=5_000, help="records in each file")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    print(f"{given.people:,} by {given.people:,} people, seed {given.seed}; precision and recall claimed and true")
    print(f"{'overlap, postcodes, errors':28s} {'kept':>9s} {'count':>8s} {'decide':>8s} {'ratio':>6s} {'links':>6s}")
    for number, (overlap, postcodes, errors) in enumerate((CASES[0], *CASES)):
        alice, bob = files(given.people, overlap, postcodes, errors, given.seed)
        spec, *_ = draft(alice.drop(TRUTH), bob.drop(TRUTH), "decide", False)
        spec = spec.model_copy(update={"links": spec.links.model_copy(update={"assignment": "one_to_one"})})
        text = line(alice, bob, spec)
        if number:
            print(f"{overlap:7.0%} {postcodes:12d} {errors:7.0%} {text}", flush=True)
    return 0
