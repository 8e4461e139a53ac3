"""What randomised response does and does not do, for those who approve; levels finer than the bits can distinguish."""

from __future__ import annotations

from collections.abc import Iterator

from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.noise_tolerance import confused, standard_error
from gemel.common.specification.validation.specification import Specification

_WORTH_NOTING = 0.001
"""Probability of signatures that stay equal, from which the note mentions it."""


def randomised_response_notes(spec: Specification) -> Iterator[str]:
    """What randomised response does and does not do, for those who approve."""
    flipping = [field for field in spec.fields if field.randomised_response]
    if not flipping:
        return
    each = ", ".join(f"{field.name} {field.randomised_response:g}" for field in flipping)
    if spec.mode == "shared":
        yield (
            f"Bits of signatures are randomised (randomised_response: {each}), for nothing in mode shared: the shares"
            " show no bit to anyone, unless two of the three who compute collude. Set it to 0."
        )
    else:
        yield _hidden(each)
    costs: dict[str, list[str]] = {}
    for field in flipping:
        costs.setdefault(_cost(field), []).append(field.name)
    for cost, names in costs.items():
        yield f"Randomised bits cost linkage quality in {', '.join(names)}. {cost}"


def _hidden(each: str) -> str:
    return (
        f"Bits of signatures are randomised (randomised_response: {each}), by noise that only the custodian itself can"
        " make, the same in every upload. It hides which values of the two files are exactly equal, and no more; Carole"
        " can still estimate that they are more alike than nearly all others. Within a file equal values still have"
        " equal signatures, so how often each occurs is as visible as before, and similar values still have similar"
        " ones. It is not differential privacy. `gemel alice leakage` measures the remaining leakage."
    )


def _cost(field: FieldSpec) -> str:
    survive = (1 - 2 * field.randomised_response * (1 - field.randomised_response)) ** field.bits
    kept = f" Equal values keep equal signatures with probability {survive:.2g}." if survive > _WORTH_NOTING else ""
    if field.tokens == "value":
        return (
            "A value of Alice's and the same one of Bob's are taken for different, or different ones for the same, with"
            f" probability {confused(field.bits, field.randomised_response):.1g}, and then in all records"
            f" that have them.{kept}"
        )
    plain, noisy = (
        standard_error(0.5, field.bits, randomised_response) for randomised_response in (0.0, field.randomised_response)
    )
    levels = f"; levels end at {', '.join(f'{bound:g}' for bound in field.bounds)}"
    known = f"A similarity of .5 is known to within {noisy:.3f} instead of {plain:.3f}"
    return f"{known}{levels if isinstance(field.levels, str) else ''}.{kept}"


def levels_note(field: FieldSpec) -> str | None:
    """A note that a field's levels are finer than its bits can distinguish, with those that are not; None otherwise."""
    better = field.tolerant_bounds(field.bounds)
    if better == field.bounds:
        return None
    noise = f", each randomised with probability {field.randomised_response:g}," if field.randomised_response else ""
    return (
        f"Field {field.name}: its levels are finer than {field.bits} bits{noise} can distinguish;"
        f" `levels: [{', '.join(f'{bound:g}' for bound in better)}]` is as fine as they allow."
    )
