"""One custodian's contribution in block-keyed mode, as the engine takes it: the concatenated rows of all rules.

A record is a separate row under every rule, and it is not known which rows are one record. The file's size is therefore
not the number of rows, and agreement of random pairs of records cannot be estimated from the rows: it comes from the
samples, in which each field is drawn and shuffled separately.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field

import numpy as np
from numpy.typing import NDArray

from tryst.common.encoding.layout import CODES, SAMPLES
from tryst.common.encoding.samples import GROUPS
from tryst.common.encoding.signature_sets import MISSING, FieldSignatures, SignatureSet


@dataclass(frozen=True)
class BlockKeyedRows:
    """One custodian's contribution.

    Attributes
    ----------
    rows
        The rows of all rules, in the order of the rules.
    starts
        Where each rule's rows begin, and where the last rule's rows end.
    sample
        Values of each field, sampled separately; in arrays of its own, which keep nothing else in memory.
    n_records
        Records in the file.
    """

    rows: SignatureSet = dataclass_field(repr=False)
    starts: tuple[int, ...]
    sample: SignatureSet = dataclass_field(repr=False)
    n_records: int

    @property
    def sample_groups(self) -> int:
        """Groups of equal sizes that the sample's rows are in, each under keys of its own; 1 from a former release."""
        return GROUPS if self.sample.rule == SAMPLES else 1

    @property
    def rows_per_rule(self) -> tuple[int, ...]:
        """Rows of each rule: the records that have a key under it."""
        return tuple(int(n) for n in np.diff(self.starts))

    def max_rows(self) -> SignatureSet:
        """The rows of the rule that has most, each of which is a different record; without their keys."""
        rule = int(np.argmax(np.diff(self.starts)))
        own = slice(self.starts[rule], self.starts[rule + 1])
        fields = {
            name: FieldSignatures(field.bits, field.signatures, field.codes[own])
            for name, field in self.rows.fields.items()
        }
        return SignatureSet("", self.starts[rule + 1] - self.starts[rule], fields, {})

    def fewest_records(self, rows: NDArray[np.int32]) -> int:
        """The smallest number of records that rows can belong to: the most under one rule, each a different record."""
        rule, _ = self.place(np.unique(rows))
        return int(np.bincount(rule, minlength=1).max())

    def place(self, rows: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Rule of each row, by number, and its place among the rows of that rule."""
        starts = np.asarray(self.starts)
        rule = np.searchsorted(starts, rows, side="right") - 1
        return rule.astype(np.int32), (rows - starts[rule]).astype(np.int32)


def rows_of_sets(sets: Sequence[SignatureSet], n_records: int) -> BlockKeyedRows:
    """Concatenate a contribution's sets of the rules, with the sample beside them.

    Parameters
    ----------
    sets
        One per rule, then the samples; codes, which come last, are not used in this half of a run.
    n_records
        Records in the file.

    Notes
    -----
    Copies all that it keeps: the sets are views of a whole payload, which is as large again. Rules have no signature in
    common, so nothing is merged.
    """
    *rules, sample = (part for part in sets if part.rule != CODES)
    starts = tuple(int(n) for n in np.cumsum([0, *(part.n_rows for part in rules)]))
    fields = {}
    for name, first in rules[0].fields.items():
        parts = [part.fields[name] for part in rules]
        before = np.cumsum([0, *(part.n_distinct for part in parts)])
        codes = [
            np.where(part.codes == MISSING, MISSING, part.codes + n).astype(np.int32)
            for part, n in zip(parts, before, strict=False)
        ]
        signatures = np.vstack([part.signatures for part in parts])
        fields[name] = FieldSignatures(first.bits, signatures, np.concatenate(codes))
    blocks = {name: np.concatenate([part.blocks[name] for part in rules]) for name in rules[0].blocks}
    return BlockKeyedRows(SignatureSet("", starts[-1], fields, blocks), starts, _copied(sample), n_records)


def _copied(part: SignatureSet) -> SignatureSet:
    fields = {
        name: FieldSignatures(field.bits, field.signatures.copy(), field.codes.copy())
        for name, field in part.fields.items()
    }
    return SignatureSet(part.rule, part.n_rows, fields, {})
