"""Populations that others made, with sets of key variables to draw samples by."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

_FOLDER = Path(__file__).parent / "populations"


@dataclass(frozen=True)
class PublicPopulation:
    """A file of everybody, and the sets of key variables that an intruder is assumed to know.

    `tuned`: whether a method was ever chosen by looking at results on it. `unit`: the column of the unit that
    surveys sample whole, a household or an enterprise.
    """

    name: str
    keys: dict[str, tuple[str, ...]]
    tuned: bool
    unit: str | None = None

    def records(self) -> pl.DataFrame:
        """Every record with every variable; missing text values stay null."""
        return pl.read_parquet(_FOLDER / f"{self.name}.parquet")

    def key_columns(self, keys: str) -> pl.DataFrame:
        """Columns of one set of keys, as texts; a missing value is the text ``?``, a level of its own."""
        return self.records().select(pl.col(self.keys[keys]).cast(pl.String).fill_null("?"))


ADULT = PublicPopulation(
    "adult",
    {
        "5 keys": ("age", "sex", "race", "marital_status", "native_country"),
        "6 keys": ("age", "sex", "race", "marital_status", "native_country", "education"),
        "8 keys": ("age", "sex", "race", "marital_status", "native_country", "education", "workclass", "occupation"),
    },
    tuned=True,
)
EUSILC_P = PublicPopulation(
    "eusilcP", {"6 keys": ("region", "gender", "ageg", "ecoStat", "citizenship", "hs")}, tuned=True
)
EUSILC = PublicPopulation(
    "eusilc", {"6 keys": ("db040", "rb090", "age", "pl030", "pb220a", "hsize")}, tuned=False, unit="db030"
)
SES = PublicPopulation(
    "ses",
    {"7 keys": ("location", "NACE1", "size", "sex", "age", "education", "occupation")},
    tuned=False,
    unit="IDunit",
)
PUBLIC_POPULATIONS = (EUSILC_P, ADULT, EUSILC, SES)
