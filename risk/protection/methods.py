"""How the levels of keys are made, and which methods change values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

STRENGTHS = (0.0, 0.05, 0.1, 0.2, 0.4)
"""Shares of the records, of which one is chosen where it is searched how many values to redraw or swap."""


@dataclass(frozen=True)
class Levels:
    """How the levels of keys are made; a key that is not named has those of `default_hierarchy`.

    Parameters
    ----------
    rows
        By key: rows of a hierarchy, and what errors call its source.
    widths, bottom, top
        By key: widths of intervals, and coded ends.
    quantiles
        By key: numbers of intervals with about as many records each.
    fixed
        By key: the level at which it is published; others are searched.
    found
        Expected correct matches with sample uniques, as a share of the records, for which `minimal_recoding` looks for
        a recoding; its groups are the one level of the keys that have none by the other ways.
    """

    rows: Mapping[str, tuple[Sequence[Sequence[str]], str]] = field(default_factory=dict)
    widths: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    bottom: Mapping[str, int] = field(default_factory=dict)
    top: Mapping[str, int] = field(default_factory=dict)
    quantiles: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    fixed: Mapping[str, int] = field(default_factory=dict)
    found: float | None = None


@dataclass(frozen=True)
class Methods:
    """Methods that change values.

    Parameters
    ----------
    pram, swap
        By key: the share of records that take part.
    within
        Columns that make the strata of swapping.
    pram_searched, swap_searched
        Keys for which this share is one of `STRENGTHS`, the same for all of them.
    microaggregate
        Numeric columns that are averaged together, and the smallest group; none for none.
    group
        The smallest group.
    noise
        By column, its share of the variance; columns of one share are changed together, and keep their correlations.
    rounding
        By column, its base.
    """

    pram: Mapping[str, float] = field(default_factory=dict)
    swap: Mapping[str, float] = field(default_factory=dict)
    within: tuple[str, ...] = ()
    pram_searched: tuple[str, ...] = ()
    swap_searched: tuple[str, ...] = ()
    microaggregate: tuple[str, ...] = ()
    group: int = 3
    noise: Mapping[str, float] = field(default_factory=dict)
    rounding: Mapping[str, float] = field(default_factory=dict)

    @property
    def searched(self) -> tuple[str, ...]:
        """Keys whose share is searched."""
        return (*self.pram_searched, *self.swap_searched)

    def at(self, strength: float) -> Methods:
        """The methods with this share for the keys that are searched; at 0 those are left as they are."""
        if not strength:
            return replace(self, pram_searched=(), swap_searched=())
        return replace(
            self,
            pram={**self.pram, **dict.fromkeys(self.pram_searched, strength)},
            swap={**self.swap, **dict.fromkeys(self.swap_searched, strength)},
            pram_searched=(),
            swap_searched=(),
        )

    @property
    def numeric(self) -> tuple[str, ...]:
        """Columns whose numbers are changed."""
        return tuple(dict.fromkeys((*self.microaggregate, *self.noise, *self.rounding)))
