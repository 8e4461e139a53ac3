"""What is compared on shares, from a linkage plan and the layouts of two sets of rows."""

from __future__ import annotations

from collections.abc import Sequence

from gemel.carole.comparison.crosswise import crosswise_bounds
from gemel.carole.comparison.kernels import disagreement_limits
from gemel.carole.engine.run.plan import FieldPlan, LinkagePlan
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.signatures.layout import SetLayout
from gemel.shared.gates.output_bits import ComparedField, Exchange, PairComparison


def comparison_of(plan: LinkagePlan, a: SetLayout, b: SetLayout, rule: str | None) -> PairComparison:
    """How the rows of two sets compare, of a rule, or of the samples.

    Raises `GemelError`: ENCODING_MISMATCH if the two sets have other words, or not what the plan compares.
    """
    if a.row_words != b.row_words or _contents(a) != _contents(b):
        raise _mismatch("both custodians' rows must have the same words", rule, "others")
    there = {field.name: field for field in a.fields}

    def compared(field: FieldPlan) -> ComparedField:
        got = there.get(field.name)
        if got is None or got.bits != field.bits:
            what = f"signatures of {field.bits} bits of the field {field.name} expected"
            raise _mismatch(what, rule, "none" if got is None else f"{got.bits} bits")
        if got.content not in ("shared", "fixed", "withheld"):
            raise _mismatch(f"the field {field.name} must be shared", rule, got.content)
        return ComparedField(field.name, field.bits, _limits(field, field.bounds), got.content)

    def exchange(first: int, second: int) -> Exchange:
        field = plan.fields[first]  # as `carole.comparison.crosswise` has them: by the first of the two fields
        return Exchange(first, second, _limits(field, crosswise_bounds(field.bits, field.randomised_response)))

    return PairComparison(
        words=a.row_words,
        fields=tuple(compared(field) for field in plan.fields),
        exchanges=tuple(exchange(first, second) for first, second in plan.exchanged),
        rules=tuple(each.name for each in plan.rules) if rule is not None else (),
        rule=rule,
        check=None if plan.check_field is None else compared(plan.check_field),
    )


def _limits(field: FieldPlan, bounds: Sequence[float]) -> tuple[int, ...]:
    return tuple(int(n) for n in disagreement_limits(field.bits, bounds, field.randomised_response))


def _contents(part: SetLayout) -> list[tuple[str, str]]:
    return [(field.name, field.content) for field in part.fields]


def _mismatch(what: str, rule: str | None, got: str) -> GemelError:
    where = "the samples" if rule is None else f"the rows of rule {rule}"
    remedy = "contribute again under the specification of this run"
    return GemelError(ErrorCode.ENCODING_MISMATCH, what, where=where, got=got, remedy=remedy)
