"""What a custodian contributes: signature sets, and their layout as bytes.

A row's pseudonym is its position in a set whose rows the custodian shuffled; only the custodian keeps the
way back. Equal values of a field share one signature, so a set holds each distinct signature once and a code
per row.

The body of a contribution is plain arrays, one after the other, little-endian, every array padded with zero
bytes to a multiple of 8 so that the receiver can use the arrays where they lie:

    for each set
        for each field    signatures   distinct x bits/64   uint64     strictly ascending as byte strings; in trusted
                                                                       mode the values themselves (`values`)
                          codes        rows                 int32      index into signatures, -1 = missing
        for each rule     keys         rows                 uint64     0 = the row has no blocking key
        for each variable codes        rows                 int16      keyed code of the row's category, -1 = missing

Its size follows from the `Layout` alone, which is known before any data arrives. Everything that comes from
another party is untrusted: `from_bytes` accepts only the one canonical body of a set.

In mode block_keyed the variables' codes have a set of their own, `CODES`, with a row for every record and nothing but
codes in it: beside a signature they would join a record's rows across rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from common.encoding.values import unpack_values
from common.errors import ErrorCode, TrystError

Content = Literal["signatures", "values"]
"""What the rows of a field's table are: keyed signatures, or in trusted mode the values."""

MISSING = -1
"""Code of a row that has no value in a field."""

NO_KEY = 0
"""Blocking key of a row that has none."""

WORD_BITS = 64
MIN_BITS = 64
MAX_BITS = 8192
MAX_ROWS = 2**31 - 1
MAX_SETS = 64
MAX_FIELDS = 256
MAX_RULES = 64

SAMPLE_ROWS = 2_000
"""Rows of a sample in mode block_keyed. Pairs of two samples tell an agreement of one in 100,000 to within a sixth of
itself, where values are evenly spread; a file of fewer records is sampled whole."""
MAX_VARIABLES = 64
MAX_CATEGORIES = 1000

