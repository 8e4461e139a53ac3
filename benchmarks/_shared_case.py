"""Rows of two files shared in mode `shared`, for the leakage benchmark, beside who has all of these people in clear."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks._leakage_register import BORN, _pooled
from benchmarks._leakage_study import Study
from benchmarks._shared_views import SharedFile
from gemel.common.parties import Side
from gemel.common.specification import FieldSpec, Specification
from gemel.custodian.encoding.blocking_keys import key_text
from gemel.custodian.leakage.own_whole import clear_values
from gemel.custodian.leakage.pairs import Fingerprints, fingerprints_in_clear

Columns = Mapping[str, pl.Series]


@dataclass(frozen=True)
class Case:
    """Rows of two files in some blocks, as they are shared, and who has all people of both files in clear.

    Attributes
    ----------
    alice, bob
        The attacked rows; their `order` counts within `rows_a` and `rows_b`.
    rows_a, rows_b : ndarray of int64
        Rows of the files: row k of either file is person k.
    people : ndarray of int64
        The register: people in an order that says nothing.
    born : ndarray of int64
        Block in clear of each of these, by Alice's file; -1 without one.
    pairs
        What every two people of such a block have in common.
    """

    spec: Specification
    columns: tuple[Columns, Columns]
    alice: SharedFile
    bob: SharedFile
    rows_a: NDArray[np.int64]
    rows_b: NDArray[np.int64]
    people: NDArray[np.int64]
    born: NDArray[np.int64]
    pairs: Fingerprints
    mean_rows: float

    @property
    def truth(self) -> NDArray[np.int64]:
        """The person of each of Alice's rows."""
        return self.rows_a[self.alice.order]

    @property
    def block(self) -> NDArray[np.int64]:
        """Of Alice's rows."""
        return np.unique(self.alice.digests, return_inverse=True)[1].astype(np.int64)


def made(study: Study, bob: Columns, days: int, attacked: int) -> Case:
    """Rows of both files, shared: so many of Alice's at least, in whole blocks drawn at random."""
    columns = tuple({**each, BORN: _pooled(each[BORN], days)} for each in (study.columns, bob))
    rule = {"name": BORN, "keys": [{"field": BORN}]}
    spec = study.specified(mode="shared", blocking=[rule])
    keys = [key_text(each, spec, spec.keyed_rules[0]).fill_null("").to_numpy().astype(str) for each in columns]
    kinds, block = np.unique(np.concatenate(keys), return_inverse=True)
    block = block.astype(np.int64) - int(kinds[0] == "")
    of_a, of_b = block[: study.n], block[study.n :]
    sizes = np.bincount(of_a[of_a >= 0], minlength=len(kinds))
    drawn = study.rng.permutation(np.flatnonzero(sizes))
    chosen = drawn[: 1 + int(np.searchsorted(np.cumsum(sizes[drawn]), attacked))]
    rows = [np.flatnonzero(np.isin(of, chosen)) for of in (of_a, of_b)]
    seed = study.fresh_seed()
    alice, other = (
        SharedFile.of({n: c.gather(here) for n, c in each.items()}, spec, side, seed, study.fresh_noise())
        for side, each, here in zip(Side, columns, rows, strict=True)
    )
    people = study.rng.permutation(study.n)
    clear = [clear_values(columns[0][field.name].gather(people), field) for field in compared(spec)]
    pairs = fingerprints_in_clear(of_a[people], [each for each in clear if each is not None])
    mean = float((sizes.astype(np.float64) ** 2).sum() / sizes.sum())
    return Case(spec, columns, alice, other, *rows, people, of_a[people], pairs, mean)


def compared(spec: Specification) -> list[FieldSpec]:
    """The fields that rows have signatures of: all but that of the blocks."""
    return [field for field in spec.fields if field.name != BORN]
