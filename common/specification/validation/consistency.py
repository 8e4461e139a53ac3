"""Checks across the values of a specification: names that exist, levels that ascend, one meaning per key."""

from __future__ import annotations

from collections.abc import Iterator

from gemel.common.language.message_words import listed, shown
from gemel.common.parties import Side
from gemel.common.specification.model.content import SpecificationContent
from gemel.common.specification.model.resolution import ResolutionSpec
from gemel.common.specification.model.schemes import SCHEMES
from gemel.common.specification.validation.assessment import (
    assessment_issues,
    granted_variables_issues,
    quality_issues,
    release_issues,
)
from gemel.common.specification.validation.blocking import blocking_issues, hardening_issues, whole_file_issues
from gemel.common.specification.validation.fields import (
    fields_issues,
    key_domain_issues,
    pattern_issues,
    variable_issues,
)
from gemel.common.specification.validation.latent import latent_issues, resolved_latent_issues, shared_issues
from gemel.common.specification.validation.sections import SoundSections, repeated
from gemel.common.validation_issues import DocumentPath, ValidationIssue


def resolution_issues(content: SpecificationContent) -> Iterator[ValidationIssue]:
    resolution, path = content.resolution, ("resolution", "max_records")
    if resolution == ResolutionSpec():
        return
    if not content.in_blocks:
        what = "there are rows to join in modes block_keyed and shared only"
        yield ValidationIssue(("resolution",), what, f"mode {content.mode}", "drop the section")
    if content.mode == "shared" and resolution.joined:
        what = "in mode shared the linkage unit knows no row of a pair, and has none to join"
        remedy = "drop the line: the coordinator's process resolves"
        yield ValidationIssue(("resolution", "by"), what, "carole", remedy)
        return
    if not resolution.joined:
        if resolution.max_records is not None:
            what = "the coordinator's process, which holds no signature, has no cap"
            yield ValidationIssue(path, what, str(resolution.max_records), "drop it, or write `by: carole`")
        return
    if resolution.max_records is None:
        remedy = "write `resolution: {by: carole, max_records: 20000}` with your own number"
        yield ValidationIssue(path, "a join by the linkage unit needs a cap that all approve", "nothing", remedy)
    if content.padding is not None:
        what = "the party that joins rows learns which are dummies, and the linkage unit must not know"
        remedy = "drop it, or let the coordinator's process resolve"
        yield ValidationIssue(("padding",), what, "resolution by carole", remedy)
    if content.quality is not None and content.quality.decoys is not None:
        what = "the party that joins rows learns which are decoys, and their records under every rule"
        remedy = "drop them, or let the coordinator's process resolve"
        yield ValidationIssue(("quality", "decoys"), what, "resolution by carole", remedy)


_MIN_AGREEMENT = 0.5
"""Believed agreement from which a field speaks for a match."""


def estimation_issues(content: SpecificationContent) -> Iterator[ValidationIssue]:
    """Beliefs about fields, and value frequencies under a scheme whose weights are not ratios of probabilities."""
    model, path = content.model, ("model", "m_prior")
    compared = {field.name for field in content.fields}
    believed = [prior.field for prior in model.m_prior]
    for position, name in enumerate(believed):
        if name not in compared:
            what = "something is believed of a field that is not compared"
            remedy = f"name compared fields only: {', '.join(sorted(compared))}"
            yield ValidationIssue((*path, position, "field"), what, repr(name), remedy)
    for position, _ in repeated(enumerate(believed)):
        what = "two beliefs about one field contradict each other"
        yield ValidationIssue((*path, position, "field"), what, repr(believed[position]), "state one of them")
    if compared and compared <= {prior.field for prior in model.m_prior if prior.agreement < _MIN_AGREEMENT}:
        what = (
            "the beliefs contradict each other: by them matches differ on every field, and nothing identifies a person"
        )
        remedy = "believe an agreement above one half of the fields that one person's records share"
        yield ValidationIssue(path, what, "an agreement below one half for every field", remedy)
    if SCHEMES[model.scheme].calibrated:
        return
    for position, field in enumerate(content.fields):
        if field.value_frequencies:
            what = "value frequencies need weights that are ratios of probabilities, which shaded weights are not"
            remedy = "drop it, or use the multinomial scheme"
            here = ("fields", position, "value_frequencies")
            yield ValidationIssue(here, what, f"model.scheme {model.scheme}", remedy)


