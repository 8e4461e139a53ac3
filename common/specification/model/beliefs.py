"""What is believed of m, u and p before a run, as pairs that are counted beside those of the files."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from gemel.common.specification.model.defaults import MAX_FIELDS
from gemel.common.specification.model.section import Name, Section


class MPriorSpec(Section):
    """What is believed of m of a field: how often two records of one person agree on it."""

    field: Name
    """A compared field."""
    agreement: float = Field(default=0.9, gt=0, lt=1, allow_inf_nan=False)
    """Share of matches at the field's highest level; the other levels share the rest evenly."""
    weight: float = Field(default=20.0, gt=0, le=1e6, allow_inf_nan=False)
    """Matches that the belief is worth: with as many matches in the files, it counts as much as they do."""


class UPriorSpec(Section):
    """What is believed of u of a field: how often records of two people agree on it."""

    field: Name
    """A compared field."""
    agreement: float = Field(gt=0, lt=1, allow_inf_nan=False)
    """Share of other pairs at the field's highest level; the other levels share the rest evenly."""
    weight: float = Field(gt=0, le=1e15, allow_inf_nan=False)
    """Pairs that the belief is worth, beside all pairs of the two files."""


class PPriorSpec(Section):
    """What is believed of p, the share of pairs that match."""

    matches: float = Field(gt=0, le=1e15, allow_inf_nan=False)
    """Matches, counted beside those of the two files."""
    non_matches: float = Field(gt=0, le=1e15, allow_inf_nan=False)
    """Other pairs, counted likewise."""


class PriorsSpec(Section):
    """What is believed of m, u and p where the latent step estimates them again; `model.m_prior` is the linkage's
    before it."""

    m: tuple[MPriorSpec, ...] = Field(default=(), strict=False, max_length=MAX_FIELDS)
    """Of m, by field."""
    u: tuple[UPriorSpec, ...] = Field(default=(), strict=False, max_length=MAX_FIELDS)
    """Of u, by field."""
    p: PPriorSpec | None = None
    """Of p, where `latent.p` is free."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not (self.m or self.u or self.p):
            raise ValueError("nothing is believed of m, u or p: state something, or drop the section")
        return self
