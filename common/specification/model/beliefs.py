"""What is believed of m before a run, as matches that are counted beside those of the files."""

from __future__ import annotations

from pydantic import Field

from tryst.common.specification.model.defaults import MAX_FIELDS
from tryst.common.specification.model.section import Name, Section


class MPriorSpec(Section):
    """What is believed of m of a field: how often two records of one person agree on it."""

    field: Name
    """A compared field."""
    agreement: float = Field(default=0.9, gt=0, lt=1, allow_inf_nan=False)
    """Share of matches at the field's highest level; the other levels share the rest evenly."""
    weight: float = Field(default=20.0, gt=0, le=1e6, allow_inf_nan=False)
    """Matches that the belief is worth: with as many matches in the files, it counts as much as they do."""


class PriorsSpec(Section):
    """What is believed where the latent step estimates again. All pairs show u, and for p there is
    `model.expected_matches`."""

    m: tuple[MPriorSpec, ...] = Field(strict=False, min_length=1, max_length=MAX_FIELDS)
    """Of m, by field; of a field that is not named what `model.m_prior` has."""
