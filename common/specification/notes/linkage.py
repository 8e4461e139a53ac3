"""Notes on risks to linkage quality: estimation, blocking, levels."""

from __future__ import annotations

from collections.abc import Iterator

from gemel.common.language.message_words import listed
from gemel.common.parties import Side
from gemel.common.specification.model.defaults import LEVELS
from gemel.common.specification.model.schemes import DEFAULT_SCHEME, SCHEMES
from gemel.common.specification.notes.randomised_response import levels_note
from gemel.common.specification.validation.specification import Specification


def linkage_notes(spec: Specification) -> Iterator[str]:
    """Notes on the quality of the links."""
    for part in (_scheme, _values, _learning, _comparison, _quality, _oddities):
        yield from part(spec)


def _scheme(spec: Specification) -> Iterator[str]:
    scheme = SCHEMES[spec.model.scheme]
    if not scheme.graded:
        yield f"Scheme {scheme.name}: nearly equal values count as different ones, and `levels` are not used."
        flipping = [
            f"{field.name} above {field.tolerant_bounds(LEVELS['exact'])[0]:g}"
            for field in spec.fields
            if field.randomised_response
        ]
        if flipping:
            yield f"Scheme {scheme.name} with randomised bits: an estimate of {listed(flipping)} counts as equal."
    if not scheme.calibrated:
        yield (
            f"Scheme {scheme.name}: its match probabilities rank the pairs but are not calibrated, so the threshold is"
            f" not a probability. Those of the {DEFAULT_SCHEME} scheme are calibrated."
        )
    if scheme.binary and scheme.graded:
        blunt = [field.name for field in spec.fields if field.bounds[-2] < 0.95]
        if blunt:
            yield f"Scheme {scheme.name} counts the top level as agreement, which is wide in {listed(blunt)}."


def _values(spec: Specification) -> Iterator[str]:
    counted = [field.name for field in spec.fields if field.value_frequencies]
    if counted:
        yield (
            f"Agreement on a rare value of {listed(counted)} counts for more. Whoever receives pairs with their"
            " weights can infer from them how frequent the value of each own linked record is in both files."
        )
    if len(counted) > 1:
        yield f"Frequencies of {listed(counted)} multiply: right only where these fields are independent."
    levels = [field.name for field in spec.fields if field.missing_as == "level"]
    if levels:
        yield f"Whether both records have {listed(levels)} counts as evidence (missing_as: level)."


def _learning(spec: Specification) -> Iterator[str]:
    if not spec.blocking:
        yield "No blocking: every row of one file is compared with every row of the other."
        return
    for rule in spec.blocking:
        if rule.lsh is not None:
            randomised_response = spec.field(rule.lsh.field).randomised_response
            chances = ", ".join(
                f"{rule.lsh.chance(j, randomised_response):.2g} at {j:g}" for j in (1.0, 0.9, 0.8, 0.6, 0.4, 0.2, 0.0)
            )
            yield (
                f"Blocking rule {rule.name}: {rule.lsh.bands} bands of {rule.lsh.bits} bits compare two values with"
                f" probability {chances} of similarity (share of tokens in common)."
            )
    used = [set(rule.fields) for rule in spec.blocking]
    in_all = [field.name for field in spec.compared if all(field.name in fields for fields in used)]
    if in_all:
        yield (
            f"Every blocking rule uses {listed(in_all)}: pairs that disagree there are never compared, and its m"
            " (agreement among matches) cannot be estimated from the compared pairs. Add a rule without it."
        )
    if len(spec.blocking) == 1:
        yield (
            "Only one blocking rule: a match with an error in its key is lost. A second rule on other fields finds"
            " most of those again."
        )
    unused = [field.name for field in spec.compared if not any(field.name in fields for fields in used)]
    if not unused:
        yield "Every compared field is also in a blocking rule: little else remains to evaluate the rules by."


def _comparison(spec: Specification) -> Iterator[str]:
    if spec.mode == "trusted":
        yield "`tokens` are not used in mode trusted; `bits` limits the length of a value, eight to a byte of UTF-8."
        return
    for field in spec.fields:
        if field.tokens == "value" and len(field.bounds) > 2:
            yield (
                f"Field {field.name}: tokens `value` distinguish only equal and unequal, so the levels between stay"
                " empty; `levels: exact` has the same effect."
            )
        elif field.tokens != "value" and len(field.bounds) == 2 and field.bits < 1024:
            yield (
                f"Field {field.name}: with {field.bits} bits, values that are merely similar can have equal"
                " signatures; `tokens: value` distinguishes equal from unequal at any length."
            )
        if (field.tokens != "value" or field.randomised_response) and (note := levels_note(field)):
            yield note
    values = sum(field.bits for field in spec.fields) // 8
    if values > 8192:
        yield f"The signatures of one row take up to {values:,} bytes."


def _quality(spec: Specification) -> Iterator[str]:
    quality = spec.quality
    if quality is None:
        return
    if quality.check_field is not None:
        resolver = " The resolver learns for every candidate pair whether it agrees on it." * (spec.in_blocks)
        yield (
            f"Field {quality.check_field} is sent but held out: links are made without it, and whether they agree on it"
            f" shows how many are false.{resolver}"
        )
        if set(_ADDRESS) & set(quality.check_field.lower().split("_")):
            yield (
                f"Check field {quality.check_field}: kin share their address, so that false links agree on it as true"
                " ones do; a field that kin do not share, such as sex, shows more."
            )
    if quality.decoys is not None:
        known = "The resolver" if spec.in_blocks else "The linkage unit"
        yield (
            f"Decoys: each custodian adds {quality.decoys:,} invented records, which are compared like others and never"
            f" released. {known} learns which they are. In a file of n records each link to a decoy stands for up to"
            f" n/{quality.decoys:,} false links: with too few decoys the interval is wide."
        )
        personal = sum(field.personal for field in spec.fields)
        if min(personal, len(spec.fields) - personal) < 2:
            yield (
                "Decoys: fewer than two fields are marked `personal`, or all but one, so that a random half of the"
                " fields of each is from either of two records. With given name, date of birth and sex marked they are"
                " invented members of households, and resemble kin."
            )
        yield (
            "Decoys: a custodian that made all of its own of one person would read from the estimate whether the other"
            " file has that person. It would read as much from the number of links by adding that person to its file;"
            " an agreement between the custodians must forbid both."
        )
    if quality.bootstrap is not None:
        yield f"Bootstrap: estimation and decision are done again {quality.bootstrap} times, each as long as the first."


_ADDRESS = ("address", "street", "house", "town", "city", "suburb", "postcode", "zip", "phone", "surname")
"""Words in names of fields that kin share."""


def _oddities(spec: Specification) -> Iterator[str]:
    for side in Side:
        identifier = spec.custodians.of(side).identifier
        columns: dict[str, str] = {}
        for field in spec.fields:
            for column in field.columns_of(side):
                if column == identifier:
                    yield (
                        f"Field {field.name} compares {side}'s identifier column: right for a shared identifier only,"
                        " since a custodian's own identifiers never match the other's."
                    )
                if column in columns:
                    yield (
                        f"Fields {columns[column]} and {field.name} read the same column of {side}: their agreement"
                        " counts twice."
                    )
                columns.setdefault(column, field.name)
