"""The files of `benchmarks.quality`: files of others whole and in parts, and invented people of five kinds.

RLdata500 is one file with 50 people twice. Of each the first record goes to Alice and the second to Bob; the others go
to Alice and Bob by turns, in the order of the file. Of FEBRL4 and brl_sim, whose files have all people in common, parts
are drawn so that some people are in one part only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks import DATA
from benchmarks.duplicates import copied
from gemel.common.specification import Specification
from gemel.coordinator.demonstration.people import TRUTH, corrupt, two_files
from gemel.coordinator.demonstration.people.names import name_tables
from gemel.coordinator.draft.specification_draft import draft

Files = tuple[pl.DataFrame, pl.DataFrame]

OVERLAPS = (0.05, 0.2, 0.5)
"""People in common, as shares of each file."""

ERRORS = 0.2
"""Share of the records of invented people that have errors."""

COMMON_NAMES = 30
"""Given names of each sex, and surnames, that namesakes have."""

BORN, BORN_WITHIN = date(1950, 1, 1), 730
"""First day on which namesakes are born, and number of days."""


@dataclass(frozen=True)
class Case:
    """Two files with a column `TRUTH`, and how they are to be linked."""

    title: str
    files: Callable[[np.random.Generator], Files]
    block: bool
    changed: Callable[[Specification], Specification] = lambda spec: spec
    peers: bool = True
    drawn: bool = False

    def specification(self, alice: pl.DataFrame, bob: pl.DataFrame) -> Specification:
        """The draft for two files of the case, with what differs."""
        spec, *_ = draft(alice.drop(TRUTH), bob.drop(TRUTH), "quality", self.block)
        return self.changed(spec)


def whole() -> Iterator[Case]:
    """RLdata500, brl_sim's four files, FEBRL4 without its social security numbers: blocked, whole, on few fields."""
    yield Case("RLdata500, every pair", rldata, False)
    yield Case("the same, day, month and year as one date", rldata, False, _one_date)
    for errors in (1, 2):
        for number in (0, 1):
            title = f"brl_sim, {errors} error{'s' * (errors > 1)}, file {number}, every pair"
            yield Case(title, partial(_brl_sim, errors, number), False)
    yield Case("FEBRL4 without soc_sec_id, blocked", _febrl, True)
    yield Case("FEBRL4 without soc_sec_id, every pair", _febrl, False, peers=False)
    yield Case("FEBRL4, names and birth only, every pair", _few_fields, False, peers=False)
    yield Case("the same, swaps: [[given_name, surname]]", _few_fields, False, _names_crosswise, peers=False)


def overlapping(records: int) -> Iterator[Case]:
    """Parts of others' files, and invented people of each kind, with a twentieth to a half of a file in common."""
    for common in (25, 125, 500, 1250):
        yield Case(f"FEBRL4, {common:,} of 2,500 in common", partial(_part, _febrl, 2500, common), True, drawn=True)
    for common in (25, 100, 250):
        both = partial(_brl_sim, 2, 0)
        yield Case(
            f"brl_sim, 2 errors, {common} of 500 in common", partial(_part, both, 500, common), False, drawn=True
        )
    for kind, files in KINDS.items():
        yield from _invented(kind, files, records, OVERLAPS)


def large(records: int) -> Iterator[Case]:
    """Strangers at each overlap, kin with half of a file in common."""
    yield from _invented("strangers", strangers, records, OVERLAPS)
    yield from _invented("kin", kin, records, OVERLAPS[-1:])


def strangers(records: int, common: int, rng: np.random.Generator) -> Files:
    """Two samples of a population: one record in twenty has kin in the other file."""
    return two_files(records, records, common, ERRORS, rng)


def kin(records: int, common: int, rng: np.random.Generator) -> Files:
    """A population all of whose families are in the files: two records in three have kin in the other one."""
    return two_files(records, records, common, ERRORS, rng, sampled=1.0)


def namesakes(records: int, common: int, rng: np.random.Generator) -> Files:
    """People who all have common names and were born within two years; otherwise as `strangers`."""
    files = two_files(records, records, common, 0.0, rng)
    people = pl.concat(files).unique(TRUTH, maintain_order=True)
    n, female = people.height, (people["sex"] == "F").to_numpy()
    common_names = {
        group: table.names[np.argsort(-table.weights, kind="stable")[:COMMON_NAMES]]
        for group, table in name_tables().items()
    }
    drawn = {group: rng.choice(names, n) for group, names in common_names.items()}
    born = np.datetime64(BORN) + rng.integers(0, BORN_WITHIN, n)
    people = people.select(
        TRUTH,
        pl.Series("given_name", np.where(female, drawn["female"], drawn["male"]), dtype=pl.String),
        pl.Series("surname", drawn["surname"], dtype=pl.String),
        pl.Series("date_of_birth", born.astype(str)),
    )
    alice, bob = (corrupt(file.update(people, on=TRUTH), rng, ERRORS) for file in files)
    return alice, bob