CODES = "+codes"
"""Name of the set of codes among the sets of mode block_keyed, where others have their rule's; no rule can have it."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_ALIGNMENT = 8
_ROWS_AT_ONCE = 1 << 14

Number = TypeVar("Number", np.uint64, np.int32, np.int16)


@dataclass(frozen=True)
class FieldLayout:
    """Size of one field of a set: its name, bits per signature or value, their number, and which of the two."""

    name: str
    bits: int
    distinct: int
    content: Content = "signatures"


@dataclass(frozen=True)
class VariableLayout:
    """One category variable of a set: its name and its number of categories."""

    name: str
    categories: int


@dataclass(frozen=True)
class SetLayout:
    """Sizes of one set: its rule ("" in open mode, or `CODES`), rows, fields, rules with blocking keys, variables."""

    rule: str
    rows: int
    fields: tuple[FieldLayout, ...]
    blocks: tuple[str, ...] = ()
    variables: tuple[VariableLayout, ...] = ()

    @property
    def total_bytes(self) -> int:
        """Bytes of this set in the body."""
        signatures = sum(field.distinct * (field.bits // 8) for field in self.fields)
        codes = len(self.fields) * _padded(self.rows * 4) + len(self.variables) * _padded(self.rows * 2)
        return signatures + codes + len(self.blocks) * self.rows * 8


@dataclass(frozen=True)
class Layout:
    """Sizes of a whole contribution, enough to check and to read its body.

    Examples
    --------
    >>> layout = Layout((SetLayout("", 3, (FieldLayout("surname", 128, 2),), ("born",)),))
    >>> layout.total_bytes                  # 2 signatures of 16, 3 codes of 4 padded to 16, 3 keys of 8
    72
    """

    sets: tuple[SetLayout, ...]
    records: int = 0
    """Records of the file in mode block_keyed, where no set has a row for each; otherwise 0. Where blocks are padded a
    set may have more rows than that."""

    @property
    def total_bytes(self) -> int:
        """Bytes of the body."""
        return sum(part.total_bytes for part in self.sets)

    def validate(self) -> None:
        """Raise `TrystError` (UPLOAD_LIMIT) unless a contribution may have these names and sizes."""
        _limit(len(self.sets), 1, MAX_SETS, "signature sets", "layout")
        _limit(self.records, 0, MAX_ROWS, "records", "layout")
        reserved = ("", CODES) if self.records else ("",)
        _distinct_names([part.rule for part in self.sets], "layout", "rule", reserved=reserved)
        for part in self.sets:
            where = _where(part.rule)
            codes = part.rule == CODES
            _limit(part.rows, self.records if codes else 0, self.records if codes else MAX_ROWS, "rows", where)
            _limit(len(part.fields), 0 if codes else 1, 0 if codes else MAX_FIELDS, "fields", where)
            _limit(len(part.blocks), 0, 0 if codes else MAX_RULES, "blocking rules", where)
            _distinct_names([field.name for field in part.fields], where, "field")
            _distinct_names(part.blocks, where, "blocking rule")
            # Beside signatures of a block, codes that hold for the whole file would join what the mode keeps apart.
            _limit(len(part.variables), 0, 0 if self.records and not codes else MAX_VARIABLES, "variables", where)
            _distinct_names([variable.name for variable in part.variables], where, "variable")
            for variable in part.variables:
                _limit(variable.categories, 2, MAX_CATEGORIES, "categories", f"{where}, variable {variable.name}")
            for field in part.fields:
                inside = f"{where}, field {field.name}"
                _limit(field.bits, MIN_BITS, MAX_BITS, "bits", inside, multiple=WORD_BITS)
                _limit(field.distinct, 0, part.rows, "distinct signatures (no more than rows)", inside)
                if field.content not in ("signatures", "values"):
                    raise _limits("a field holds signatures or values", inside, "something else")


@dataclass(frozen=True)
class FieldSignatures:
    """The signatures of one field: each distinct one once, and which of them each row has.

    Attributes
    ----------
    bits
        Length of a signature, a multiple of 64.
    signatures
        uint64, shape (n_distinct, bits // 64), strictly ascending as byte strings: their order tells nothing.
    codes
        int32, shape (n_rows,): row of `signatures`, or ``MISSING``.
    content
        What `signatures` holds: in trusted mode the values, as `values.pack_values` writes them.
    """

    bits: int
    signatures: NDArray[np.uint64] = dataclass_field(repr=False)
    codes: NDArray[np.int32] = dataclass_field(repr=False)
    content: Content = "signatures"

    @property
    def n_distinct(self) -> int:
        """Number of distinct signatures."""
        return int(self.signatures.shape[0])


@dataclass(frozen=True)
class VariableCodes:
    """The categories of one variable under a keyed relabelling.

    Attributes
    ----------
    categories
        Their number, as the specification lists them.
    codes
        int16, shape (n_rows,): 0 to ``categories - 1``, or ``MISSING``. Not every code need occur.
    """

    categories: int
    codes: NDArray[np.int16] = dataclass_field(repr=False)


@dataclass(frozen=True)
class SignatureSet:
    """One set of signatures with pseudonymous rows.

    Attributes
    ----------
    rule
        Blocking rule the set was made for; "" in open mode, where one set serves the whole file; `CODES` for the set
        of codes in mode block_keyed, which has variables and nothing else.
    n_rows
        Number of rows.
    fields
        Signatures per field, in the order of the specification.
    blocks
        Per blocking rule a uint64 array of shape (n_rows,): keyed digest of the row's blocking key,
        ``NO_KEY`` where it has none.
    variables
        Category codes of the variables that this custodian holds, in the order of the specification.
    """

    rule: str
    n_rows: int
    fields: dict[str, FieldSignatures]
    blocks: dict[str, NDArray[np.uint64]]
    variables: dict[str, VariableCodes] = dataclass_field(default_factory=dict)

    @property
    def layout(self) -> SetLayout:
        """The set's sizes."""
        fields = tuple(
            FieldLayout(name, field.bits, field.n_distinct, field.content) for name, field in self.fields.items()
        )
        variables = tuple(VariableLayout(name, variable.categories) for name, variable in self.variables.items())
        return SetLayout(self.rule, self.n_rows, fields, tuple(self.blocks), variables)

    def validate(self) -> None:
        """Check everything that can be checked without the key.

        Raises
        ------
        TrystError
            UPLOAD_LIMIT for a name or a size out of bounds, UPLOAD_CORRUPT for an array of the wrong type or
            shape, a code that points nowhere, signatures out of order or repeated, or a signature no row has.

        Notes
        -----
        O(total size), working memory of a few MB and a byte per distinct signature.
        """
        where = _where(self.rule)
        for name, field in self.fields.items():
            inside = f"{where}, field {name}"
            _array(field.signatures, np.uint64, (None, field.bits // WORD_BITS), f"{inside}, signatures")
            _array(field.codes, np.int32, (self.n_rows,), f"{inside}, codes")
        for rule, keys in self.blocks.items():
            _array(keys, np.uint64, (self.n_rows,), f"{where}, blocking rule {rule}")
        for name, variable in self.variables.items():
            _array(variable.codes, np.int16, (self.n_rows,), f"{where}, variable {name}, codes")
        Layout((self.layout,), self.n_rows if self.rule == CODES else 0).validate()
        for name, field in self.fields.items():
            inside = f"{where}, field {name}"
            _check_codes(field, f"{inside}, codes")
            _check_order(field.signatures, f"{inside}, signatures")
            if field.content == "values":
                unpack_values(field.signatures, f"{inside}, values")
        for name, variable in self.variables.items():
            _check_range(variable.codes, variable.categories, f"{where}, variable {name}, codes")


def layout_of(sets: Sequence[SignatureSet], records: int = 0) -> Layout:
    """Sizes of the contribution made of `sets`, in mode block_keyed of so many records."""
    return Layout(tuple(part.layout for part in sets), records)


def to_bytes(sets: Sequence[SignatureSet]) -> Iterator[memoryview]:
    """Canonical body of a contribution, as a series of views of the arrays themselves (nothing is copied).

    The pieces are as long as the arrays are; their lengths sum to ``layout_of(sets).total_bytes``.
    """
    for part in sets:
        for field in part.fields.values():
            yield from _pieces(field.signatures)
            yield from _pieces(field.codes)
        for keys in part.blocks.values():
            yield from _pieces(keys)
        for variable in part.variables.values():
            yield from _pieces(variable.codes)


def from_bytes(layout: Layout, body: bytes | bytearray | memoryview) -> tuple[SignatureSet, ...]:
    """Read a contribution's body and check it.

    Parameters
    ----------
    layout
        The sizes announced before the body came; checked here too.
    body
        The whole body, for instance a memory map. The arrays returned are read-only views of it.

    Returns
    -------
    tuple of SignatureSet
        In the order of `layout`.

    Raises
    ------
    TrystError
        UPLOAD_LIMIT if the layout is out of bounds, UPLOAD_CORRUPT if the body is not the canonical body of
        such sets.
    """
    layout.validate()
    view = memoryview(body).cast("B").toreadonly()
    if view.nbytes != layout.total_bytes:
        raise TrystError(
            ErrorCode.UPLOAD_CORRUPT,
            f"the body must have the {layout.total_bytes} bytes of its layout",
            where="contribution",
            got=f"{view.nbytes} bytes",
            remedy="upload the contribution again",
        )
    reader = _Reader(view)
    sets = []
    for part in layout.sets:
        fields = {}
        for field in part.fields:
            where = f"{_where(part.rule)}, field {field.name}"
            words = field.bits // WORD_BITS
            signatures = reader.take(field.distinct * words, np.uint64, where).reshape(field.distinct, words)
            codes = reader.take(part.rows, np.int32, where)
            fields[field.name] = FieldSignatures(field.bits, signatures, codes, field.content)
        blocks = {rule: reader.take(part.rows, np.uint64, _where(part.rule)) for rule in part.blocks}
        variables = {}
        for variable in part.variables:
            where = f"{_where(part.rule)}, variable {variable.name}"
            variables[variable.name] = VariableCodes(variable.categories, reader.take(part.rows, np.int16, where))
        sets.append(SignatureSet(part.rule, part.rows, fields, blocks, variables))
        sets[-1].validate()
    return tuple(sets)


def variable_bytes(part: SetLayout) -> int:
    """Bytes of one variable of a set."""
    return _padded(part.rows * 2)


def variable_from_bytes(
    part: SetLayout, variable: VariableLayout, body: bytes | bytearray | memoryview
) -> VariableCodes:
    """Read and check one variable of a set by itself; errors as for `from_bytes`."""
    where = f"{_where(part.rule)}, variable {variable.name}"
    codes = _Reader(memoryview(body).cast("B").toreadonly()).take(part.rows, np.int16, where)
    _check_range(codes, variable.categories, f"{where}, codes")
    return VariableCodes(variable.categories, codes)


class _Reader:
    """Takes arrays from a body, one after the other."""

    def __init__(self, view: memoryview) -> None:
        self._view = view
        self._offset = 0

    def take(self, count: int, kind: type[Number], where: str) -> NDArray[Number]:
        """Take the next `count` numbers: a view, or a copy where the body is not aligned."""
        stored = np.dtype(kind).newbyteorder("<")
        size = count * stored.itemsize
        end = self._offset + _padded(size)
        if any(self._view[self._offset + size : end]):
            raise _corrupt("padding must be zero bytes", where, "other bytes")
        if count == 0:
            return np.empty(0, dtype=kind)
        array = np.frombuffer(self._view, dtype=stored, count=count, offset=self._offset)
        self._offset = end
        return np.require(array, dtype=kind, requirements="A")


def _pieces(array: NDArray[Number]) -> Iterator[memoryview]:
    """One array's bytes and its padding, as views."""
    if array.size == 0:
        return
    stored = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(-1)
    yield memoryview(stored.view(np.uint8).data).toreadonly()
    if padding := _padded(stored.nbytes) - stored.nbytes:
        yield memoryview(bytes(padding))


def _check_codes(field: FieldSignatures, where: str) -> None:
    """Every code is MISSING or a row of the signatures, and every signature is some row's."""
    codes, n = field.codes, field.n_distinct
    _check_range(codes, n, where)
    used = np.zeros(n + 1, dtype=np.bool_)
    used[codes] = True  # MISSING marks the entry past the last signature
    if not used[:n].all():
        unused = n - int(used[:n].sum())
        raise _corrupt("every signature must be the signature of a row", where, f"{unused} unused")


def _check_range(codes: NDArray[np.int32] | NDArray[np.int16], n: int, where: str) -> None:
    """Every code is MISSING or from 0 to n - 1."""
    if codes.size and not (int(codes.min()) >= MISSING and int(codes.max()) < n):
        outside = int(np.count_nonzero((codes < MISSING) | (codes >= n)))
        raise _corrupt(f"codes must be from {MISSING} to {n - 1}", where, f"{outside} codes outside")


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
            raise _corrupt("signatures must ascend strictly as byte strings", where, got)


def _array(array: object, kind: type[np.generic], shape: tuple[int | None, ...], where: str) -> None:
    """`array` is a C-contiguous, aligned array of `kind` and `shape` (None: any length)."""
    if not isinstance(array, np.ndarray) or array.dtype != np.dtype(kind):
        got = str(array.dtype) if isinstance(array, np.ndarray) else type(array).__name__
        raise _corrupt(f"an array of {np.dtype(kind)} expected", where, got)
    if array.ndim != len(shape) or any(w not in (None, h) for w, h in zip(shape, array.shape, strict=True)):
        expected = ", ".join("any" if length is None else str(length) for length in shape)
        raise _corrupt(f"an array of shape ({expected}) expected", where, str(array.shape))
    if not (array.flags.c_contiguous and array.flags.aligned):
        raise _corrupt("a contiguous, aligned array in C order expected", where, "another memory order")


def _distinct_names(names: Iterable[str], where: str, what: str, *, reserved: Sequence[str] = ()) -> None:
    seen: set[str] = set()
    for position, name in enumerate(names):
        # The name itself is not shown: it is the other side's text.
        if not (_NAME.fullmatch(name) or name in reserved):
            rule = f"a {what}'s name has 1 to 64 letters, digits, '_', '-' or '.'"
            raise _limits(rule, where, f"another name for {what} {position + 1}")
        if name in seen:
            raise _limits(f"each {what} may occur once", where, f"{what} {position + 1} again")
        seen.add(name)


def _limit(number: int, least: int, most: int, what: str, where: str, *, multiple: int = 1) -> None:
    if not least <= number <= most or number % multiple:
        unit = f", a multiple of {multiple}" if multiple > 1 else ""
        raise _limits(f"{least} to {most} {what} expected{unit}", where, str(number))


def _limits(what: str, where: str, got: str) -> TrystError:
    remedy = "make the contribution again from the agreed specification"
    return TrystError(ErrorCode.UPLOAD_LIMIT, what, where=where, got=got, remedy=remedy)


def _corrupt(what: str, where: str, got: str) -> TrystError:
    remedy = "make the contribution again and upload it again"
    return TrystError(ErrorCode.UPLOAD_CORRUPT, what, where=where, got=got, remedy=remedy)


def _where(rule: str) -> str:
    return f"signature set {rule}" if rule else "signature set"


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
