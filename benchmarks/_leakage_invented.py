"""The leakage benchmark's section on a custodian that invents records to learn attributes from the links.

Bob knows a person's name, sex and date of birth, and wants to know the postcode that Alice has. He contributes the
person twenty times, with another postcode each time. Which of the twenty is linked tells him. The positive control
links such files; what remains is how often a run on them is held by the default of `near_copies`, and one on honest
files is not. Files of 2,000 people whatever the size of the study, in which 2 % are twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl

from benchmarks._block_keyed import Files, encoded
from benchmarks._figures import share
from benchmarks._in_process import KEY
from benchmarks._leakage_study import Line, Study
from benchmarks.duplicates import copied
from benchmarks.modes import PEOPLE, link_in
from gemel.carole.engine.inputs.files import contribution_of
from gemel.carole.engine.linkage.near_copies import NearCopies, near_copies
from gemel.carole.engine.run.specified import plan_of
from gemel.common.parties import Side
from gemel.common.specification import Specification, load_specification
from gemel.common.specification.model.assessment import NEAR_COPIES
from gemel.coordinator.demonstration.people import two_files

BITS = 256
RECORDS = 2_000
PROBED = 40
COPIES = 20
DUPLICATES = 0.02
ATTRIBUTES = ("postcode", "date_of_birth", "given_name", "phone")
MODES = ("open", "block_keyed")
UNKNOWN = ("phone", "street", "town")
"""What Bob does not know of the people he probes, and leaves out."""
READS = 0.9
"""Required of the attack where nothing stops it: the attribute of so many of the linked, or the rest shows nothing."""


@dataclass(frozen=True)
class Probed:
    """Files with invented records."""

    files: Files
    first: int
    true: np.ndarray[tuple[int], np.dtype[np.bool_]]


def honest(seed: int, sampled: float = 0.05, duplicates: float = DUPLICATES) -> dict[Side, pl.DataFrame]:
    """Two files of invented people, of whom some are twice; half of each is in the other."""
    rng = np.random.default_rng(seed)
    files = {}
    for side, table in zip(Side, two_files(RECORDS, RECORDS, RECORDS // 2, 0.2, rng, sampled=sampled), strict=True):
        made = copied(table, duplicates, 0.5, rng) if duplicates else table
        files[side] = made.rename({"record_id": "id", "person_id": "person"})
    return files


def probed(
    files: Files, attribute: str, seed: int, *, people: int = PROBED, copies: int = COPIES, also: Sequence[str] = ()
) -> Probed:
    """Bob's file with near-copies of people of whom he has no record, and Alice has."""
    rng = np.random.default_rng([seed, 7])
    alice, bob = files[Side.ALICE], files[Side.BOB]
    known = alice.filter(~pl.col("person").is_in(bob["person"].implode())).drop_nulls().unique("person", keep="first")
    known = known.sort("person")
    chosen = known[np.sort(rng.choice(known.height, people, replace=False))]
    values = {name: alice[name].drop_nulls().unique().sort() for name in (attribute, *also)}
    rows = []
    for person in chosen.iter_rows(named=True):
        blank = {name: None for name in UNKNOWN if name not in values}
        others = {
            name: rng.choice(own.filter(own != person[name]).to_numpy(), copies, replace=False)
            for name, own in values.items()
        }
        for number in range(copies):
            changed = {name: str(other[number]) for name, other in others.items()}
            if number == 0:
                changed[attribute] = person[attribute]
            rows.append({**person, **blank, **changed, "id": f"P{len(rows)}"})
    made = pl.concat([bob, pl.DataFrame(rows, schema=bob.schema)])
    true = np.arange(len(rows)) % copies == 0
    return Probed({Side.ALICE: alice, Side.BOB: made}, bob.height, true)


@cache
def short() -> Specification:
    """The specification of the modes' benchmark, with signatures of `BITS` bits: made faster, no easier to count."""
    spec = load_specification(PEOPLE)
    fields = [field.model_copy(update={"bits": min(field.bits, BITS)}) for field in spec.fields]
    return spec.model_copy(update={"fields": tuple(fields)})


def counted(files: Files, mode: str, spec: Specification | None = None) -> tuple[NearCopies, NearCopies]:
    """Near-copies in what the custodians would send of two files."""
    spec = (spec or short()).model_copy(update={"mode": mode})
    parts = [
        made.sets[0] if mode == "open" else contribution_of(made.sets, files[side].height)
        for side, made in encoded(files, spec, KEY).items()
    ]
    return near_copies((parts[0], parts[1]), plan_of(spec), padded=spec.padding is not None)  # type: ignore[arg-type]


def learnt(probe: Probed, mode: str) -> tuple[float, float]:
    """Share of the probed people who are linked, and of these whose attribute the linked record names."""
    spec = load_specification(PEOPLE)
    links = link_in(mode, spec, probe.files, KEY).links
    invented = links[links[:, 1] >= probe.first, 1] - probe.first
    people = np.unique(invented // COPIES)
    right = np.unique(invented[probe.true[invented]] // COPIES)
    return len(people) / PROBED, len(right) / max(1, len(people))


def invented(study: Study) -> Iterator[Line]:
    """The attack, the runs that are held, and those that must not be."""
    seeds = range(study.seed, study.seed + 10)
    members, named = learnt(probed(honest(study.seed), "postcode", study.seed), "block_keyed")
    yield Line("copies that nothing holds: people whose membership a link shows", members, minimum=READS)
    yield Line("copies that nothing holds: of these, whose postcode it shows", named, 1 / COPIES, minimum=READS)
    shares = []
    for mode in MODES:
        for attribute in ATTRIBUTES:
            found = [counted(probed(honest(s), attribute, s).files, mode)[1] for s in seeds]
            shares += [each.share for each in found]
            yield _held(f"{PROBED} people {COPIES} times each with another {attribute}, {mode}", found, minimum=1.0)
    highest = 0.0
    for mode in MODES:
        for sampled, who in ((0.05, "few relatives"), (1.0, "whole households")):
            for duplicates in (DUPLICATES, 0.2) if mode == "open" else (DUPLICATES,):
                pairs = [counted(honest(s, sampled, duplicates), mode) for s in seeds]
                found = [each for pair in pairs for each in pair]
                highest = max(highest, *(each.share for each in found))
                yield _held(f"honest files, {who}, {duplicates:.0%} of the people twice, {mode}", found, maximum=0.02)
    yield Line(f"lowest share of near-copies of an invented file (limit {NEAR_COPIES:.1%})", min(shares))
    yield Line(f"highest share of near-copies of an honest file (limit {NEAR_COPIES:.1%})", highest)
    for what, changes in (
        ("4 times each with another postcode", {"copies": 4}),
        ("20 times each with another postcode and date of birth", {"also": ("date_of_birth",)}),
    ):
        found = [counted(probed(honest(s), "postcode", s, **changes).files, "block_keyed")[1] for s in seeds]  # type: ignore[arg-type]
        yield _held(f"{PROBED} people {what}, block_keyed, of which not all are seen", found)


def _held(
    what: str, found: Sequence[NearCopies], *, minimum: float | None = None, maximum: float | None = None
) -> Line:
    """How many of some files hold a run, with the 95 % interval of Clopper and Pearson in words."""
    n, held = len(found), sum(each.share > NEAR_COPIES for each in found)
    words = f"{what}: held {share(held, n, '.0%')}"
    if maximum is not None:
        return Line(words, held / n, 0.0, above_chance=maximum)
    return Line(words, held / n, minimum=minimum)
