"""Checks across the values of a specification: names that exist, levels that ascend, one meaning per key.

Most checks take sections by their position rather than a whole specification, so that in a document with one field of
the wrong type all the others are still checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gemel.common.language.message_words import listed, nearest, shown
from gemel.common.parties import Side
from gemel.common.specification.model.blocking import BlockingRule, Padding
from gemel.common.specification.model.content import ModelSpec, ReleaseSpec, SpecificationContent
from gemel.common.specification.model.defaults import IN_BLOCKS, MAX_RULES, Mode
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.latent import LatentSpec
from gemel.common.specification.model.resolution import ResolutionSpec
from gemel.common.specification.model.schemes import SCHEMES, QualitySpec
from gemel.common.specification.model.variables import VariableSpec
from gemel.common.specification.validation.assessment import assessment_issues, quality_issues
from gemel.common.specification.validation.blocking import (
    block_keyed_issues,
    hardening_issues,
    repeated_rules,
    rule_issues,
)
from gemel.common.specification.validation.fields import (
    field_issues,
    granted_variables_issues,
    pattern_issues,
    variable_issues,
)
from gemel.common.specification.validation.latent import latent_issues, resolved_latent_issues, shared_issues
from gemel.common.validation_issues import DocumentPath, ValidationIssue

# Checks of the section `resolution` against the mode.


def resolution_issues(
    resolution: ResolutionSpec, mode: Mode, padding: Padding | None, quality: QualitySpec | None
) -> Iterator[ValidationIssue]:
    """Every issue of the section, given the specification's mode, padding and decoys."""
    if resolution == ResolutionSpec():
        return
    if mode not in IN_BLOCKS:
        yield ValidationIssue(
            ("resolution",),
            "there are rows to join in modes block_keyed and shared only",
            f"mode {mode}",
            "drop the section",
        )
    if mode == "shared" and resolution.joined:
        what = "in mode shared the linkage unit knows no row of a pair, and has none to join"
        remedy = "drop the line: the coordinator's process resolves"
        yield ValidationIssue(("resolution", "by"), what, "carole", remedy)
        return
    if resolution.joined and resolution.max_records is None:
        yield ValidationIssue(
            ("resolution", "max_records"),
            "a join by the linkage unit needs a cap that all approve",
            "nothing",
            "write `resolution: {by: carole, max_records: 20000}` with your own number",
        )
    if not resolution.joined and resolution.max_records is not None:
        yield ValidationIssue(
            ("resolution", "max_records"),
            "the coordinator's process, which holds no signature, has no cap",
            str(resolution.max_records),
            "drop it, or write `by: carole`",
        )
    if padding is not None and resolution.joined:
        what = "the party that joins rows learns which are dummies, and the linkage unit must not know"
        remedy = "drop it, or let the coordinator's process resolve"
        yield ValidationIssue(("padding",), what, "resolution by carole", remedy)
    if quality is not None and quality.decoys is not None and resolution.joined:
        what = "the party that joins rows learns which are decoys, and their records under every rule"
        remedy = "drop them, or let the coordinator's process resolve"
        yield ValidationIssue(("quality", "decoys"), what, "resolution by carole", remedy)


# Checks of the section `model` against the compared fields.

MIN_AGREEMENT = 0.5
"""Believed agreement from which a field speaks for a match."""


def estimation_issues(model: ModelSpec, fields: Mapping[int, FieldSpec]) -> Iterator[ValidationIssue]:
    """Beliefs about fields, and value frequencies under a scheme whose weights are not ratios of probabilities."""
    names = {field.name for field in fields.values()}
    believed: set[str] = set()
    for position, one in enumerate(model.m_prior):
        if one.field not in names:
            yield ValidationIssue(
                ("model", "m_prior", position, "field"),
                "something is believed of a field that is not compared",
                repr(one.field),
                f"name compared fields only: {', '.join(sorted(names))}",
            )
        if one.field in believed:
            yield ValidationIssue(
                ("model", "m_prior", position, "field"),
                "two beliefs about one field contradict each other",
                repr(one.field),
                "state one of them",
            )
        believed.add(one.field)
    if names and names <= {one.field for one in model.m_prior if one.agreement < MIN_AGREEMENT}:
        yield ValidationIssue(
            ("model", "m_prior"),
            "the beliefs contradict each other: by them matches differ on every field, and nothing identifies a person",
            "an agreement below one half for every field",
            "believe an agreement above one half of the fields that one person's records share",
        )
    if SCHEMES[model.scheme].calibrated:
        return
    for position, field in fields.items():
        if field.value_frequencies:
            yield ValidationIssue(
                ("fields", position, "value_frequencies"),
                "value frequencies need weights that are ratios of probabilities, which shaded weights are not",
                f"model.scheme {model.scheme}",
                "drop it, or use the multinomial scheme",
            )


# The attributes that fields signed with the same keys must have in common.

