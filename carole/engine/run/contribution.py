"""A contribution of mode block_keyed, read set by set: the rows of an interval of a rule's blocks at a time.

A record is a separate row under every rule, and it is not known which rows are one record. The file's size is therefore
not the number of rows, and agreement of random pairs of records cannot be estimated from the rows: it comes from the
samples, in which each field is drawn and shuffled separately.

A row's number is its place in the contribution: among the rows of all sets, one after the other.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gemel.common.signatures.layout import CODES, KNOWN, SAMPLES, Layout, SetLayout
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet


class SetReference(Protocol):
    """Where a set is, for whoever works on it. It can be sent to another process, and has no key.

    Read there it is what it is here, or an error.
    """

    def read(self) -> SignatureSet:
        """The set, checked; as much memory as it has bytes."""

    def digests(self) -> NDArray[np.uint64]:
        """The digests of the blocks of its rows, shape (n_rows,); nothing else of it is read."""

    def require(self) -> None:
        """Refuse it where this process lacks a key to read it, or the place where it is."""


class SetReader(Protocol):
    """Reads the sets of a contribution, from several threads at a time."""

    @property
    def layout(self) -> Layout:
        """The sizes of the sets."""

    def reference(self, number: int) -> SetReference:
        """Where a set is."""

    def read(self, number: int) -> SignatureSet:
        """A set, checked; as much memory as it has bytes."""

    def digests(self, number: int) -> NDArray[np.uint64]:
        """The digests of the blocks of a set's rows, shape (n_rows,); nothing else of the set is read."""


class Contribution:
    """One custodian's contribution.

    Parameters
    ----------
    reader : SetReader

    Attributes
    ----------
    sets
        The layouts of the sets with rows of rules, in the order of the rules and their intervals.
    starts
        The number of each set's first row, and of the row after the last.
    sample
        Values of each field, sampled separately; in arrays of its own, which keep nothing else in memory.
    n_records
        Records in the file.
    """

    def __init__(self, reader: SetReader) -> None:
        self._reader = reader
        layout = reader.layout
        others = (CODES, SAMPLES, *KNOWN)
        places = [n for n, part in enumerate(layout.sets) if part.rule not in others]
        self.sets: tuple[SetLayout, ...] = tuple(layout.sets[n] for n in places)
        assert places == list(range(len(places)))  # noqa: S101 - the samples come after the rules
        self.starts = tuple(int(n) for n in np.cumsum([0, *(part.rows for part in self.sets)]))
        self.n_records = layout.records
        self.sample = _copied(reader.read(len(places)))

    def read(self, number: int) -> SignatureSet:
        """One of `sets`, by its number."""
        return self._reader.read(number)

    def digests(self, number: int) -> NDArray[np.uint64]:
        """The digests of the blocks of a set's rows, shape (n_rows,)."""
        return self._reader.digests(number)

    def reference(self, number: int) -> SetReference:
        """Where one of `sets` is, by its number."""
        return self._reader.reference(number)

    def sets_of(self, rule: str) -> range:
        """The numbers of a rule's sets."""
        numbers = [number for number, part in enumerate(self.sets) if part.rule == rule]
        return range(numbers[0], numbers[-1] + 1)

    @property
    def rows_per_rule(self) -> dict[str, int]:
        """Rows of each rule: the records that have a key under it, and dummies."""
        return Layout(self.sets, self.n_records).rule_rows

    @property
    def largest_rule(self) -> str:
        """The first of the rules with most rows, each of which is a different record."""
        rows = self.rows_per_rule
        return max(rows, key=rows.__getitem__)

    def fewest_records(self, rows: NDArray[np.int32]) -> int:
        """The smallest number of records that rows can belong to: the most under one rule, each a different record."""
        names = list(self.rows_per_rule)
        of_set = np.array([names.index(part.rule) for part in self.sets])
        number = np.searchsorted(self.starts, np.unique(rows), side="right") - 1
        return int(np.bincount(of_set[number], minlength=1).max())


def _copied(part: SignatureSet) -> SignatureSet:
    fields = {
        name: FieldSignatures(field.bits, field.signatures.copy(), field.codes.copy())
        for name, field in part.fields.items()
    }
    return SignatureSet(part.rule, part.n_rows, fields, {})
