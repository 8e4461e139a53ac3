"""Randomised response as an option of a field: what it cannot go with, and what its approvers are told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tryst.common.specification.mistakes import Mistake, Path
from tryst.common.specification.noise_tolerance import confused, is_telling, least_bits, standard_error

if TYPE_CHECKING:
    from tryst.common.specification.blocking import BlockingRule
    from tryst.common.specification.fields import FieldSpec
    from tryst.common.specification.model import Specification

LEAST = 0.001
"""Smallest probability of a flip but none: draws of 16 bits make it to within a hundredth of itself."""

_MOST_BITS = 8192
_WORTH_TELLING = 0.001
"""Probability of signatures that stay equal, from which it is told."""


def flip_mistakes(field: FieldSpec, path: Path, mode: object) -> Iterator[Mistake]:
    """Everything in a field with flipped bits that only works where equal values have equal signatures."""
    got = f"flip {field.flip:g}"
    if mode == "trusted":
        yield Mistake((*path, "flip"), "values are sent as they are: no bits to flip", got, "drop it, or use mode open")
    if field.flip < LEAST:
        remedy = f"use 0, or {LEAST:g} to 0.4"
        yield Mistake((*path, "flip"), "so few bits are flipped that it hides nothing", got, remedy)
    if not is_telling(field.bits, field.flip):
        needed = least_bits(field.flip)
        yield Mistake(
            (*path, "flip"),
            "equal values could not be told from values with nothing in common",
            f"{got} with {field.bits} bits",
            f"use at least {needed} bits, or flip fewer" if needed <= _MOST_BITS else "flip fewer",
        )
    if field.value_frequencies:
        yield Mistake(
            (*path, "value_frequencies"),
            "it takes equal signatures in the two files for equal values, which flipped bits hide",
            got,
            "drop one of the two",
        )


def split_mistakes(rule: BlockingRule, path: Path, fields: Mapping[str, FieldSpec], mode: object) -> Iterator[Mistake]:
    """A rule that splits blocks by a field with flipped bits; in mode block_keyed the custodians split, by values."""
    field = fields.get(rule.split) if rule.split else None
    if field is not None and field.flip and mode != "block_keyed":
        yield Mistake(
            (*path, "split"),
            "blocks are split by equal signatures, which flipped bits hide",
            f"{field.name} with flip {field.flip:g}",
            "split by another field, or add it to the keys",
        )


def flip_notes(spec: Specification) -> Iterator[str]:
    """What flipped bits do and do not do, for those who approve."""
    flipping = [field for field in spec.fields if field.flip]
    if not flipping:
        return
    each = ", ".join(f"{field.name} {field.flip:g}" for field in flipping)
    yield (
        f"Bits of signatures are flipped (flip: {each}), by noise that only the custodian itself can make, the same in"
        " every upload. It hides which values of the two files are exactly equal, and no more; that they are more alike"
        " than nearly all others, Carole still estimates. Within a file equal values still have equal signatures, so"
        " how often each occurs shows as before, and similar values still have similar ones. It is not differential"
        " privacy. `tryst alice leakage` measures what is left."
    )
    costs: dict[str, list[str]] = {}
    for field in flipping:
        costs.setdefault(_cost(field), []).append(field.name)
    for cost, names in costs.items():
        yield f"Flipped bits cost linkage quality in {', '.join(names)}. {cost}"


def _cost(field: FieldSpec) -> str:
    survive = (1 - 2 * field.flip * (1 - field.flip)) ** field.bits
    kept = f" Equal values keep equal signatures with probability {survive:.2g}." if survive > _WORTH_TELLING else ""
    if field.tokens == "value":
        return (
            "A value of Alice's and the same one of Bob's are taken for different, or different ones for the same, with"
            f" probability {confused(field.bits, field.flip):.1g}, and then in all records that have them.{kept}"
        )
    plain, noisy = (standard_error(0.5, field.bits, flip) for flip in (0.0, field.flip))
    levels = f"; levels end at {', '.join(f'{bound:g}' for bound in field.bounds)}"
    known = f"A similarity of .5 is known to within {noisy:.3f} instead of {plain:.3f}"
    return f"{known}{levels if isinstance(field.levels, str) else ''}.{kept}"


def levels_note(field: FieldSpec) -> str | None:
    """Says that a field's levels are finer than its bits can tell apart, and which are not; None if they are well."""
    better = field.widened(field.bounds)
    if better == field.bounds:
        return None
    noise = f" of which each is flipped with probability {field.flip:g}" if field.flip else ""
    return (
        f"Field {field.name}: its levels are finer than {field.bits} bits{noise} can tell apart;"
        f" `levels: [{', '.join(f'{bound:g}' for bound in better)}]` would do."
    )