_SHARED = (
    "kind",
    "clean",
    "stop_words",
    "missing",
    "date",
    "tokens",
    "bits",
    "randomised_response",
    "salt",
    "only_similar",
)
"""The attributes that fields of one key domain must have in common."""


def key_domain_issues(fields: Mapping[int, FieldSpec]) -> Iterator[ValidationIssue]:
    """Fields of one key domain that are encoded differently."""
    # One key for two encodings would make equal values differ, and reveal more to Carole than either encoding alone.
    seen: dict[str, int] = {}
    for position, field in fields.items():
        first = fields[seen.setdefault(field.key_domain, position)]
        for attribute in _SHARED:
            mine, theirs = getattr(field, attribute), getattr(first, attribute)
            if mine != theirs:
                got = f"{shown(mine)} beside {shown(theirs)}" if isinstance(mine, str | int | float) else ""
                yield ValidationIssue(
                    ("fields", position, "key_domain"),
                    f"{first.name} is of the same key domain but has other {attribute}",
                    got,
                    f"give both the same {attribute}, or each a key_domain of its own",
                )


# Checks of the fields that may be exchanged with each other.


def swap_issues(
    swaps: object, fields: Mapping[str, FieldSpec], other_names: frozenset[str], mode: object
) -> Iterator[ValidationIssue]:
    """Exchanges of fields that do not exist, or that cannot be compared."""
    seen: set[str] = set()
    for position, swap in enumerate(swaps if isinstance(swaps, list | tuple) else ()):
        path: DocumentPath = ("swaps", position)
        if not isinstance(swap, list | tuple) or len(swap) != 2 or not all(isinstance(name, str) for name in swap):
            continue  # Its type is wrong, which is reported elsewhere.
        if mode == "trusted":
            yield ValidationIssue(path, "values can be exchanged in mode open only", remedy="drop the swaps")
        for name in swap:
            if name not in fields and name not in other_names:
                yield ValidationIssue(path, "no compared field has this name", shown(name), nearest(str(name), fields))
            if name in seen:
                yield ValidationIssue(
                    path, "a field can be exchanged with one other only", shown(name), "drop one of them"
                )
            seen.add(str(name))
        first, second = (fields.get(str(name)) for name in swap)
        if first is not None and second is not None and first.key_domain != second.key_domain:
            yield ValidationIssue(
                path,
                "fields that may be exchanged must share a key domain",
                f"{first.key_domain} and {second.key_domain}",
                f"give both `key_domain: {first.key_domain}`",
            )


# Checks of the section `release` against the model and the latent step, of which it grants what they estimate.


def release_issues(release: ReleaseSpec, latent: LatentSpec | None, scheme: str) -> Iterator[ValidationIssue]:
    """A joint distribution that does not exist, or is granted to a custodian that receives nothing; exact
    probabilities of no pairs; draws of a model that has none."""
    path = ("release", "joint")
    if release.joint != "none" and latent is None:
        what = "without a latent step there is no joint distribution to receive"
        yield ValidationIssue(path, what, release.joint, "drop it, or add the section `latent`")
    for side in Side:
        if release.joint_to(side) and getattr(release, str(side)) == "nothing":
            what = f"{side} receives nothing, and therefore no joint distribution"
            yield ValidationIssue(path, what, release.joint, f"grant {side} statistics at least")
    for side in Side:
        if release.exact_to(side) and side not in release.recipients_of_pairs:
            what = f"{side} receives no pairs, and therefore no probabilities of pairs"
            where = ("release", "exact_probabilities")
            yield ValidationIssue(where, what, release.exact_probabilities, f"grant {side} links, or leave {side} out")
    for side in Side:
        if getattr(release, str(side)) != "draws":
            continue
        if latent is not None:
            what = "linkages are drawn from the Fellegi-Sunter model, not from that of the latent step"
            yield ValidationIssue(("release", str(side)), what, "draws", "grant links or pairs, or drop `latent`")
        if not SCHEMES[scheme].calibrated:
            what = f"linkages are drawn by their probabilities, and those of scheme {scheme} are not calibrated"
            yield ValidationIssue(("release", str(side)), what, "draws", "grant links or pairs, or change the scheme")


# Checks of the assignment clusters, which links persons: what supposes one link of a record is no part of it.


def assignment_issues(content: SpecificationContent) -> Iterator[ValidationIssue]:
    """Every issue between `links.assignment: clusters` and the rest of a specification."""
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


# Padding in a mode where it has no benefit.

_REASONS = {
    "open": (
        "dummy records do not protect mode open: with counts padded to 20, 77 % of 25,000 surnames were still recovered"
        " from their similarities, of 81 % without",
        "drop it, or use mode block_keyed or shared with blocking rules, which protect and can be padded",
    ),
    "trusted": ("padding hides nothing where the values themselves are sent", "drop it"),
}


