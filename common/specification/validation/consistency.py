"""Checks across the values of a specification: names that exist, levels that ascend, one meaning per key.

Most checks take sections by their position rather than a whole specification, so that in a document with one field of
the wrong type all the others are still checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gemel.common.message_words import shown
from gemel.common.parties import Side
from gemel.common.specification.model.blocking import BlockingRule
from gemel.common.specification.model.content import SpecificationContent
from gemel.common.specification.model.defaults import IN_BLOCKS, MAX_RULES
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.latent import LatentSpec
from gemel.common.specification.model.variables import VariableSpec
from gemel.common.specification.validation.assessment import assessment_issues
from gemel.common.specification.validation.assignment import assignment_issues
from gemel.common.specification.validation.block_keyed import block_keyed_issues
from gemel.common.specification.validation.blocking import repeated_rules, rule_issues
from gemel.common.specification.validation.estimation import estimation_issues
from gemel.common.specification.validation.fields import field_issues, pattern_issues
from gemel.common.specification.validation.granted_variables import granted_variables_issues
from gemel.common.specification.validation.hardening import hardening_issues
from gemel.common.specification.validation.key_domains import key_domain_issues
from gemel.common.specification.validation.latent import latent_issues, resolved_latent_issues
from gemel.common.specification.validation.padding import padding_issues
from gemel.common.specification.validation.quality import quality_issues
from gemel.common.specification.validation.release import release_issues
from gemel.common.specification.validation.resolution import resolution_issues
from gemel.common.specification.validation.shared import shared_issues
from gemel.common.specification.validation.swaps import swap_issues
from gemel.common.specification.validation.variables import variable_issues
from gemel.common.validation_issue import ValidationIssue


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
