"""All notes for those who approve; of them, what a specification reveals to the linkage unit and the custodians."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from gemel.common.keys.suite import Suite
from gemel.common.language.message_words import listed
from gemel.common.parties import Side
from gemel.common.specification.model.assessment import AssessmentSpec
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.protection import CoarseningStep, grouped
from gemel.common.specification.model.section import BlockingKey
from gemel.common.specification.model.variables import CommonCategory, Span
from gemel.common.specification.notes.linkage import latent_notes, linkage_notes, randomised_response_notes
from gemel.common.specification.notes.modes import capped, granted_variables_notes, shared_notes
from gemel.common.specification.notes.wording import note
from gemel.common.specification.validation.specification import Specification

# What salts and lists of similar values do and cost, for those who approve.


def hardening_notes(spec: Specification) -> Iterator[str]:
    for field in spec.fields:
        if field.salt is not None:
            yield from _salt_notes(spec, field, field.salt)
        if field.only_similar:
            yield note(
                "similar_values",
                field=field.name,
                number=len(field.only_similar),
                frequencies=" How often each code occurs is still visible." * (spec.mode != "shared"),
            )


def _salt_notes(spec: Specification, field: FieldSpec, salt: BlockingKey) -> Iterator[str]:
    yield note("salted", field=field.name, salt=salt.words, attribute=salt.field)
    for rule in spec.rules_undoing_salt(field):
        yield note("salt_undone_by_rule", rule=rule.name, field=field.name, salt=salt.words)
    formed = [
        rule.name
        for rule in spec.blocking
        if field.name in (rule.split, *(part.field for part in (rule.lsh, rule.canopies, rule.similar) if part))
    ]
    if formed:
        yield note("salted_blocking", rules=" and ".join(formed), field=field.name)
    for other in spec.fields:
        twice = any(set(other.columns_of(side)) & set(field.columns_of(side)) for side in ("alice", "bob"))
        if other is not field and other.salt != salt and twice:
            yield note("salt_undone_by_field", other=other.name, field=field.name)


# What may be coarsened before a release, and what that tells the linkage unit, in words.


def protection_notes(spec: Specification) -> Iterator[str]:
    protect = {} if spec.assessment is None else spec.assessment.protect
    if not protect:
        return
    changes = [f"{name} ({_steps(steps)})" for name, steps in protect.items()]
    yield note("may_be_coarsened", changes=listed(changes))
    joined = [name for name, steps in protect.items() if grouped(steps)]
    if joined:
        yield note("codes_by_group", joined=listed(joined))


def _steps(steps: Sequence[CoarseningStep | str]) -> str:
    words = [
        f"{step.name}, {len(step.groups)} groups" if isinstance(step, CoarseningStep) else "dropped" for step in steps
    ]
    return "; then ".join(words)


def disclosure_notes(spec: Specification) -> Iterator[str]:
    parts = (
        _leakage, randomised_response_notes, hardening_notes, granted_variables_notes,
        _released, protection_notes, _repeated, _variables,
        latent_notes, _harmonised,
    )  # fmt: skip
    for part in parts:
        yield from part(spec)


_SEEN_BY_TAG = (
    " Where another rule's keys have such a field, the tag for that rule still shows her which rows of a block agree on"
    " all of those keys."
)


def _leakage(spec: Specification) -> Iterator[str]:
    if spec.mode == "trusted":
        yield note("trusted", sent=listed([field.name for field in spec.fields]))
        if spec.blocking:
            yield note("trusted_blocking", rules=listed([rule.name for rule in spec.blocking]))
        return
    if spec.mode == "shared":
        yield from shared_notes(spec)
        yield from _of_blocks(spec)
        return
    if spec.in_blocks:
        yield from _block_leakage(spec)
        yield from _of_blocks(spec)
        return
    yield note("open")
    if spec.keyed_rules:
        yield note("open_blocking", rules=listed([rule.name for rule in spec.keyed_rules]))
    domains: dict[str, list[str]] = {}
    for field in spec.fields:
        domains.setdefault(field.key_domain, []).append(field.name)
    for domain, names in domains.items():
        if len(names) > 1:
            yield note("key_domain", domain=domain, names=listed(names))


def _released(spec: Specification) -> Iterator[str]:
    yield from _drawn(spec)
    yield from _exact(spec)
    if spec.assessment is None:
        if spec.variables:
            yield note("not_assessed")
        return
    limits = ", ".join(f"{measure} at most {limit:g}" for measure, limit in spec.assessment.judged_limits.items())
    yield note("assessed", limits=limits, breach=_breach(spec.assessment))


def _breach(assessment: AssessmentSpec) -> str:
    if assessment.on_breach == "refuse":
        return "nothing is released"
    if assessment.signatures == 1:
        return "the result waits for a steward"
    return (
        f"the result waits for {assessment.signatures} stewards: it is released only when two different members of the"
        " role steward have signed, and refused as soon as one refuses; the membership list must have two"
    )


def _drawn(spec: Specification) -> Iterator[str]:
    given = [side for side in Side if getattr(spec.release, str(side)) == "draws"]
    if not given:
        return
    verb = "receive" if len(given) == 2 else "receives"
    yield note("draws", custodians=listed([side.title() for side in given]), verb=verb, draws=spec.release.draws)


def _exact(spec: Specification) -> Iterator[str]:
    given = [side for side in Side if spec.release.exact_to(side)]
    if not given:
        return
    verb = "receive" if len(given) == 2 else "receives"
    yield note("exact_probabilities", custodians=listed([side.title() for side in given]), verb=verb)


def _block_leakage(spec: Specification) -> Iterator[str]:
    rules = listed([rule.name for rule in spec.keyed_rules])
    if spec.resolution.joined:
        yield note(
            "carole_joins",
            maximum=spec.resolution.max_records or 0,
            codes=", and which row of codes is theirs" if spec.assessment else "",
        )
    yield note("block_keyed", rules=rules, but=", but for those records" if spec.resolution.joined else "")
    yield note("samples")
    if not spec.resolution.joined:
        yield note("coordinator_resolves", bounds=capped(spec.resolution))


def _of_blocks(spec: Specification) -> Iterator[str]:
    yield note("records_near_links")
    if spec.padding is not None:
        yield note("padding")
    for rule in (rule for rule in spec.keyed_rules if rule.withheld):
        yield note(
            "withheld", rule=rule.name, withheld=listed(rule.withheld), tag=_SEEN_BY_TAG * (spec.mode != "shared")
        )
    split = [f"{rule.name} by {rule.split}" for rule in spec.keyed_rules if rule.split]
    if split:
        yield note("split", mode=spec.mode, split=listed(split))


def _variables(spec: Specification) -> Iterator[str]:
    if not spec.variables:
        return
    holders = {"both": "both files", **{str(side): f"{side}'s file" for side in Side}}
    counts = [f"{v.name} ({len(v.categories)} categories, {holders[v.holder]})" for v in spec.variables]
    yield note("variables", counts=listed(counts))
    apart = spec.in_blocks
    recognised = (
        "whoever decodes the codes and knows a person recognises a row whose combination is rare, and learns the rest"
        if apart
        else "a row whose combination is rare can be recognised by it wherever it appears"
    )
    cells = {side: math.prod(len(v.categories) for v in spec.variables_of(side)) for side in Side}
    for side, number in cells.items():
        if number > 1:
            size = f"{number:,}" if number < 10**12 else f"{number:.1e}"
            yield note("combinations", side=side, size=size, recognised=recognised)
    if apart:
        yield from _codes_apart(spec)
    keyed = {side: {c: f.name for f in spec.fields for c in f.columns_of(side)} for side in Side}
    for variable in spec.variables:
        for side in Side:
            field = keyed[side].get(variable.column_of(side)) if variable.held_by(side) else None
            if field is not None:
                # In mode shared no one sees which row lacks a value.
                joined = (
                    ", and a missing value shows in both: where few records lack it, that joins them"
                    if spec.mode == "block_keyed"
                    else ""
                )
                yield note("variable_and_field", variable=variable.name, side=side, field=field, joined=joined)


def _codes_apart(spec: Specification) -> Iterator[str]:
    """What codes reveal in modes block_keyed and shared, and what they do not."""
    joined = spec.resolution.joined and spec.assessment is not None
    rows = "shares" if spec.mode == "shared" else "signatures"
    yield note("codes_apart", mode=spec.mode, but="but the fall-back " if joined else "", rows=rows)
    if spec.assessment is None and spec.latent is None:
        yield note("codes_unused")
    if spec.assessment is None or joined:
        return
    yield note("linked_codes")
    if spec.links.assignment in ("many_to_one", "one_to_many", "none"):
        yield note("several_links_in_codes", assignment=spec.links.assignment)


def _repeated(spec: Specification) -> Iterator[str]:
    """What several links of a record disclose to its custodian: the other file's copies."""
    seen_by = {"many_to_one": (Side.BOB,), "one_to_many": (Side.ALICE,), "none": (Side.BOB, Side.ALICE)}
    for side in seen_by.get(spec.links.assignment, ()):
        yield note(
            "repeated_people", assignment=spec.links.assignment, custodian=side.title(), other=side.other.title()
        )
    if spec.links.assignment != "clusters":
        return
    yield note("clusters")
    for side in Side:
        if getattr(spec.release, str(side)) == "pairs":
            yield note("clusters_and_pairs", custodian=side.title(), other=side.other.title())


