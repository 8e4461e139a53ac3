"""A contribution of mode block_keyed, read set by set: the rows of an interval of a rule's blocks at a time.

A record is a separate row under every rule, and it is not known which rows are one record. The file's size is therefore
not the number of rows, and agreement of random pairs of records cannot be estimated from the rows: it comes from the
samples, in which each field is drawn and shuffled separately.

A row's number is its place in the contribution: among the rows of all sets, one after the other.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from itertools import accumulate
from operator import mul
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gemel.carole.fellegi_sunter.model import MISSING
from gemel.common.arrays import I8, I32, I64, U64, Flags, Ints
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.signatures.layout import CODES, KNOWN, SAMPLES, Layout, SetLayout
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet


class SetReference(Protocol):
    """Where a set is, for whoever works on it. It can be sent to another process, and has no key.

    Read there it is what it is here, or an error.
    """

    def read(self) -> SignatureSet:
        """The set, checked; as much memory as it has bytes."""

    def digests(self) -> U64:
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


class Contribution:
    """One custodian's contribution.

    `sets`: the layouts of the sets with rows of rules, in the order of the rules and their intervals; `starts`: the
    number of each set's first row, and of the row after the last; `sample`: values of each field, sampled separately;
    in arrays of its own, which keep nothing else in memory.
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
        self.sample = _copied(self.reference(len(places)).read())

    def reference(self, number: int) -> SetReference:
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

    def fewest_records(self, rows: I32) -> int:
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


class Packing:
    """How the levels of the compared fields are packed.

    `n_levels`: levels of each field; the digit `n_levels[q]` means missing. Raises PARAMETER if there are 2**63 vectors
    or more.
    """

    def __init__(self, names: Sequence[str], n_levels: Sequence[int]) -> None:
        self.n_levels = tuple(n_levels)
        strides = list(accumulate((levels + 1 for levels in self.n_levels), mul, initial=1))
        if strides[-1] >= 2**63:
            fields = ", ".join(f"{name} {levels}" for name, levels in zip(names, n_levels, strict=True))
            what = "there must be fewer than 2**63 possible comparison vectors"
            got = f"2**{np.log2(float(strides[-1])):.0f} from these fields' levels (and missing): {fields}"
            raise parameter("fields", what, got, "compare fewer fields, or give some of them fewer levels")
        self.strides = tuple(strides[:-1])

    def unpack(self, codes: I64) -> I8:
        """Comparison vectors of packed codes; shape (n, n_fields), with `MISSING` where a value is missing."""
        gamma = np.empty((len(codes), len(self.strides)), dtype=np.int8)
        for q, (stride, levels) in enumerate(zip(self.strides, self.n_levels, strict=True)):
            digit = codes // stride % (levels + 1)
            gamma[:, q] = np.where(digit == levels, MISSING, digit)
        return gamma


_MAXIMUM = 2**63 - 1


def row_numbers(columns: Sequence[Ints | Flags]) -> I64:
    """The number of each row among the distinct rows, in lexicographic order: that of ``np.unique(axis=0)``.

    `columns` (sequence of int or bool, shape (n_rows,)): the first decides first. O(rows * columns) and one or more
    sorts of whole numbers: columns are joined to one number while that has room, which is many times as fast as sorting
    rows.
    """
    number, size = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        lowest = int(column.min(initial=0))
        width = int(column.max(initial=0)) - lowest + 1
        if size * width > _MAXIMUM:
            number, size = _counted(number)
        if size * width > _MAXIMUM:
            column, width = _counted(column)
            lowest = 0
        number = number * width + (column.astype(np.int64) - lowest)
        size *= width
    return _counted(number)[0]


def pair_numbers(a: Ints, b: Ints) -> I64:
    """A number for each pair of rows, ascending as the pairs are."""
    return np.asarray(a.astype(np.int64) << 32 | b.astype(np.int64))


Columns = TypeVar("Columns")


def joined(parts: Sequence[Columns]) -> Columns:
    """Dataclasses of arrays as one: the arrays of each name one after the other; None where the first has none."""
    made: Any = type(parts[0])
    columns = zip(*(vars(part).values() for part in parts), strict=True)
    whole: Columns = made(*(None if own[0] is None else np.concatenate(own) for own in columns))
    return whole


def n_distinct(rows: Ints) -> int:
    """How many different rows there are among row numbers, none negative. O(rows), and eight bytes a row of the file.

    ``np.unique`` takes ten times as long.
    """
    return int(np.count_nonzero(np.bincount(rows)))


def _counted(values: Ints | Flags) -> tuple[I64, int]:
    """Values as numbers without gaps, in their order, and how many there are."""
    distinct, number = np.unique(values, return_inverse=True)
    return number.astype(np.int64, copy=False), max(len(distinct), 1)


MAX_DOCUMENT_BYTES = 64 << 20

Arrays = dict[str, NDArray[Any]]


def packed(arrays: Mapping[str, NDArray[Any]], document: Mapping[str, Any]) -> bytes:
    """Arrays and a document as the bytes of an archive."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            part = io.BytesIO()
            np.lib.format.write_array(part, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(f"{name}.npy", part.getvalue())
        archive.writestr("document.json", json.dumps(document, allow_nan=False))
    return content.getvalue()


def unpacked(content: bytes | memoryview) -> tuple[Arrays, dict[str, Any]]:
    """The arrays and document of an archive from another party; UPLOAD_CORRUPT if it is no such archive."""
    arrays: Arrays = {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            # Stored, not compressed: then no part is longer than the bytes received.
            if any(entry.compress_type != zipfile.ZIP_STORED or entry.file_size > len(content) for entry in entries):
                raise malformed("a compressed part")
            if archive.getinfo("document.json").file_size > MAX_DOCUMENT_BYTES:
                raise malformed(f"a document of more than {MAX_DOCUMENT_BYTES} bytes")
            document = json.loads(archive.read("document.json"))
            for entry in entries:
                if entry.filename.endswith(".npy"):
                    part = io.BytesIO(archive.read(entry))
                    arrays[entry.filename.removesuffix(".npy")] = np.lib.format.read_array(part, allow_pickle=False)
    except (zipfile.BadZipFile, KeyError, ValueError, RecursionError, NotImplementedError, RuntimeError, EOFError):
        raise malformed("a damaged archive") from None
    if not isinstance(document, dict):
        raise malformed("a document that is not an object")
    return arrays, document


def array_of(arrays: Arrays, name: str, kind: type[np.generic], shape: tuple[int | None, ...]) -> NDArray[Any]:
    """The array of a name; UPLOAD_CORRUPT if it is not of this kind and shape (None: any length)."""
    array = arrays.get(name)
    if array is None or array.dtype != np.dtype(kind) or array.ndim != len(shape):
        raise malformed(f"no {name} of the right kind")
    if any(selected not in (None, there) for selected, there in zip(shape, array.shape, strict=True)):
        raise malformed(f"{name} of another shape")
    return array


def malformed(got: str, what: str = "an artifact of the resolution does not have the agreed format") -> GemelError:
    """The error (UPLOAD_CORRUPT) for an invalid artifact of another party of a resolution."""
    remedy = "run the same version of Gemel at all parties; if they do, start another run"
    return GemelError(ErrorCode.UPLOAD_CORRUPT, what, where="resolution", got=got, remedy=remedy)
