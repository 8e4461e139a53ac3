"""Notes on risks to linkage quality: estimation, blocking, levels."""

from __future__ import annotations

from collections.abc import Iterator

from gemel.common.language.message_words import listed
from gemel.common.parties import Side
from gemel.common.specification.model.defaults import LEVELS
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.leakage import confused, standard_error
from gemel.common.specification.model.schemes import DEFAULT_SCHEME, SCHEMES
from gemel.common.specification.notes.wording import note
from gemel.common.specification.validation.specification import Specification

_WORTH_NOTING = 0.001
"""Probability of signatures that stay equal, from which the note mentions it."""


def randomised_response_notes(spec: Specification) -> Iterator[str]:
    flipping = [field for field in spec.fields if field.randomised_response]
    if not flipping:
        return
    each = ", ".join(f"{field.name} {field.randomised_response:g}" for field in flipping)
    yield note("randomised_for_nothing" if spec.mode == "shared" else "randomised_response", each=each)
    costs: dict[str, list[str]] = {}
    for field in flipping:
        costs.setdefault(_cost(field), []).append(field.name)
    for cost, names in costs.items():
        yield note("randomised_costs", fields=", ".join(names), cost=cost)


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
    return note(
        "levels_too_fine",
        field=field.name,
        bits=field.bits,
        noise=noise,
        better=", ".join(f"{bound:g}" for bound in better),
    )


def linkage_notes(spec: Specification) -> Iterator[str]:
    for part in (_scheme, _values, _learning, _comparison, _quality, _oddities):
        yield from part(spec)


def _scheme(spec: Specification) -> Iterator[str]:
    scheme = SCHEMES[spec.model.scheme]
    if not scheme.graded:
        yield note("ungraded_scheme", scheme=scheme.name)
        flipping = [
            f"{field.name} above {field.tolerant_bounds(LEVELS['exact'])[0]:g}"
            for field in spec.fields
            if field.randomised_response
        ]
        if flipping:
            yield note("ungraded_scheme_randomised", scheme=scheme.name, flipping=listed(flipping))
    if not scheme.calibrated:
        yield note("uncalibrated_scheme", scheme=scheme.name, default=DEFAULT_SCHEME)
    if scheme.binary and scheme.graded:
        blunt = [field.name for field in spec.fields if field.bounds[-2] < 0.95]
        if blunt:
            yield note("wide_top_level", scheme=scheme.name, blunt=listed(blunt))


def _values(spec: Specification) -> Iterator[str]:
    counted = [field.name for field in spec.fields if field.value_frequencies]
    if counted:
        yield note("rare_values", counted=listed(counted))
    if len(counted) > 1:
        yield note("frequencies_multiply", counted=listed(counted))
    levels = [field.name for field in spec.fields if field.missing_as == "level"]
    if levels:
        yield note("missing_as_level", levels=listed(levels))


def _learning(spec: Specification) -> Iterator[str]:
    if not spec.blocking:
        yield note("no_blocking")
        return
    for rule in spec.blocking:
        if rule.lsh is not None:
            randomised_response = spec.field(rule.lsh.field).randomised_response
            chances = ", ".join(
                f"{rule.lsh.chance(j, randomised_response):.2g} at {j:g}" for j in (1.0, 0.9, 0.8, 0.6, 0.4, 0.2, 0.0)
            )
            yield note("bands", rule=rule.name, bands=rule.lsh.bands, bits=rule.lsh.bits, chances=chances)
    used = [set(rule.fields) for rule in spec.blocking]
    in_all = [field.name for field in spec.compared if all(field.name in fields for fields in used)]
    if in_all:
        yield note("field_in_every_rule", in_all=listed(in_all))
    if len(spec.blocking) == 1:
        yield note("one_rule")
    unused = [field.name for field in spec.compared if not any(field.name in fields for fields in used)]
    if not unused:
        yield note("no_field_besides_rules")