def swap_issues(sections: SoundSections) -> Iterator[ValidationIssue]:
    seen: set[str] = set()
    for position, swap in enumerate(sections.swaps if isinstance(sections.swaps, list | tuple) else ()):
        path: DocumentPath = ("swaps", position)
        if not isinstance(swap, list | tuple) or len(swap) != 2 or not all(isinstance(name, str) for name in swap):
            continue  # Its type is wrong, which is reported elsewhere.
        if sections.mode == "trusted":
            yield ValidationIssue(path, "values can be exchanged in mode open only", remedy="drop the swaps")
        for name in swap:
            yield from sections.unknown_field(name, path)
            if name in seen:
                what = "a field can be exchanged with one other only"
                yield ValidationIssue(path, what, shown(name), "drop one of them")
            seen.add(str(name))
        first, second = (sections.by_name.get(str(name)) for name in swap)
        if first is not None and second is not None and first.key_domain != second.key_domain:
            what, got = "fields that may be exchanged must share a key domain", (first.key_domain, second.key_domain)
            yield ValidationIssue(path, what, " and ".join(got), f"give both `key_domain: {first.key_domain}`")


def assignment_issues(content: SpecificationContent) -> Iterator[ValidationIssue]:
    """`links.assignment: clusters` links persons: what supposes one link of a record cannot be combined with it."""
    if content.links.assignment != "clusters":
        return
    path = ("links", "assignment")
    if content.in_blocks:
        what = f"mode {content.mode} compares no rows of one file with each other, which finding its persons takes"
        remedy = "take duplicates out at home with `gemel duplicates` and link one_to_one, or link in mode open"
        yield ValidationIssue(path, what, "clusters", remedy)
    if content.latent is not None:
        what = "the extended latent step judges pairs of records, and would take the links of an entity apart"
        yield ValidationIssue(path, what, "clusters", "drop `latent`, or take duplicates out with `gemel duplicates`")
    drawn = [str(side) for side in Side if getattr(content.release, str(side)) == "draws"]
    if drawn:
        what = "linkages are drawn for given persons: draws would leave out how uncertain these are"
        remedy = f"grant {listed(drawn)} links or pairs, or take duplicates out with `gemel duplicates`"
        yield ValidationIssue(path, what, "clusters", remedy)
    if content.quality is not None:
        what = "the pairs of an entity share its records, and estimates of quality take links for independent of others"
        remedy = "drop `quality`, or take duplicates out with `gemel duplicates` and link one_to_one"
        yield ValidationIssue(path, what, "clusters", remedy)


_NO_PADDING = {
    "open": (
        "dummy records do not protect mode open: with counts padded to 20, 77 % of 25,000 surnames were still recovered"
        " from their similarities, of 81 % without",
        "drop it, or use mode block_keyed or shared with blocking rules, which protect and can be padded",
    ),
    "trusted": ("padding hides nothing where the values themselves are sent", "drop it"),
}
"""By mode in which padding has no benefit: why, and the remedy."""


def padding_issues(sections: SoundSections) -> Iterator[ValidationIssue]:
    if sections.padding is not None and isinstance(sections.mode, str) and sections.mode in _NO_PADDING:
        what, remedy = _NO_PADDING[sections.mode]
        yield ValidationIssue(("padding",), what, shown(sections.padding), remedy)


def name_issues(sections: SoundSections) -> Iterator[ValidationIssue]:
    """Fields, rules or variables of one name, and a comparison of nothing."""
    if not sections.fields and not sections.other_names:
        yield ValidationIssue(("fields",), "nothing is compared", remedy="name at least one field that both files have")
    for section, parts in (
        ("fields", sections.fields),
        ("blocking", sections.rules),
        ("variables", sections.variables),
    ):
        for position, first in repeated((position, part.name.casefold()) for position, part in parts.items()):
            what, remedy = f"the name is taken by {section}[{first}]", "names must differ by more than capitals"
            yield ValidationIssue((section, position, "name"), what, shown(parts[position].name), remedy)


def issues_between(sections: SoundSections) -> Iterator[ValidationIssue]:
    checks = (
        name_issues, fields_issues, hardening_issues, key_domain_issues, pattern_issues, blocking_issues, swap_issues,
        variable_issues, latent_issues, padding_issues, whole_file_issues,
    )  # fmt: skip
    for check in checks:
        yield from check(sections)


def all_issues(content: SpecificationContent) -> Iterator[ValidationIssue]:
    yield from issues_between(SoundSections.of(content))
    checks = (
        estimation_issues, quality_issues, assessment_issues, resolution_issues, resolved_latent_issues, release_issues,
        granted_variables_issues, assignment_issues, shared_issues,
    )  # fmt: skip
    for check in checks:
        yield from check(content)
