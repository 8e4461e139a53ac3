"""What the attacks of the leakage benchmark are tried on, and the lines in which their results are reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.keys.derivation import SEED_BYTES, Purpose, Seed, derive
from gemel.common.keys.noise import NOISE_KEY_BYTES, NoiseKey
from gemel.common.parties import Side
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import Specification
from gemel.coordinator.demonstration.people import generate
from gemel.coordinator.demonstration.people.names import name_tables
from gemel.coordinator.draft.specification_draft import draft
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.minhash import signatures
from gemel.custodian.encoding.records import encode_records
from gemel.custodian.leakage.block_view import known_by_block
from gemel.custodian.leakage.recovery import Recovery
from gemel.custodian.leakage.view import FieldView, PublicValues
from gemel.custodian.tokens import tokenise

NAMES = ("surname", "given_name")
"""The attacked fields."""
ABOVE_CHANCE = 0.02
"""Required of block-keyed mode: less than so much above guessing."""
READS = 0.6
"""Required of an attack on open mode: at least so much of the records, or it shows nothing elsewhere."""
OVERLAPS = (0.1, 0.4, 1.0)
"""Shares of the file that are among the attacker's people in clear."""
MAXIMUM = 5000
"""Commonest values that are attacked, where not all are."""
HEAD = (
    "| attack | values | records | attainable | by guessing | above it | required | seconds |\n"
    "|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True)
class Line:
    """One attack's result; every share is of 1, ``None`` where it has no meaning.

    `records` and `values` are the share recovered, of the records that have a value and of the distinct signatures;
    `attainable` the best that any attack could do with the dictionary; `chance` what naming the commonest value
    everywhere does; `error` the standard error of `records` less `chance` where a sample was attacked. Required is
    at least `minimum` recovered, or less than `above_chance` above chance: at most one of the two.
    """

    what: str
    records: float
    chance: float | None = None
    values: float | None = None
    attainable: float | None = None
    error: float = 0.0
    minimum: float | None = None
    above_chance: float | None = None
    seconds: float | None = None

    @classmethod
    def of(cls, what: str, found: Recovery, **beside: float | None) -> Line:
        """The line of a recovery, with what is required and its seconds `beside`."""
        return cls(what, found.records, found.chance, found.values, found.attainable_records, found.error, **beside)

    @property
    def above(self) -> float:
        """Recovered above guessing; may be below 0."""
        return self.records - (self.chance or 0.0)

    @property
    def met(self) -> bool | None:
        """Whether it is as required; None where nothing is."""
        if self.minimum is not None:
            return self.records >= self.minimum
        return None if self.above_chance is None else self.above < self.above_chance

    def markdown(self) -> str:
        """A row under `HEAD`."""
        requested = ""
        if self.met is not None:
            limit = f"≥ {self.minimum:.0%}" if self.minimum is not None else f"< {self.above_chance:+.0%}"
            requested = f"{limit}: {'met' if self.met else '**MISSED**'}"
        error = f" ±{self.error:.1%}" if self.error else ""
        cells = (
            self.what,
            _share(self.values),
            f"{self.records:.1%}",
            _share(self.attainable),
            _share(self.chance),
            "" if self.chance is None else f"{self.above:+.1%}{error}",
            requested,
            "" if self.seconds is None else f"{self.seconds:.0f}",
        )
        return "| " + " | ".join(cells) + " |"


def _share(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"


class Study:
    """Invented people, the specification that is drafted for them, and what is public.

    A section has random numbers of its own: it gives the same by itself as among all.
    """

    def __init__(self, n: int, seed: int, section: str) -> None:
        self.n, self.seed = n, seed
        self.people = generate(n, np.random.default_rng(seed), sampled=0.05)
        self.rng = np.random.default_rng([seed, *section.encode()])
        self.drafted, *_ = draft(self.people, self.people, "people", True, "block_keyed")
        self.columns = self.cleaned(self.people)

    def fresh_seed(self) -> Seed:
        """Another seed of the custodians' at each call, and in each run of the section the same ones."""
        return Seed(self.rng.bytes(SEED_BYTES))

    def fresh_noise(self) -> NoiseKey:
        """Another noise key at each call, and in each run of the section the same ones."""
        return NoiseKey(self.rng.bytes(NOISE_KEY_BYTES))

    def cleaned(self, people: pl.DataFrame) -> Mapping[str, pl.Series]:
        """Cleaned columns of some people."""
        return clean(people, self.drafted, Side.ALICE).columns

    def others(self, n: int) -> Mapping[str, pl.Series]:
        """Cleaned columns of other people of the same population."""
        return self.cleaned(generate(n, self.rng, sampled=0.05))

    def overlapping(self, share: float) -> Mapping[str, pl.Series]:
        """Cleaned columns of as many people, of whom a share is in the file: the first rows are the file's first."""
        known = int(share * self.n)
        if known == self.n:
            return self.columns
        others = self.others(self.n - known)
        return {name: pl.concat([column[:known], others[name]]) for name, column in self.columns.items()}

    @cached_property
    def public(self) -> dict[str, PublicValues]:
        """Names with their public counts."""
        return {"surname": _name_counts(("surname",)), "given_name": _name_counts(("female", "male"))}

    def specified(self, fields: Iterable[str] | None = None, **changes: object) -> Specification:
        """The drafted specification with some fields only, and other changes; checked as any is."""
        document = {**self.drafted.model_dump(mode="json"), **changes}
        kept = None if fields is None else set(fields)
        document["fields"] = [each for each in document["fields"] if kept is None or each["name"] in kept]
        return Specification.model_validate(document)

    def encoded(self, spec: Specification) -> tuple[list[SignatureSet], dict[str, NDArray[np.int64]]]:
        """What Carole knows of the people, a set for each rule in whatever intervals it is sent; the rows' records."""
        seed, noise = self.fresh_seed(), self.fresh_noise()
        sent = encode_records(self.columns, spec, seed, 1, noise=noise, shuffle=self.rng.permutation)
        return [known_by_block(part) for part in sent.sets if part.rule in sent.orders], dict(sent.orders)

    def open_view(self, field: str, bits: int, rows: slice = slice(None)) -> tuple[FieldView, NDArray[np.int64]]:
        """A field of open mode, and what each of its signatures is among the public names."""
        counted = Counter(value for value in self.columns[field][rows].to_list() if value)
        keys = derive(self.fresh_seed(), "people", Purpose.SIGNATURE, bytes(32), field)
        signed = signatures(tokenise(list(counted), "bigrams"), keys, bits)
        view = FieldView(signed, np.array(list(counted.values()), dtype=np.int64))
        return view, self.public[field].places(list(counted))


def _name_counts(groups: Sequence[str]) -> PublicValues:
    counts: Counter[str] = Counter()
    for group in groups:
        table = name_tables()[group]
        for name, weight in zip(table.names, table.weights, strict=True):
            counts["".join(filter(str.isalpha, name.lower()))] += int(weight)
    return PublicValues(list(counts), list(counts.values()))