def _harmonised(spec: Specification) -> Iterator[str]:
    for field in spec.fields:
        if field.categorisation:
            yield note("harmonised_field", field=field.name, lost=_what_is_lost(field.categorisation, tuple(Side)))
    for variable in spec.variables:
        if variable.categorisation:
            sides = [side for side in Side if variable.held_by(side)]
            yield note(
                "harmonised_variable", variable=variable.name, lost=_what_is_lost(variable.categorisation, sides)
            )


def _what_is_lost(rows: Sequence[CommonCategory], sides: Sequence[Side]) -> str:
    sentences = []
    for side in sides:
        joined = [len(values) for row in rows if not isinstance(values := row.values_of(side), Span)]
        if len(joined) < len(rows):
            sentences.append(f"{side}'s numbers")
        else:
            alone = sum(count == 1 for count in joined)
            sentences.append(f"{side}'s {sum(joined)} values ({alone} of them kept apart from all others)")
    return f"{' and '.join(sentences)} become {len(rows)} categories"


def cryptography_notes(spec: Specification) -> Iterator[str]:
    """What the suite asks of the parties, where it is not the default."""
    if spec.suite is Suite.APPROVED:
        yield note("approved_suite")


def specification_notes(spec: Specification) -> tuple[str, ...]:
    """What a valid specification reveals to the linkage unit, and risks to linkage quality: the most serious first."""
    return (*disclosure_notes(spec), *linkage_notes(spec), *cryptography_notes(spec))
