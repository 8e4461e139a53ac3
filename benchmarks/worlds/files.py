"""The two files of a world, with the truth beside the records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.worlds.naming import Names, named
from benchmarks.worlds.population import Lots, Numbers, populated
from benchmarks.worlds.records import held, needed, spelt, spoilt
from benchmarks.worlds.traits import Columns, traits
from benchmarks.worlds.world import World
from gemel.coordinator.demonstration.people import TRUTH

ID = "id"

_CONSTANT = 40
#: Records a second or further time, of the people in the file; and how often one person is there, at most.
_SHARES = {"few": (0.01, 0.03), "many": (0.1, 0.3)}
_CROWD = (24, 300)


@dataclass(frozen=True)
class _Source:
    """What the records of both files are made of."""

    names: Names
    first: Columns
    then: Columns
    prone: Lots


def files(world: World) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Alice's file and Bob's.

    Parameters
    ----------
    world : World
        Decides everything: the same world gives the same files.

    Returns
    -------
    alice, bob : polars.DataFrame
        Column `ID`, not two equal ones in a file; column `TRUTH`, equal where the person is; and the columns of
        `World.fields`. All are text, null where missing.

    Notes
    -----
    O(records); some 6 s for two files of 100,000.
    """
    rng = np.random.default_rng([_CONSTANT, world.seed])
    if world.source == "part":
        larger, smaller = sorted(world.sizes, reverse=True)
        whole = _part_of_itself(world, larger, rng)
        part = whole[np.sort(rng.permutation(larger)[:smaller])]
        return (whole, _numbered(part, "B")) if world.larger == "alice" else (_numbered(part, "A"), whole)
    with_copies = ("alice", "bob") if world.copies_in == "both" else (("alice", "bob")[rng.integers(2)],)
    copies = [
        _copies(world, size, whose in with_copies, rng)
        for whose, size in zip(("alice", "bob"), world.sizes, strict=True)
    ]
    distinct = [size - len(again) for size, again in zip(world.sizes, copies, strict=True)]
    both = max(1, round(world.common * min(distinct))) if world.common else 0
    source = _source(world, distinct[0], distinct[1], both, rng)
    alices = np.concatenate([np.arange(distinct[0]), copies[0]])
    bobs = distinct[0] - both + np.concatenate([np.arange(distinct[1]), copies[1]])
    return _file(world, source, alices, "A", rng), _file(world, source, bobs, "B", rng)


def _part_of_itself(world: World, larger: int, rng: np.random.Generator) -> pl.DataFrame:
    again = _copies(world, larger, True, rng)
    distinct = larger - len(again)
    source = _source(world, distinct, distinct, distinct, rng)
    people = np.concatenate([np.arange(distinct), again])
    return _file(world, source, people, "A" if world.larger == "alice" else "B", rng)


def _source(world: World, in_alice: int, in_bob: int, both: int, rng: np.random.Generator) -> _Source:
    people, dwellings = populated(world, in_alice, in_bob, both, rng)
    names = named(world, people)
    first, then = traits(needed(world), people, dwellings, names, rng)
    prone = rng.random(len(people.home))
    return _Source(names, first, then if world.source == "separate" else first, prone)


def _copies(world: World, size: int, here: bool, rng: np.random.Generator) -> Numbers:
    """Of a file of this size: the people, by number, of the records that are not their first."""
    if world.copies == "none" or not here:
        return np.empty(0, dtype=np.int64)
    if world.copies == "crowd":
        times = [min(int(rng.integers(*_CROWD)), size // 4)]
        if rng.random() < 1 / 3:
            times += [min(int(k), size // 20) for k in rng.integers(12, 60, size=3)]
        people = rng.choice(size // 3, size=len(times), replace=False)
        return np.repeat(people, times)
    n = max(1, round(rng.uniform(*_SHARES[world.copies]) * size))
    return rng.integers(0, size - n, size=n)


def _file(world: World, source: _Source, people: Numbers, whose: str, rng: np.random.Generator) -> pl.DataFrame:
    """A file with a record for each of the people listed, in the world's order."""
    bobs = whose == "B"
    people = people[rng.permutation(len(people))]
    _, firsts = np.unique(people, return_index=True)
    again = np.ones(len(people), dtype=np.bool_)
    again[firsts] = False
    if world.copies_alike == "changed":
        table = _written(world, source, people, again, bobs, rng)
    else:
        once = people[~again]
        place = np.empty(int(people.max()) + 1, dtype=np.int64)
        place[once] = np.arange(len(once))
        table = _written(world, source, once, np.zeros(len(once), dtype=np.bool_), bobs, rng)
        # Each record that is there again stands behind the first of its person.
        table = table[np.sort(place[people])]
    if world.lone == "constant":
        office = np.full(table.height, 1) if bobs else rng.integers(1, 6, size=table.height)
        table = table.with_columns(pl.Series("office", office).cast(pl.String))
    elif world.lone == "one file" and not bobs:
        table = table.with_columns(pl.Series("ward", rng.integers(1, 30, size=table.height)).cast(pl.String))
    return _numbered(_ordered(world, table), whose)


def _written(
    world: World, source: _Source, people: Numbers, again: NDArray[np.bool_], bobs: bool, rng: np.random.Generator
) -> pl.DataFrame:
    """The people's records in their order: the truth, and the world's fields."""
    own, other = (source.then, source.first) if bobs else (source.first, source.then)
    # A person's further record may be from the other date, with the address of that.
    elsewhere = again & (rng.random(len(people)) < 0.3)
    wanted = needed(world)
    columns: Columns = {
        name: np.where(elsewhere, other[name][people], own[name][people])
        for name in sorted(wanted - {"given_name", "middle_name", "surname"})
    }
    written: Columns = {}
    spelt(world, written, people, source.names, bobs, rng)
    columns |= {name: values for name, values in written.items() if name in wanted}
    spoilt(world, columns, source.prone[people], again, bobs, rng)
    form = world.date_form_bob if bobs else world.date_form_alice
    made = held(world, columns, source.names.custom[people], form)
    truth = [f"P{person:07d}" for person in people.tolist()]
    return pl.DataFrame(
        {TRUTH: truth} | {name: values.tolist() for name, values in made.items()},
        schema=dict.fromkeys((TRUTH, *world.fields), pl.String),
    )


def _ordered(world: World, table: pl.DataFrame) -> pl.DataFrame:
    """As entered, or sorted by the world's column, or by the first field where there is none such."""
    keys = {"by name": ("surname", "full_name", "given_name"), "by postcode": ("postcode", "town")}.get(world.order)
    if keys is None:
        return table
    key = next((name for name in keys if name in world.fields), world.fields[0])
    return table.sort(key, nulls_last=True, maintain_order=True)


def _numbered(table: pl.DataFrame, whose: str) -> pl.DataFrame:
    """With identifiers, in the order of the rows."""
    ids = pl.Series(ID, [f"{whose}{number:06d}" for number in range(1, table.height + 1)], dtype=pl.String)
    return table.select(ids, pl.exclude(ID))
