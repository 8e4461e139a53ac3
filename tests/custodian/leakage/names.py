"""A field of invented people's names, signed, and what its attacker holds."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.keys.derivation import Purpose, Seed, derive
from gemel.coordinator.demonstration.people.names import name_tables
from gemel.custodian.encoding.minhash import signatures
from gemel.custodian.encoding.signing import canonical
from gemel.custodian.leakage.view import FieldView, PublicValues
from gemel.custodian.tokens import tokenise

KEYS = derive(Seed(bytes(range(32))), "test", Purpose.SIGNATURE, bytes(32), "surname")


@cache
def public_surnames(maximum: int | None = None) -> PublicValues:
    """The commonest surnames with their counts."""
    table = name_tables()["surname"]
    return PublicValues([name.lower() for name in table.names[:maximum]], table.weights[:maximum])


def drawn_surnames(rng: np.random.Generator, n: int, maximum: int) -> pl.Series:
    """Surnames of some people, of the commonest ones."""
    public = public_surnames(maximum)
    return pl.Series([public.values[name] for name in rng.choice(len(public), size=n, p=public.shares)])


def drawn_days(rng: np.random.Generator, n: int, first: str, span: int) -> pl.Series:
    """Days of birth of some people, cleaned: any of so many from the first on."""
    born = (np.datetime64(first) + rng.integers(0, span, n)).astype(str)
    return pl.Series([day.replace("-", "") for day in born.tolist()])


def people(n: int, seed: int, first: str = "1980-01-01", span: int = 8000) -> dict[str, pl.Series]:
    """Cleaned fields of some people."""
    rng = np.random.default_rng(seed)
    surname, born = drawn_surnames(rng, n, 3000), drawn_days(rng, n, first, span)
    return {"surname": surname, "sex": pl.Series(np.where(rng.random(n) < 0.5, "f", "m").tolist()), "born": born}


def signed(values: list[str], counts: NDArray[np.int64], bits: int = 256) -> tuple[FieldView, NDArray[np.int64]]:
    """The view of some values, and each one's place in it."""
    found, places = canonical(signatures(tokenise(values, "bigrams"), KEYS, bits))
    return FieldView(found, np.bincount(places, weights=counts, minlength=len(found)).astype(np.int64)), places


def surnames(n: int, seed: int, bits: int = 256, maximum: int | None = None) -> tuple[FieldView, NDArray[np.int64]]:
    """Surnames of `n` people drawn by frequency: the view, and what each of its values truly is."""
    public = public_surnames(maximum)
    drawn = np.random.default_rng(seed).choice(len(public), size=n, p=public.shares)
    names, counts = np.unique(drawn, return_counts=True)
    view, places = signed([public.values[name] for name in names], counts, bits)
    truth = np.empty(view.n_values, dtype=np.int64)
    truth[places] = names
    return view, truth