def padding_issues(padding: object, mode: object) -> Iterator[ValidationIssue]:
    """Padding in a mode where it has no benefit."""
    if padding is not None and isinstance(mode, str) and mode in _REASONS:
        what, remedy = _REASONS[mode]
        yield ValidationIssue(("padding",), what, shown(padding), remedy)


@dataclass(frozen=True)
class SoundSections:
    """The sections of a document that are valid by themselves, for the checks across sections."""

    fields: Mapping[int, FieldSpec]
    """The compared fields by their position in the document."""
    rules: Mapping[int, BlockingRule]
    """The blocking rules by their position in the document."""
    variables: Mapping[int, VariableSpec]
    """The category variables by their position in the document."""
    mode: object
    """The specification's mode, as the document has it."""
    swaps: object
    """The pairs of fields that may be exchanged, as the document has them."""
    padding: object
    """The padding, as the document has it."""
    identifiers: Mapping[Side, str]
    """The custodians' identifier columns, where they are known."""
    latent: LatentSpec | None
    """The extended latent step, if there is one."""
    other_names: frozenset[str] = frozenset()
    """Names of fields that are in the document but not in `fields`, because they have issues of their own."""
    other_rules: bool = False
    """Whether there are other blocking rules, which have issues of their own."""
    other_variables: bool = False
    """Whether there are other variables, which have issues of their own."""

    @classmethod
    def of(cls, content: SpecificationContent) -> SoundSections:
        """All of a specification's content."""
        return cls(
            dict(enumerate(content.fields)),
            dict(enumerate(content.blocking)),
            dict(enumerate(content.variables)),
            content.mode,
            content.swaps,
            content.padding,
            {side: content.custodians.of(side).identifier for side in Side},
            content.latent,
        )


def all_issues(content: SpecificationContent) -> Iterator[ValidationIssue]:
    """Every issue between values of a specification rather than in one of them."""
    sections = SoundSections.of(content)
    names = frozenset(field.name for field in content.fields)
    yield from issues_between(sections)
    yield from estimation_issues(content.model, sections.fields)
    yield from quality_issues(
        content.quality, sections.fields, sections.rules, content.swaps, content.latent, content.links.assignment
    )
    yield from assessment_issues(
        content.assessment, content.release, sections.variables, names, content.quality, content.latent
    )
    yield from resolution_issues(content.resolution, content.mode, content.padding, content.quality)
    joined = content.resolution.joined
    yield from resolved_latent_issues(content.latent, content.mode, content.padding, joined)
    yield from release_issues(content.release, content.latent, content.model.scheme)
    yield from granted_variables_issues(content)
    yield from assignment_issues(content)
    yield from shared_issues(content)


def issues_between(sections: SoundSections) -> Iterator[ValidationIssue]:
    """Every issue between fields, rules, variables and the latent step, as far as these are valid."""
    fields, rules, variables, mode = sections.fields, sections.rules, sections.variables, sections.mode
    other_names = sections.other_names
    by_name = {field.name: field for field in fields.values()}
    if not fields and not other_names:
        yield ValidationIssue(("fields",), "nothing is compared", remedy="name at least one field that both files have")
    yield from _repeated("fields", {i: field.name for i, field in fields.items()})
    yield from _repeated("blocking", {i: rule.name for i, rule in rules.items()})
    yield from _repeated("variables", {i: variable.name for i, variable in variables.items()})
    for position, field in fields.items():
        yield from field_issues(field, ("fields", position), mode)
    yield from hardening_issues(fields, other_names, mode, sections.latent)
    yield from key_domain_issues(fields)
    yield from pattern_issues(fields)
    if len(rules) > MAX_RULES:
        what = f"at most {MAX_RULES} rules are possible"
        yield ValidationIssue(("blocking",), what, str(len(rules)), "drop or join some")
    for position, rule in rules.items():
        yield from rule_issues(rule, ("blocking", position), by_name, other_names, mode)
    yield from repeated_rules(rules)
    yield from swap_issues(sections.swaps, by_name, other_names, mode)
    yield from variable_issues(variables, frozenset(by_name), sections.identifiers)
    if sections.latent is not None:
        unsure = sections.other_variables or bool(other_names)
        yield from latent_issues(sections.latent, variables.values(), by_name, unsure, mode)
    yield from padding_issues(sections.padding, mode)
    if mode in IN_BLOCKS:
        yield from block_keyed_issues(fields, rules, str(mode), rules_elsewhere=sections.other_rules)


def _repeated(section: str, names: Mapping[int, str]) -> Iterator[ValidationIssue]:
    seen: dict[str, int] = {}
    for position, name in names.items():
        first = seen.setdefault(name.casefold(), position)
        if first != position:
            yield ValidationIssue(
                (section, position, "name"),
                f"the name is taken by {section}[{first}]",
                shown(name),
                "names must differ by more than capitals",
            )
