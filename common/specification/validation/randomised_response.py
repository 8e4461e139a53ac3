"""Randomised response as an option of a field: what it cannot be combined with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gemel.common.specification.model.blocking import BlockingRule
from gemel.common.specification.model.defaults import IN_BLOCKS
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.noise_tolerance import is_distinguishable, min_bits
from gemel.common.validation_issues import DocumentPath, ValidationIssue

MINIMUM = 0.001
"""Smallest probability above 0: draws of 16 bits represent it to within 1 %."""

_MAX_BITS = 8192


def randomised_response_issues(field: FieldSpec, path: DocumentPath, mode: object) -> Iterator[ValidationIssue]:
    """Everything in a field with randomised response that requires equal values to have equal signatures."""
    got = f"randomised_response {field.randomised_response:g}"
    if mode == "trusted":
        yield ValidationIssue(
            (*path, "randomised_response"),
            "values are sent as they are: there are no bits to randomise",
            got,
            "drop it, or use mode open",
        )
    if field.randomised_response < MINIMUM:
        remedy = f"use 0, or {MINIMUM:g} to 0.4"
        yield ValidationIssue(
            (*path, "randomised_response"), "so few bits are randomised that it hides nothing", got, remedy
        )
    if not is_distinguishable(field.bits, field.randomised_response):
        needed = min_bits(field.randomised_response)
        yield ValidationIssue(
            (*path, "randomised_response"),
            "equal values could not be distinguished from values with nothing in common",
            f"{got} with {field.bits} bits",
            f"use at least {needed} bits, or a lower probability" if needed <= _MAX_BITS else "use a lower probability",
        )
    if field.value_frequencies:
        yield ValidationIssue(
            (*path, "value_frequencies"),
            "it requires equal values to have equal signatures in the two files, which randomised bits do not",
            got,
            "drop one of the two",
        )


def split_issues(
    rule: BlockingRule, path: DocumentPath, fields: Mapping[str, FieldSpec], mode: object
) -> Iterator[ValidationIssue]:
    """A rule that splits blocks by a field with randomised bits; in block_keyed the custodians split, by values."""
    field = fields.get(rule.split) if rule.split else None
    if field is not None and field.randomised_response and mode not in IN_BLOCKS:
        yield ValidationIssue(
            (*path, "split"),
            "blocks are split by equal signatures, which randomised bits hide",
            f"{field.name} with randomised_response {field.randomised_response:g}",
            "split by another field, or add it to the keys",
        )
