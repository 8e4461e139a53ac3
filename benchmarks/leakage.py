"""What a curious Carole could learn of 100,000 invented people, by mode and attack: ``python -m benchmarks leakage``.

Her public knowledge is the name counts from which the people were drawn, cleaned as the names are, and for the
embedding attack a file of people in clear. Nothing is given to an attack that Carole would not have. The specification
is what ``gemel spec draft`` proposes for these people. What is required of a mode, or of an attack, stands beside the
figure, and the command ends with status 1 if any of it is missed.
"""

from __future__ import annotations

from benchmarks import DOCS

import benchmarks._one_blas_thread  # isort: skip  # noqa: F401  before numpy

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from benchmarks import _leakage_blocks as blocks
from benchmarks import _leakage_invented as invention
from benchmarks import _leakage_latent as valued
from benchmarks import _leakage_open as whole
from benchmarks import _leakage_register as registers
from benchmarks import _leakage_results as answers
from benchmarks import _leakage_samples as sampled
from benchmarks import _leakage_shared as shares
from benchmarks._figures import peak_bytes
from benchmarks._leakage_study import HEAD, Line, Study

PAGE = DOCS / "leakage.md"
SECTIONS: dict[str, tuple[str, Callable[[Study], Iterator[Line]]]] = {
    "open": ("Open mode: one key per field", whole.open_mode),
    "embeddings": ("Open mode, by embeddings: the positive control", whole.open_embeddings),
    "birthday": ("Block-keyed by date of birth", blocks.by_birthday),
    "register": ("Rows recognised by a register: blocks of a date of birth", registers.by_birthday),
    "large": ("Rows recognised by a register: blocks as in a file of 600,000", registers.by_some_days),
    "shared": ("Mode shared: what each party sees", shares.shared),
    "samples": ("Samples for u", sampled.samples),
    "rules": ("The other drafted rules, each by itself", blocks.default_rules),
    "together": ("The drafted rules together", blocks.together),
    "control": ("Four wide rules together: the positive control", blocks.control),
    "skewed": ("Rules made of names' beginnings", blocks.skewed),
    "hardening": ("Options of a field in open mode, 1024 bits, surnames of a quarter of the records", whole.hardening),
    "codes": ("Category codes, co-occurrence, and the seed", whole.codes),
    "latent": ("Mode block_keyed with `latent`", valued.latent),
    "invented": ("A custodian that invents records", invention.invented),
    "results": ("Results: a resolver's answer, and shares", answers.results),
}
"""By name, the sections of the page in its order."""
_LONGEST = (
    "large",
    "register",
    "shared",
    "samples",
    "rules",
    "birthday",
    "control",
    "together",
    "skewed",
    "open",
    "embeddings",
    "codes",
    "latent",
    "hardening",
    "invented",
    "results",
)


@dataclass(frozen=True)
class Done:
    """A section's lines, its processor seconds, and the largest memory of its process in bytes."""

    lines: tuple[Line, ...]
    seconds: float
    memory: int


def run(name: str, people: int, seed: int) -> Done:
    """One section, in a process of its own: what it held is free when it ends."""
    begin = time.monotonic()
    lines = tuple(SECTIONS[name][1](Study(people, seed, name)))
    memory = peak_bytes()
    seconds, elapsed = time.process_time(), time.monotonic() - begin
    print(
        f"{name}: {elapsed:.0f} s, {seconds:.0f} of the processor, {memory / 2**30:.1f} GiB",
        file=sys.stderr,
        flush=True,
    )
    return Done(lines, seconds, memory)


def main(arguments: list[str]) -> int:
    """Run the attacks, print the tables, and judge them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks leakage", description=__doc__)
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--sections", default=",".join(SECTIONS), help=f"of {', '.join(SECTIONS)}, with commas between")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="sections run at the same time")
    parser.add_argument("--write", action="store_true", help="write docs/leakage.md, of all sections")
    options = parser.parse_args(arguments)
    names = [name for name in SECTIONS if name in options.sections.split(",")]
    if unknown := set(options.sections.split(",")) - set(SECTIONS):
        parser.error(f"no such section: {', '.join(sorted(unknown))}")
    if options.write and len(names) < len(SECTIONS):
        parser.error("a page has all sections: --write goes without --sections")
    begin = time.monotonic()
    done: dict[str, Done] = {}
    with ProcessPoolExecutor(options.jobs, get_context("spawn"), max_tasks_per_child=1) as pool:
        running = {
            name: pool.submit(run, name, options.people, options.seed) for name in sorted(names, key=_LONGEST.index)
        }
        for name in names:
            done[name] = running[name].result()
            print(table(name, done[name]), flush=True)
    seconds = time.monotonic() - begin
    lines = [line for part in done.values() for line in part.lines]
    judged = verdict(lines)
    largest = sum(sorted((part.memory for part in done.values()), reverse=True)[: options.jobs])
    worked = sum(part.seconds for part in done.values())
    spent = (
        f"{seconds:.0f} s with {options.jobs} sections at a time, {worked:.0f} s of the processor in all, at most"
        f" {largest / 2**30:.1f} GiB"
    )
    print(f"{judged}\n{spent}")
    if options.write:
        PAGE.write_text(page(options.people, options.seed, spent, judged, done), encoding="utf-8")
        print(f"wrote {PAGE}")
    return int(any(line.met is False for line in lines))


def table(name: str, done: Done) -> str:
    """A section of the page."""
    return "\n".join([f"## {SECTIONS[name][0]}", "", HEAD, *(line.markdown() for line in done.lines), ""])


def verdict(lines: Sequence[Line]) -> str:
    """How much of what is required is met, and what is not."""
    requested = [line for line in lines if line.met is not None]
    missed = [line for line in requested if not line.met]
    text = f"Of {len(requested)} figures with a requirement, {len(requested) - len(missed)} meet it."
    if missed:
        text += " Missed: " + "; ".join(f"{line.what} ({line.records:.1%})" for line in missed) + "."
    return text


def page(people: int, seed: int, spent: str, judged: str, done: dict[str, Done]) -> str:
    """The page of results."""
    return "\n".join(
        [
            "# What the attacks recover",
            "",
            f"Printed by `python -m benchmarks leakage --write`: {people:,} invented people, seed {seed}; {spent}."
            " Shares are of the distinct signatures (*values*) and of the records that have a value; *attainable*: the"
            " value is in the attacker's dictionary; *by guessing*: the commonest value named everywhere. Of blocks: a"
            " sample of every size, weighted by records; ± is one standard error above guessing. Of a register:"
            " *records* are the rows for which the right person is named, of one or two thousand, *attainable* those"
            " of people in it. Of mode shared: guessing draws a name from the register for every row. With `latent`:"
            " means over five pairs of files, and one standard error over these. The specification is what `gemel spec"
            " draft` proposes in mode block_keyed (names and texts in 256 bits, dates, numbers and codes in 128, the"
            " sex in 64), or made from it; a line that names other bits has those. Options of open mode are measured"
            " as the gate does it, at 1024 bits: the worst of its attacks, on the 1,500 commonest values; what they"
            " cost in links is printed by `python -m benchmarks hardening`. What follows stands in"
            " [threat-model.md](threat-model.md#conclusions).",
            "",
            judged,
            "",
            *(table(name, done[name]) for name in SECTIONS),
        ]
    )
