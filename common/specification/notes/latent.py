"""What the extended latent step reveals, in words."""

from __future__ import annotations

from collections.abc import Iterator

from gemel.common.language.message_words import listed
from gemel.common.parties import Side
from gemel.common.specification.validation.specification import Specification

# What the files reveal that a custodian sends for the value model.


def known_file_notes(spec: Specification) -> Iterator[str]:
    """Notes on training records and on a known joint distribution."""
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
