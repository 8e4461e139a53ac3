"""What a contribution costs its custodian: bytes on the wire, seconds of signing, memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field

import polars as pl

from gemel.common.parties import Side
from gemel.common.signatures.layout import Layout, fixed_fields
from gemel.common.specification import FieldSpec, Specification
from gemel.coordinator.estimate.unit_costs import (
    CUSTODIAN_BASE,
    CUSTODIAN_RECORD,
    CUSTODIAN_STREAMED_RECORD,
    CUSTODIAN_UNIT,
    CUSTODIAN_UPLOAD,
    ROW_SECONDS,
    SAMPLE_SECONDS,
    SIGNATURE_SECONDS,
    TOKEN_BIT_SECONDS,
    TOKEN_SECONDS,
    TOKENS,
    WHOLE_SIGNATURE_SECONDS,
)
from gemel.custodian.encoding.expected_layout import FileCounts, expected_layout

Tokens = Mapping[str, float]
"""Mean number of tokens of a value, by field."""


@dataclass(frozen=True)
class CustodianCost:
    """What one side's contribution costs it.

    Attributes
    ----------
    side, records
    layout
        Of the contribution.
    rows
        Of all rules; of the file in the other modes.
    counted
        Whether rows and values were counted in a file of this size; otherwise all figures are upper bounds.
    seconds
        Of signing, on one core.
    memory
        Of the service, in bytes.
    """

    side: Side
    records: int
    layout: Layout = dataclass_field(repr=False)
    rows: int
    counted: bool
    seconds: float
    memory: int

    @property
    def upload(self) -> int:
        """Bytes of the contribution."""
        return self.layout.total_bytes


def custodian_cost(counts: FileCounts, tokens: Tokens, spec: Specification, side: Side) -> CustodianCost:
    """The cost of a contribution of these counts."""
    layout = expected_layout(counts, spec, side)
    rows = sum(counts.rows.values())
    return CustodianCost(
        side=side,
        records=counts.records,
        layout=layout,
        rows=rows,
        counted=counts.counted,
        seconds=signing_seconds(counts, tokens, spec),
        memory=_memory(counts.records, layout.total_bytes, spec),
    )


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
    """The same from a file's cleaned values, by their lengths."""
    found = typical_tokens(spec)
    for field in spec.fields:
        characters = columns[field.name].str.len_chars().mean()
        if isinstance(characters, float) and field.tokens not in ("date_parts", "words", "value"):
            found[field.name] = characters + ("bigrams" in field.tokens)
    return found


def _seconds(field: FieldSpec, tokens: float) -> float:
    return SIGNATURE_SECONDS + tokens * (TOKEN_SECONDS + field.bits * TOKEN_BIT_SECONDS)