def _comparison(spec: Specification) -> Iterator[str]:
    if spec.mode == "trusted":
        yield note("tokens_unused")
        return
    for field in spec.fields:
        if field.tokens == "value" and len(field.bounds) > 2:
            yield note("value_levels", field=field.name)
        elif field.tokens != "value" and len(field.bounds) == 2 and field.bits < 1024:
            yield note("similar_signatures_equal", field=field.name, bits=field.bits)
        if (field.tokens != "value" or field.randomised_response) and (finer := levels_note(field)):
            yield finer
    values = sum(field.bits for field in spec.fields) // 8
    if values > 8192:
        yield note("long_signatures", values=values)


def _quality(spec: Specification) -> Iterator[str]:
    quality = spec.quality
    if quality is None:
        return
    if quality.check_field is not None:
        resolver = " The resolver learns for every candidate pair whether it agrees on it." * (spec.in_blocks)
        yield note("check_field", field=quality.check_field, resolver=resolver)
        if set(_ADDRESS) & set(quality.check_field.lower().split("_")):
            yield note("check_field_of_kin", field=quality.check_field)
    if quality.decoys is not None:
        known = "The resolver" if spec.in_blocks else "The linkage unit"
        yield note("decoys", decoys=quality.decoys, known=known)
        personal = sum(field.personal for field in spec.fields)
        if min(personal, len(spec.fields) - personal) < 2:
            yield note("decoys_without_personal")
        yield note("decoys_of_one_person")


_ADDRESS = ("address", "street", "house", "town", "city", "suburb", "postcode", "zip", "phone", "surname")
"""Words in names of fields that kin share."""


def _oddities(spec: Specification) -> Iterator[str]:
    for side in Side:
        identifier = spec.custodians.of(side).identifier
        columns: dict[str, str] = {}
        for field in spec.fields:
            for column in field.columns_of(side):
                if column == identifier:
                    yield note("identifier_compared", field=field.name, side=side)
                if column in columns:
                    yield note("column_read_twice", first=columns[column], field=field.name, side=side)
                columns.setdefault(column, field.name)


# What the files reveal that a custodian sends for the value model.


def known_file_notes(spec: Specification) -> Iterator[str]:
    if spec.latent is None:
        return
    apart = spec.in_blocks
    seen = "Carole and the coordinator's process, which makes the step, see" if apart else "Carole sees"
    names = listed([variable.name for variable in spec.value_variables])
    if (training := spec.latent.training) is not None:
        yield note(
            "training",
            custodian=training.by.title(),
            records=training.records,
            digest=training.sha256[:8],
            names=names,
            seen=seen,
        )
    if (joint := spec.latent.joint) is not None:
        yield note("joint", custodian=joint.by.title(), names=names, digest=joint.sha256[:8], cells=joint.cells)


def latent_notes(spec: Specification) -> Iterator[str]:
    """Who estimates the joint distribution, from what, and who receives it."""
    if spec.latent is None:
        return
    keys = f" and of the agreed values of {listed(list(spec.latent.keys))}" if spec.latent.keys else ""
    apart = spec.in_blocks
    yield note(
        "latent", who="the coordinator" if apart else "Carole", keys=keys, kept="no longer than" if apart else "with"
    )
    if apart:
        yield from _codes_at_the_resolver(spec)
    yield from known_file_notes(spec)
    for side in Side:
        if spec.release.joint_to(side):
            yield note(
                "joint_received", custodian=side.title(), side=side, other=side.other, judged=_judged_joint(spec)
            )
    if spec.latent.p == "free":
        yield note("latent_p_free")
    if spec.latent.rounds:
        yield note("latent_rounds")


def _codes_at_the_resolver(spec: Specification) -> Iterator[str]:
    """What the latent step shows in mode block_keyed; the figures are those of docs/leakage.md."""
    yield note("codes_at_the_resolver")
    if spec.resolution.max_requested is None:
        yield note("codes_without_cap")
    if spec.joint_reported:
        yield note("joint_at_carole")


def _judged_joint(spec: Specification) -> str:
    """How far the assessment covers a released joint distribution."""
    if spec.assessment is None or not any(variable.role == "sensitive" for variable in spec.variables):
        return "no risk assessment covers that"
    limit = spec.assessment.limits.given.get("joint_attribution")
    if limit is None:
        return "joint_attribution measures that for sensitive variables, without a limit"
    return f"joint_attribution, at most {limit:g}, judges that for sensitive variables"
