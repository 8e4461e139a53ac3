"""What a custodian must hold of its records while it signs them, known from a few counts before it begins."""

from __future__ import annotations

import resource
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.signatures.intervals import INTERVAL_ROWS
from gemel.common.signatures.layout import WORD_BITS, fixed_fields
from gemel.common.specification import Specification
from gemel.custodian.source.cleaned_file import CleanedFile
from gemel.serving.machine_check import mib

# What a step must hold is estimated before its long part begins, and refused there if it does not fit; while it goes on
# the process's own high-water mark decides.

_STATUS = Path("/proc/self/status")


def high_water() -> int:
    """Most memory that this process has held so far, in bytes."""
    # What `getrusage` counts includes what the parent held before this program was started.
    return _status("VmHWM:")


def resident() -> int:
    """Memory that this process holds now, in bytes; the most it has held where the system does not say."""
    return _status("VmRSS:")


def _status(name: str) -> int:
    try:
        lines = _STATUS.read_text(encoding="ascii").splitlines()
    except OSError:
        lines = []
    found = (int(line.split()[1]) * 1024 for line in lines if line.startswith(name))
    return next(found, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


@dataclass
class MemoryLimit:
    """The most that this process may hold while a step goes on, in bytes.

    What it held `before` the step at most, though it be more than the limit, is not the step's error.
    """

    limit: int
    before: int = field(default_factory=high_water)

    def room(self) -> int:
        return max(0, self.limit - resident())

    def require(self, needed: int, what: str, where: str, remedy: str) -> None:
        """Refuse to begin what does not fit; MEMORY."""
        room = self.room()
        if needed > room:
            what = f"{what} does not fit into this custodian's limits.memory of {mib(self.limit)}"
            got = f"{mib(needed)} needed, {mib(room)} left"
            raise GemelError(ErrorCode.MEMORY, what, where=where, got=got, remedy=remedy)

    def check(self, where: str) -> None:
        """Stop a step when the process has held more than it may; MEMORY."""
        held = high_water()
        if held > max(self.limit, self.before):
            what = f"the process has held more than this custodian's limits.memory of {mib(self.limit)}"
            remedy = "raise limits.memory in its configuration, if the machine has more, and start it again"
            raise GemelError(ErrorCode.MEMORY, what, where=where, got=mib(held), remedy=remedy)


_LIBRARIES = 200 << 20
"""What compiled loops and tables take besides the records."""
_DUMMY_BYTES = 200
"""Held for each record to draw dummies, besides its columns."""
_CODES_BYTES = 48
"""Held for each record while codes are put in order, besides the codes."""


@dataclass(frozen=True)
class FileSize:
    """What memory follows from: records, bytes of the fields' columns, different values by field, variables."""

    n_rows: int
    text_bytes: int
    distinct: Mapping[str, int]
    variables: int

    @classmethod
    def of(cls, file: CleanedFile) -> FileSize:
        distinct = {profile.field: profile.distinct for profile in file.profile.fields}
        return cls(file.n_rows, file.text_bytes, distinct, len(file.records.variables))


def require_room(size: FileSize, spec: Specification, memory: MemoryLimit) -> None:
    """Refuse a file of which more must be held at a time than fits into memory."""
    where, remedy = f"project {spec.project}, {size.n_rows:,} records", "raise limits.memory in its configuration"
    if not spec.in_blocks:
        what = f"mode {spec.mode} of all records"
        remedy += ", or ask the coordinator for mode block_keyed"
    elif spec.padding is not None:
        what = "what must be held of all records to pad blocks"
        remedy += ", or ask the coordinator for fewer fields or shorter signatures, or for no padding"
    else:
        what = "what must be held of all records"
        remedy += ", or ask the coordinator for fewer fields or shorter signatures"
    memory.require(needed_bytes(spec, size), what, where, remedy)


def needed_bytes(spec: Specification, size: FileSize) -> int:
    if not spec.in_blocks:
        return _whole_bytes(spec, size) + _LIBRARIES
    return _held_bytes(spec, size) + _LIBRARIES + INTERVAL_ROWS * unit_bytes(spec, size)


def units_room(spec: Specification, size: FileSize, memory: MemoryLimit) -> int:
    """Bytes left for the rows of a unit in mode block_keyed."""
    return memory.room() - _held_bytes(spec, size) - _LIBRARIES


def _held_bytes(spec: Specification, size: FileSize) -> int:
    """Bytes that mode block_keyed holds of all records at a time, whatever the units."""
    sampled = 8 * size.n_rows
    variables = size.variables
    codes = (_CODES_BYTES + 2 * 2 * variables) * size.n_rows if spec.variables else 0
    padded = 2 * size.text_bytes + _DUMMY_BYTES * size.n_rows if spec.padding is not None else 0
    return max(sampled, codes, padded)


def unit_bytes(spec: Specification, size: FileSize) -> int:
    """Bytes that are held for each row of a unit."""
    text = 4 * size.text_bytes // size.n_rows + 64
    signed = [
        sum(_field_bytes(field.bits) for field in spec.fields if field.name not in fixed_fields(rule, spec))
        for rule in spec.keyed_rules
    ]
    shared = _shared_bytes(spec) if spec.mode == "shared" else 0
    return text + max(signed) + 24 * len(spec.keyed_rules) + shared


def _shared_bytes(spec: Specification) -> int:
    """Of a row's words, which are shared and encrypted where they are, and of its place in the order that is drawn."""
    signed = sum(field.bits for field in spec.fields) // WORD_BITS
    words = signed + len(spec.keyed_rules) + len(spec.fields) // WORD_BITS
    return 8 * (words + 1) + 48


def _field_bytes(bits: int) -> int:
    """Of a signature, in the order it was made and in the order it is sent, and of its codes and tokens."""
    return 2 * bits // 8 + 120


def _whole_bytes(spec: Specification, size: FileSize) -> int:
    """Bytes that modes open and trusted hold of all records at a time."""
    tables = sum(size.distinct[field.name] * (_field_bytes(field.bits) + 160) for field in spec.fields)
    codes = (12 * len(spec.fields) + 24 * len(spec.keyed_rules) + 4 * len(spec.variables) + 64) * size.n_rows
    return 2 * size.text_bytes + tables + codes
