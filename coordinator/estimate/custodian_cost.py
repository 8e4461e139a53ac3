"""What a contribution costs its custodian: bytes on the wire, seconds of signing, memory.

What a unit of work costs is a measured constant. Seconds are of one core of about 3 GHz that does nothing else;
machines differ by a factor of two. ``python -m benchmarks scale`` prints the estimate made of them beside the services'
own figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from types import MappingProxyType

import polars as pl

from gemel.common.parties import Side
from gemel.common.signatures.layout import Layout, fixed_fields
from gemel.common.specification import FieldSpec, Specification
from gemel.common.specification.model.defaults import Tokenisation
from gemel.custodian.encoding.expected_layout import FileCounts, expected_layout

SIGNATURE_SECONDS = 0.25e-6
"""Of a signature within a block or salt, whatever its tokens."""
TOKEN_SECONDS = 0.07e-6
"""Of a token of such a signature, whatever the bits."""
TOKEN_BIT_SECONDS = 1.05e-9
"""Of a bit of such a token."""
WHOLE_SIGNATURE_SECONDS = 1.5e-6
"""Of a signature of the whole file, in mode open: most of its tokens are in tables."""
ROW_SECONDS = 9e-6
"""Of a row of a set: its blocking key, its tags and its place in the order."""
SAMPLE_SECONDS = 0.08
"""Of the samples of a field in mode block_keyed."""
TOKENS: Mapping[Tokenisation, float] = MappingProxyType(
    {"bigrams": 10, "positional_bigrams": 10, "positional_characters": 7, "date_parts": 11, "words": 3, "value": 1}
)
"""Tokens of a value where no file tells."""
CUSTODIAN_BASE = 380 << 20
"""Memory of a custodian's service with all its libraries and tables, in bytes."""
CUSTODIAN_RECORD = 800
"""Memory of a record as read and as cleaned, with its order and identifier, in bytes, where all are held."""
CUSTODIAN_STREAMED_RECORD = 16
"""The same where a file is streamed: hashes, in which records and values are counted."""
CUSTODIAN_UNIT = 250 << 20
"""Memory of the sets that are signed at a time where a file is streamed, in bytes, at most."""
CUSTODIAN_UPLOAD = 1.4
"""Memory of the sets while they are signed and put in order, as a multiple of the upload."""
WORKER_BASE = 250 << 20
"""Memory of Carole's worker with all its libraries, beside `limits.memory`, in bytes."""
PAIR_SECONDS = 30e-9
"""Of a candidate pair in one pass, whatever its fields."""
PAIR_FIELD_SECONDS = 15e-9
"""Of a compared field of a candidate pair in one pass."""
PAIR_WORD_SECONDS = 1.5e-9
"""Of 64 bits of a compared field of a candidate pair in one pass."""
CHANCE_SECONDS = 1.8
"""Of a field's chance agreement where rules choose the pairs and one set serves the whole file: 16 million random pairs
of the file, and as many outside of its blocks."""
GROUPS_SECONDS = 0.2
"""The same in mode block_keyed, from the samples."""
SET_ROW_SECONDS = 2e-6
"""Of a row of Carole's sets, read, decrypted, checked and indexed."""
KEPT_PAIR_SECONDS = 25e-6
"""Of a kept pair: its scores, its way to the resolver in mode block_keyed, and its part in the decision."""
DECISION_SECONDS = 350e-6
"""Of a record of the smaller file in the decision, Carole's or the resolver's: most are not ambiguous."""
GATE_SECONDS = 3.2e-9
"""Of a gate of mode shared for one pair at each of the three parties, its check with it: between 2.7 and 3.4 ns for
signatures of 128 to 1024 bits; ``python -m benchmarks shared`` prints it."""
GATE_BYTES = 0.5
"""That each party sends for such a gate: 4 bits, three of them for its check."""
PERMUTED_WORD_SECONDS = 0.15e-6
"""Of a word of a pair at each party, while all are put into an order that no one knows."""
VECTORS = 60_000
"""Different comparison vectors, with the rules that they satisfy, that occur among the pairs of large files."""


Tokens = Mapping[str, float]
"""Mean number of tokens of a value, by field."""


@dataclass(frozen=True)
class CustodianCost:
    """What one side's contribution costs it."""

    side: Side
    records: int
    layout: Layout = dataclass_field(repr=False)
    rows: int
    """Of all rules; of the file in the other modes."""
    counted: bool
    """Whether rows and values were counted in a file of this size; otherwise all figures are upper bounds."""
    seconds: float
    """Of signing, on one core."""
    memory: int
    """Of the service, in bytes."""

    @property
    def upload(self) -> int:
        return self.layout.total_bytes


def custodian_cost(counts: FileCounts, tokens: Tokens, spec: Specification, side: Side) -> CustodianCost:
    layout = expected_layout(counts, spec, side)
    rows = sum(counts.rows.values())
    seconds, memory = signing_seconds(counts, tokens, spec), _memory(counts.records, layout.total_bytes, spec)
    return CustodianCost(side, counts.records, layout, rows, counts.counted, seconds, memory)


def _memory(records: int, upload: int, spec: Specification) -> int:
    """Of the service; it streams the file in mode block_keyed, unless blocks are padded."""
    sets = round(CUSTODIAN_UPLOAD * upload)
    if spec.in_blocks and spec.padding is None:
        return CUSTODIAN_BASE + CUSTODIAN_STREAMED_RECORD * records + min(sets, CUSTODIAN_UNIT)
    return CUSTODIAN_BASE + CUSTODIAN_RECORD * records + sets


def signing_seconds(counts: FileCounts, tokens: Tokens, spec: Specification) -> float:
    """Seconds of signing on one core; reading, cleaning and the leakage gate apart."""
    total = ROW_SECONDS * sum(counts.rows.values())
    if spec.mode == "trusted":
        return total
    if spec.in_blocks:
        total += SAMPLE_SECONDS * len(spec.fields)
    rules = {rule.name: rule for rule in spec.keyed_rules}
    for (name, field_name), signatures in counts.distinct.items():
        field, rule = spec.field(field_name), rules.get(name)
        if rule is not None and field_name in {*rule.withheld, *fixed_fields(rule, spec)}:
            continue
        within = spec.in_blocks or field.salt is not None
        each = _seconds(field, tokens[field_name]) if within else WHOLE_SIGNATURE_SECONDS
        total += signatures * each
    return total


def typical_tokens(spec: Specification) -> dict[str, float]:
    """Tokens of a value by field, where there is no file."""
    return {field.name: TOKENS[field.tokens] for field in spec.fields}


def counted_tokens(columns: Mapping[str, pl.Series], spec: Specification) -> dict[str, float]:
    found = typical_tokens(spec)
    for field in spec.fields:
        characters = columns[field.name].str.len_chars().mean()
        if isinstance(characters, float) and field.tokens not in ("date_parts", "words", "value"):
            found[field.name] = characters + ("bigrams" in field.tokens)
    return found


def _seconds(field: FieldSpec, tokens: float) -> float:
    return SIGNATURE_SECONDS + tokens * (TOKEN_SECONDS + field.bits * TOKEN_BIT_SECONDS)