def copies(records: int, common: int, rng: np.random.Generator) -> Files:
    """As `strangers`, and a fifth of Bob's people are in his file again, a third of the copies with errors."""
    alice, bob = strangers(records, common, rng)
    return alice, copied(bob, 0.2, 0.3, rng)


KINDS: dict[str, Callable[[int, int, np.random.Generator], Files]] = {
    "strangers": strangers, "kin": kin, "namesakes": namesakes, "copies in Bob's": copies,
}  # fmt: skip


def _invented(
    kind: str, files: Callable[[int, int, np.random.Generator], Files], records: int, overlaps: tuple[float, ...]
) -> Iterator[Case]:
    for overlap in overlaps:
        drawing = partial(files, records, round(overlap * records))
        yield Case(f"{kind}, {overlap:.0%} of {records:,} in common", drawing, True, drawn=True)


def _part(files: Callable[[np.random.Generator], Files], n: int, common: int, rng: np.random.Generator) -> Files:
    """`n` records of each of two files that have the same people, `common` of them in both parts."""
    alice, bob = files(rng)
    people = rng.permutation(alice[TRUTH].to_numpy()).tolist()
    return (
        alice.filter(pl.col(TRUTH).is_in(people[:n])),
        bob.filter(pl.col(TRUTH).is_in(people[n - common : 2 * n - common])),
    )


def rldata(_: np.random.Generator) -> Files:
    table = _read(DATA / "rldata" / "RLdata500.csv")
    person = _read(DATA / "rldata" / "identity.RLdata500.csv").to_series()
    table = table.with_columns(person.alias(TRUTH)).with_row_index("id").with_columns(pl.col("id").cast(pl.String))
    again = pl.col(TRUTH).cum_count().over(TRUTH) == 2
    twice = pl.len().over(TRUTH) == 2
    turn = pl.when(twice).then(None).otherwise(1).cum_sum() % 2 == 0
    table = table.with_columns(bobs=pl.when(twice).then(again).otherwise(turn))
    return table.filter(~pl.col("bobs")).drop("bobs"), table.filter(pl.col("bobs")).drop("bobs")


def _brl_sim(errors: int, number: int, _: np.random.Generator) -> Files:
    both = _read(DATA / "brl_sim" / f"percdups50_nerrors{errors}_dataset{number}.csv")
    both = both.with_columns(pl.col("rec-id").str.extract(r"^(rec-\d+)").alias(TRUTH))
    original = pl.col("rec-id").str.ends_with("-org")
    return both.filter(original), both.filter(~original)


def _febrl(_: np.random.Generator) -> Files:
    alice, bob = (
        _read(DATA / "febrl" / f"dataset4{part}.csv")
        .drop("soc_sec_id")
        .with_columns(pl.col("rec_id").str.extract(r"^(rec-\d+)").alias(TRUTH))
        for part in "ab"
    )
    return alice, bob


def _few_fields(rng: np.random.Generator) -> Files:
    """Names and date of birth only, where the 4 % of pairs with exchanged names matter."""
    alice, bob = (side.select("rec_id", TRUTH, "given_name", "surname", "date_of_birth") for side in _febrl(rng))
    return alice, bob


def _names_crosswise(spec: Specification) -> Specification:
    data = spec.model_dump()
    for field in data["fields"]:
        if field["name"] in ("given_name", "surname"):
            field["key_domain"] = "names"
    return Specification.model_validate({**data, "swaps": (("given_name", "surname"),)})


def _one_date(spec: Specification) -> Specification:
    """RLdata500's date of birth in the place of its three fields."""
    data = spec.model_dump(exclude_unset=True)
    fields = [field for field in data["fields"] if field["name"] not in ("by", "bm", "bd")]
    born = {"name": "born", "kind": "date", "column": ("by", "bm", "bd"), "date": {"order": "ymd"}}
    return Specification.model_validate({**data, "fields": (*fields, born)})


def _read(path: Path) -> pl.DataFrame:
    table = pl.read_csv(path, infer_schema=False)
    return table.rename({name: name.strip() for name in table.columns}).with_columns(pl.all().str.strip_chars())
