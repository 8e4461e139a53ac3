"""Notes on risks to linkage quality: estimation, blocking, levels."""

from __future__ import annotations

from collections.abc import Iterator

from gemel.common.language.message_words import listed
from gemel.common.parties import Side
from gemel.common.specification.model.defaults import LEVELS
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.leakage import confused, standard_error
from gemel.common.specification.model.schemes import DEFAULT_SCHEME, SCHEMES
from gemel.common.specification.validation.specification import Specification

_WORTH_NOTING = 0.001
"""Probability of signatures that stay equal, from which the note mentions it."""


def randomised_response_notes(spec: Specification) -> Iterator[str]:
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


def linkage_notes(spec: Specification) -> Iterator[str]:
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


# What the files reveal that a custodian sends for the value model.


def known_file_notes(spec: Specification) -> Iterator[str]:
    if spec.latent is None:
        return
    apart = spec.in_blocks
    seen = "Carole and the coordinator's process, which makes the step, see" if apart else "Carole sees"
    names = listed([variable.name for variable in spec.value_variables])
    if (training := spec.latent.training) is not None:
        yield (
            f"{training.by.title()} sends {training.records:,} training records (SHA-256 {training.sha256[:8]}...), the"
            f" keyed codes of {names} of OTHER PEOPLE, one row each, without signature or identifier. {seen} which"
            " values of both custodians occur together in one person, which no row of either file shows her; whoever"
            " decodes the codes and knows a person in that file recognises a rare row. The rows are erased with the"
            " uploads. The joint distribution is theirs too, wherever it is released."
        )
    if (joint := spec.latent.joint) is not None:
        yield (
            f"{joint.by.title()} sends a known joint distribution of {names} (SHA-256 {joint.sha256[:8]}...):"
            f" {joint.cells:,} cells in keyed codes, with their counts or shares. The links depend on it, and it is not"
            " estimated. A cell of a count of one is a person."
        )


def latent_notes(spec: Specification) -> Iterator[str]:
    """Who estimates the joint distribution, from what, and who receives it."""
    if spec.latent is None:
        return
    keys = f" and of the agreed values of {listed(list(spec.latent.keys))}" if spec.latent.keys else ""
    apart = spec.in_blocks
    yield (
        f"Extended latent step: {'the coordinator' if apart else 'Carole'} estimates the joint distribution of the"
        f" codes of all variables{keys}, across both files, and keeps it {'no longer than' if apart else 'with'} the"
        " run. It shows, in codes, how Alice's variables are associated with Bob's."
    )
    if apart:
        yield from _codes_at_the_resolver(spec)
    yield from known_file_notes(spec)
    for side in Side:
        if spec.release.joint_to(side):
            yield (
                f"{side.title()} receives the joint distribution and can add the labels of ALL variables. With it"
                f" {side} can infer what {side.other} likely knows of each of {side}'s own records;"
                f" {_judged_joint(spec)}."
            )
    if spec.latent.p == "free":
        yield "Latent with p free: the share of matches can diverge; compare it with the Fellegi-Sunter estimate."
    if spec.latent.rounds:
        yield "Latent with rounds: the joint distribution is estimated from its own decisions and may over-fit."


def _codes_at_the_resolver(spec: Specification) -> Iterator[str]:
    """What the latent step shows in mode block_keyed; the figures are those of docs/leakage.md."""
    yield (
        "For the latent step each custodian seals the codes of the records of candidate pairs to the coordinator's"
        " process, which sees them without a label, a name or a signature, beside how similar the pairs' fields are."
        " With public margins it can name nearly every code, and a person whose values are rare it recognises: of"
        " invented insurers' records 12 to 19 % were alone with the codes of one side, of links 60 to 82 % with those"
        " of both. TOGETHER WITH A CUSTODIAN IT READS ALL VARIABLES THAT THE OTHER HOLDS OF THE LINKED PEOPLE: whoever"
        " is coordinator must be independent of both. Carole does not see which codes are whose."
    )
    if spec.resolution.max_requested is None:
        yield (
            "Nothing caps the records whose codes the coordinator gets (resolution.max_requested): a Carole who departs"
            " from the program and requests a row of every record brings it the codes of all."
        )
    if spec.joint_reported:
        yield (
            "Carole receives the joint distribution in codes, unless links are of fewer than 20 records of a file. By"
            " it she may take rows of the two lists of codes for one person: rightly for 1 to 3 % of the matches in our"
            " attacks."
        )


def _judged_joint(spec: Specification) -> str:
    """How far the assessment covers a released joint distribution."""
    if spec.assessment is None or not any(variable.role == "sensitive" for variable in spec.variables):
        return "no risk assessment covers that"
    limit = spec.assessment.limits.given.get("joint_attribution")
    if limit is None:
        return "joint_attribution measures that for sensitive variables, without a limit"
    return f"joint_attribution, at most {limit:g}, judges that for sensitive variables"
