"""What two insurers know of the people in both their files: a driver's traits, some with Alice and others with Bob.

The traits follow the network of `drivers`. No trait depends on name or address; what makes them useful to a
linkage is that Alice's and Bob's go together in one person.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.specification import Specification

from .drivers import driver_network
from .overlap import IDENTIFIER, TRUTH

ALICES = ("SeniorTrain", "RiskAversion", "VehicleYear", "GoodStudent", "DrivingSkill", "SocioEcon")
"""What Alice knows in addition to the key, as Smith and Elliot (2017) divide the variables."""

BOBS = ("HomeBase", "Age", "MakeModel", "OtherCar")
"""What Bob knows in addition to the key."""

KEY = "DrivQuality"
"""What both know, each by a record of its own."""

BY_THE_KEY: Mapping[str, Any] = MappingProxyType({"keys": [KEY]})
"""The latent step in which the key's value counts too."""


def with_traits(
    alice: pl.DataFrame, bob: pl.DataFrame, rng: np.random.Generator, *, changed: float = 0.1, missing: float = 0.02
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Give the people of two files a driver's traits.

    Parameters
    ----------
    alice, bob : DataFrame
        As `two_files` makes them; a person who is in both has one set of traits.
    rng : numpy.random.Generator
        Decides everything.
    changed : float
        Share of Bob's records whose key is another category than the person's.
    missing : float
        Share of the values of each trait that a file does not have.

    Returns
    -------
    DataFrame, DataFrame
        Alice's with columns `ALICES` and `KEY`, Bob's with `BOBS` and `KEY`, as text.
    """
    network = driver_network()
    persons = pl.concat([alice[TRUTH], bob[TRUTH]]).unique().sort()
    traits = network.sample(persons.len(), rng)
    place = pl.DataFrame({TRUTH: persons, "place": np.arange(persons.len(), dtype=np.int64)})

    def given(frame: pl.DataFrame, names: tuple[str, ...], others: float) -> pl.DataFrame:
        rows = frame.select(TRUTH).join(place, on=TRUTH, how="left", maintain_order="left")["place"].to_numpy()
        columns = []
        for name in names:
            column = list(network.names).index(name)
            codes = traits[rows, column].copy()
            levels = len(network.categories[column])
            if name == KEY:
                moved = rng.random(len(codes)) < others
                codes[moved] = (codes[moved] + rng.integers(1, levels, int(moved.sum()))) % levels
            columns.append(_texts(name, codes, network.categories[column], rng.random(len(codes)) < missing))
        return frame.with_columns(columns)

    return given(alice, (*ALICES, KEY), 0.0), given(bob, (*BOBS, KEY), changed)


def trait_variables() -> list[dict[str, Any]]:
    """The traits as the `variables` section of a specification has them."""
    network = driver_network()
    holders = [*((name, "alice") for name in ALICES), *((name, "bob") for name in BOBS), (KEY, "both")]
    return [
        {"name": name, "holder": holder, "categories": list(network.categories[list(network.names).index(name)])}
        for name, holder in holders
    ]


RULES: tuple[Mapping[str, Any], ...] = (
    MappingProxyType({"name": "month", "keys": [{"field": "born"}]}),
    MappingProxyType({"name": "sex-and-driving", "keys": [{"field": "sex"}, {"field": KEY}]}),
)
"""Blocking in mode block_keyed: by what is in few categories, so that nearly all matches are candidates."""

LENIENT: Mapping[str, Any] = MappingProxyType({"leakage": {"above": "warn"}, "resolution": {"max_joins": 1}})
"""In mode block_keyed. So little is compared that blocks are large and nearly every row is in a candidate pair: the
driving quality can be guessed from its similarities, and handles join the rows of nearly all records."""


def insured_specification(
    project: str, latent: Mapping[str, Any] | None = BY_THE_KEY, mode: Literal["open", "block_keyed"] = "open"
) -> Specification:
    """A linkage of two insurers' files by little: given name, month of birth, sex and the key.

    That is too little to distinguish people by: the traits must help.

    Parameters
    ----------
    project : str
    latent : mapping, optional
        The specification's section; None: none, the traits are carried along only.
    mode : {"open", "block_keyed"}
        block_keyed has blocking, as it must, and custodians' limits above the default.

    Returns
    -------
    Specification
    """
    return Specification.model_validate(
        {
            "version": 1,
            "project": project,
            "mode": mode,
            "custodians": {"alice": {"identifier": IDENTIFIER}, "bob": {"identifier": IDENTIFIER}},
            "fields": [
                {"name": "given_name", "kind": "name"},
                {
                    "name": "born",
                    "kind": "date",
                    "column": "date_of_birth",
                    "date": {"order": "ymd", "parts": ["month"]},
                    "levels": "exact",
                },
                {"name": "sex", "kind": "category"},
                {"name": KEY, "kind": "category"},
            ],
            "blocking": [dict(rule) for rule in RULES] if mode == "block_keyed" else [],
            "variables": trait_variables(),
            "latent": None if latent is None else dict(latent),
            **(LENIENT if mode == "block_keyed" else {}),
            "retention": {"uploads_days": 7, "results_days": 30, "maps_days": 90},
        }
    )


def _texts(name: str, codes: NDArray[np.int32], categories: tuple[str, ...], gone: NDArray[np.bool_]) -> pl.Series:
    values = pl.Series(name, np.array(categories, dtype=object)[codes].tolist(), dtype=pl.String)
    return values.set(pl.Series(gone), None)
