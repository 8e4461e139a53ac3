"""The rules that choose the pairs to compare: keys, bands, canopies, similar values."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gemel.common.specification.model.section import BlockingKey, Name, Section

RULE_KINDS = ("keys", "lsh", "canopies", "similar")
"""What a blocking rule is made of: one of these."""


class Bands(Section):
    """Locality-sensitive hashing: rows whose signatures of a field agree in all bits of at least one band."""

    field: Name
    """The field."""
    bands: int = Field(default=20, ge=1, le=256)
    """How many bands; more of them lose fewer similar pairs."""
    bits: int = Field(default=16, ge=1, le=63)
    """Bits of a band; more of them let fewer chance pairs through. Values of similarity J (the share of bigrams in
    common) share one of b bands of r bits with probability 1 - (1 - ((1 + J)/2)^r)^b: with 20 bands of 16 bits
    nearly 1 at J = .9, .99 at .8, .43 at .6, .07 at .4, .0003 at 0. Where the field has `randomised_response: f`, (1 -
    2f)^2 J stands for J. bands times bits must fit into the field's bits."""

    def chance(self, jaccard: float, randomised_response: float = 0.0) -> float:
        return float(1 - (1 - ((1 + (1 - 2 * randomised_response) ** 2 * jaccard) / 2) ** self.bits) ** self.bands)


class Canopies(Section):
    """Canopies: values picked at random and those similar to them; rows whose values lie in a common canopy."""

    field: Name
    """The field."""
    loose: float = Field(default=0.5, ge=0, le=1, allow_inf_nan=False)
    """Values at least as similar to a picked one, as estimated from the signatures, belong to its canopy."""
    tight: float = Field(default=0.8, gt=0, le=1, allow_inf_nan=False)
    """Values at least as similar are picked no more. Not below `loose`."""


class SimilarValues(Section):
    """All rows whose values of a field are similar, found exactly by a multibit tree."""

    field: Name
    """The field."""
    minimum: float = Field(default=0.7, gt=0, le=1, allow_inf_nan=False)
    """Smallest similarity, as estimated from the signatures."""


class BlockingRule(Section):
    """Two rows are compared when they satisfy at least one rule. A rule is one of keys, lsh, canopies and similar; the
    custodians make the keys, Carole the others by herself from the signatures."""

    name: Name
    """The rule's name on every screen."""
    keys: tuple[BlockingKey, ...] = Field(default=(), strict=False, max_length=8)
    """What rows must agree on."""
    lsh: Bands | None = None
    """Bands of signature bits, one of which rows must agree on."""
    canopies: Canopies | None = None
    """Canopies of a field's values, one of which rows must share."""
    similar: SimilarValues | None = None
    """How similar two rows must be in a field."""
    limit: int = Field(default=100_000_000, ge=1)
    """Largest number of pairs of one block. A larger one is split or left to the other rules, and a warning gives its
    size."""
    split: Name | None = None
    """Field by whose equality blocks above the limit are split, for rules with keys. Default: they are not. In modes
    block_keyed and shared it splits every block, since no party may learn which are large."""
    withheld: tuple[Name, ...] = Field(default=(), strict=False, max_length=64)
    """In modes block_keyed and shared: fields that are not sent in the rows of this rule, because its keys would
    disclose them, as a whole given name does a sex. Its pairs are compared as if neither record had a value; other
    rules send the fields. They are none of the rule's own fields."""

    @property
    def fields(self) -> tuple[str, ...]:
        named = [key.field for key in self.keys]
        named += [part.field for part in (self.lsh, self.canopies, self.similar) if part is not None]
        return tuple(dict.fromkeys([*named, *([self.split] if self.split else [])]))


Padding = Literal["powers_of_two"]
"""The size blocks are padded to: the next power of two.

Not a multiple of a number: most rows of small blocks would be dummies, so that a record would have candidate pairs with
dummies under nearly every rule, and the handles of an honest run would join most rows of most records.
"""

MAX_ROWS = 2

MIN_TRAINING = 20
"""Fewer training records than this are refused: they move no joint distribution, and single people stand out."""

MAX_KNOWN_ROWS = 1_000_000
"""Maximum number of training records, and of cells of a joint distribution."""

WEIGHT_COLUMNS = ("count", "share")
"""What a cell of a joint distribution counts is in a column of one of these names."""

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class TrainingSpec(Section):
    """Training records: other people of whom both custodians' variables are known. A CSV file, one row a person, with a
    column for each variable of the value model, under its name; its values are the public categories."""

    by: Literal["alice", "bob"]
    """The custodian that has the file."""
    sha256: Digest
    """SHA-256 of the file's bytes, 64 hexadecimal digits in lower case."""
    records: int = Field(ge=MIN_TRAINING, le=MAX_KNOWN_ROWS)
    """Its rows. Fewer than 20 move no joint distribution, and single people would stand out among them."""


class JointSpec(Section):
    """A known joint distribution, which is then not estimated. A CSV file, one row for each cell that occurs, with a
    column for each variable of the value model, under its name, and one named `count`, or `share` of shares that sum to
    1."""

    by: Literal["alice", "bob"]
    """The custodian that has the file."""
    sha256: Digest
    """SHA-256 of the file's bytes, 64 hexadecimal digits in lower case."""
    cells: int = Field(ge=2, le=MAX_KNOWN_ROWS)
    """Its rows."""
