"""The signature sets of a contribution, and the checks that need no key.

A row's pseudonym is its position in a set whose rows the custodian brought into an order of their content; only the
custodian can map it back. Equal values of a field share one signature, so a set holds each distinct signature once and
a code per row. `layout` has their sizes, `payload` their bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.signatures.intervals import WHOLE, Interval
from gemel.common.signatures.layout import (
    CODES,
    JOINT,
    KNOWN,
    WORD_BITS,
    Content,
    FieldLayout,
    Layout,
    SetLayout,
    VariableLayout,
    where_of,
)

# Values themselves as rows of fixed width, for a trusted linkage unit.
#
# In trusted mode a field's table holds, in place of each distinct signature, the value's UTF-8 text padded with zero
# bytes to the field's `bits`. So a table of values has the size, the order and the checks of a table of signatures, and
# its size is known before any of it arrives. A value that does not fit is refused at its custodian.


def pack_values(values: Sequence[str], bits: int, where: str) -> NDArray[np.uint64]:
    """Values, not empty and without U+0000, as rows of `bits` bits: uint64, shape (n_values, bits // 64).

    Raises `GemelError`: PARAMETER if a value is empty, has U+0000 or is longer than ``bits // 8`` bytes; the number of
    such is named, and `where` is the field.
    """
    width = bits // 8
    texts = [value.encode("utf-8") for value in values]
    long = sum(len(text) > width for text in texts)
    if long:
        what = f"a value may have at most {width} bytes of UTF-8 in trusted mode"
        remedy = f"set the field's bits to {-(-max(map(len, texts)) // 8) * 64} or more"
        raise parameter(where, what, f"{long} longer ones, of up to {max(map(len, texts))} bytes", remedy)
    if unfit := sum(not text or b"\0" in text for text in texts):
        remedy = "add `unicode` and `whitespace` to the field's cleaning"
        raise parameter(where, "a value must not be empty or contain U+0000", f"{unfit} others", remedy)
    rows = np.array(texts, dtype=f"S{width}")
    return rows.view("<u8").reshape(len(texts), bits // 64).astype(np.uint64, copy=False)


def unpack_values(rows: NDArray[np.uint64], where: str) -> list[str]:
    """The values of `pack_values`, from another party and therefore checked. Raises `GemelError`: UPLOAD_CORRUPT if a
    row is not UTF-8 text padded with zero bytes, or empty."""
    width = rows.shape[1] * 8
    texts: list[bytes] = np.ascontiguousarray(rows, dtype="<u8").view(f"S{width}").ravel().tolist()
    values = []
    for text in texts:
        try:
            value = text.decode("utf-8")
        except UnicodeDecodeError:
            value = ""
        if not value or "\0" in value:
            what = "a value must be UTF-8 text, padded with zero bytes and not empty"
            remedy = "make the contribution again and upload it again"
            raise GemelError(ErrorCode.UPLOAD_CORRUPT, what, where=where, got="something else", remedy=remedy)
        values.append(value)
    return values


MISSING = -1
NO_KEY = 0
"""Blocking key of a row that has none."""
INSTEAD_OF_ZERO = 1
"""Replaces a keyed digest of 0, so that it is not taken for ``NO_KEY``."""

_ROWS_AT_ONCE = 1 << 14


@dataclass(frozen=True)
class FieldSignatures:
    """The signatures of one field: each distinct one once, and a code per row."""

    bits: int
    """Length of a signature, a multiple of 64."""
    signatures: NDArray[np.uint64] = dataclass_field(repr=False)
    """uint64, shape (n_distinct, bits // 64), strictly ascending as byte strings: their order reveals nothing."""
    codes: NDArray[np.int32] = dataclass_field(repr=False)
    """int32, shape (n_rows,): row of `signatures`, or ``MISSING``."""
    content: Content = "signatures"
    """Content of `signatures`: in trusted mode the values, as `pack_values` writes them. A fixed field has one
    signature of zeros, which all rows have, and nothing of it is sent."""

    @classmethod
    def fixed(cls, bits: int, n_rows: int) -> FieldSignatures:
        """A field whose whole value is in the blocking key of the rows, and therefore equal within a block."""
        none = np.zeros((1, bits // WORD_BITS), dtype=np.uint64)
        return cls(bits, none, np.zeros(n_rows, dtype=np.int32), "fixed")

    @property
    def n_distinct(self) -> int:
        return int(self.signatures.shape[0])


@dataclass(frozen=True)
class VariableCodes:
    """The categories of one variable under a keyed relabelling."""

    categories: int
    codes: NDArray[np.int16] = dataclass_field(repr=False)
    """int16, shape (n_rows,): 0 to ``categories - 1``, or ``MISSING``. Not every code need occur."""


@dataclass(frozen=True)
class SignatureSet:
    """One set of signatures with pseudonymous rows."""

    rule: str
    """Blocking rule the set was made for; "" in open mode, where one set serves the whole file; `CODES` for the set of
    codes in mode block_keyed, which has variables and nothing else; `TRAINING` or `JOINT` likewise in any mode."""
    n_rows: int
    fields: dict[str, FieldSignatures]
    """Signatures per field, in the order of the specification."""
    blocks: dict[str, NDArray[np.uint64]]
    """Per blocking rule a uint64 array of shape (n_rows,): keyed digest of the row's blocking key, ``NO_KEY`` where it
    has none."""
    variables: dict[str, VariableCodes] = dataclass_field(default_factory=dict)
    """Category codes of the variables that this custodian holds, in the order of the specification."""
    interval: Interval = WHOLE
    """Of the rule's blocks: the rows of these, and no others, are in the set."""
    counts: NDArray[np.float64] | None = dataclass_field(default=None, repr=False)
    """Of a `JOINT` set only, float64 of shape (n_rows,): what each cell counts, or its share."""

    @property
    def layout(self) -> SetLayout:
        fields = tuple(
            FieldLayout(name, field.bits, 0 if field.content == "fixed" else field.n_distinct, field.content)
            for name, field in self.fields.items()
        )
        variables = tuple(VariableLayout(name, variable.categories) for name, variable in self.variables.items())
        return SetLayout(self.rule, self.n_rows, fields, tuple(self.blocks), variables, self.interval)

    def validate(self) -> None:
        """Check everything that can be checked without the key.

        Raises `GemelError`: UPLOAD_LIMIT for a name or a size out of bounds, UPLOAD_CORRUPT for an array of the wrong
        type or shape, a code out of range, signatures out of order or repeated, or a signature no row has.

        O(total size), working memory of a few MB and a byte per distinct signature.
        """
        where = where_of(self.rule)
        for name, field in self.fields.items():
            inside = f"{where}, field {name}"
            _array(field.signatures, np.uint64, (None, field.bits // WORD_BITS), f"{inside}, signatures")
            _array(field.codes, np.int32, (self.n_rows,), f"{inside}, codes")
        for rule, keys in self.blocks.items():
            _array(keys, np.uint64, (self.n_rows,), f"{where}, blocking rule {rule}")
        for name, variable in self.variables.items():
            _array(variable.codes, np.int16, (self.n_rows,), f"{where}, variable {name}, codes")
        if self.rule == JOINT:
            _array(self.counts, np.float64, (self.n_rows,), f"{where}, counts")
        fixed = any(field.content == "fixed" for field in self.fields.values())
        separate = self.rule in (CODES, *KNOWN) or fixed or self.interval != WHOLE
        self.layout.validate((self.n_rows or 1) if separate else 0)
        check_interval(self.blocks.get(self.rule), self.interval, where)
        for name, field in self.fields.items():
            if field.content == "fixed":
                continue
            inside = f"{where}, field {name}"
            _check_codes(field, f"{inside}, codes")
            _check_order(field.signatures, f"{inside}, signatures")
            if field.content == "values":
                unpack_values(field.signatures, f"{inside}, values")
        for name, variable in self.variables.items():
            check_range(variable.codes, variable.categories, f"{where}, variable {name}, codes")
        if self.counts is not None:
            check_counts(self.counts, where)


def layout_of(sets: Sequence[SignatureSet], records: int = 0) -> Layout:
    """Sizes of the contribution made of `sets`; in mode block_keyed with its number of records."""
    return Layout(tuple(part.layout for part in sets), records)


def check_interval(digests: NDArray[np.uint64] | None, interval: Interval, where: str) -> None:
    """Every row is in a block of the interval: of the digests that rows have under the rule of their set."""
    if interval.of > 1 and digests is not None:
        outside = int(np.count_nonzero(~interval.holds(digests) | (digests == NO_KEY)))
        if outside:
            raise corrupt("each row must be in the set of the interval of its block", where, f"{outside} in another")


def check_range(codes: NDArray[np.int32] | NDArray[np.int16], n: int, where: str) -> None:
    """Every code is MISSING or from 0 to n - 1."""
    if codes.size and not (int(codes.min()) >= MISSING and int(codes.max()) < n):
        outside = int(np.count_nonzero((codes < MISSING) | (codes >= n)))
        raise corrupt(f"codes must be from {MISSING} to {n - 1}", where, f"{outside} codes outside")


def check_counts(counts: NDArray[np.float64], where: str) -> None:
    """What cells count is finite and not negative, and sums to a finite number above 0."""
    if not (np.isfinite(counts).all() and (counts >= 0).all()):
        outside = int(np.count_nonzero(~(np.isfinite(counts) & (counts >= 0))))
        raise corrupt("counts must be finite and not negative", where, f"{outside} others")
    with np.errstate(over="ignore"):
        total = float(counts.sum())
    if not 0 < total < np.inf:
        raise corrupt("counts must have a finite sum above 0", where, "another sum")


def corrupt(what: str, where: str, got: str) -> GemelError:
    """The error (UPLOAD_CORRUPT) for contents that no correct encoder makes."""
    remedy = "make the contribution again and upload it again"
    return GemelError(ErrorCode.UPLOAD_CORRUPT, what, where=where, got=got, remedy=remedy)


def _check_codes(field: FieldSignatures, where: str) -> None:
    """Every code is MISSING or a row of the signatures, and every signature is some row's."""
    codes, n = field.codes, field.n_distinct
    check_range(codes, n, where)
    used = np.zeros(n + 1, dtype=np.bool_)
    used[codes] = True  # MISSING marks the entry past the last signature
    if not used[:n].all():
        unused = n - int(used[:n].sum())
        raise corrupt("every signature must be the signature of a row", where, f"{unused} unused")


def _check_order(signatures: NDArray[np.uint64], where: str) -> None:
    """Signatures ascend strictly as byte strings."""
    n = len(signatures)
    for start in range(0, n - 1, _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, n - 1)
        lower, upper = signatures[start:stop], signatures[start + 1 : stop + 1]
        word = np.argmax(lower != upper, axis=1)[:, None]  # first word that differs, or 0 when none does
        # The first byte of a string is the lowest of its word, and weighs most: compare with bytes swapped.
        first = np.take_along_axis(lower, word, axis=1).byteswap()
        second = np.take_along_axis(upper, word, axis=1).byteswap()
        if not (first < second).all():
            got = "signatures out of order or repeated"
            raise corrupt("signatures must ascend strictly as byte strings", where, got)


def _array(array: object, kind: type[np.generic], shape: tuple[int | None, ...], where: str) -> None:
    """`array` is a C-contiguous, aligned array of `kind` and `shape` (None: any length)."""
    if not isinstance(array, np.ndarray) or array.dtype != np.dtype(kind):
        got = str(array.dtype) if isinstance(array, np.ndarray) else type(array).__name__
        raise corrupt(f"an array of {np.dtype(kind)} expected", where, got)
    if array.ndim != len(shape) or any(w not in (None, h) for w, h in zip(shape, array.shape, strict=True)):
        expected = ", ".join("any" if length is None else str(length) for length in shape)
        raise corrupt(f"an array of shape ({expected}) expected", where, str(array.shape))
    if not (array.flags.c_contiguous and array.flags.aligned):
        raise corrupt("a contiguous, aligned array in C order expected", where, "another memory order")
