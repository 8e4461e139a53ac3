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
from gemel.common.specification.validation.specification import Specification

# What salts and lists of similar values do and cost, for those who approve.


def hardening_notes(spec: Specification) -> Iterator[str]:
    for field in spec.fields:
        if field.salt is not None:
            yield from _salt_notes(spec, field, field.salt)
        if field.only_similar:
            yield (
                f"Field {field.name}: only {len(field.only_similar):,} listed values show their similarity; any other"
                " is sent as a code, equal to itself and similar to no other. Misspellings are hardly ever on the list,"
                " so a misspelt value is compared as different from the right one."
                + " How often each code occurs is still visible."
                * (spec.mode != "shared")
            )


def _salt_notes(spec: Specification, field: FieldSpec, salt: BlockingKey) -> Iterator[str]:
    yield (
        f"Field {field.name} is salted by {salt.words}: Carole can compare two of its values only where that is equal."
        f" Records that differ in it, by an error or in truth, are compared as different in {field.name}; where"
        f" {salt.field} is missing, {field.name} counts as missing too. Values under a salt that a thousand records"
        " share can be attacked like a file of its own: `gemel alice leakage` measures it."
    )
    for rule in spec.rules_undoing_salt(field):
        yield (
            f"Blocking rule {rule.name} undoes the salt of {field.name}: its keys are made of {field.name} without"
            f" {salt.words}, so that Carole sees which rows agree in it across all salts. Add {salt.words} to the rule,"
            f" or take {field.name} out of it."
        )
    formed = [
        rule.name
        for rule in spec.blocking
        if field.name in (rule.split, *(part.field for part in (rule.lsh, rule.canopies, rule.similar) if part))
    ]
    if formed:
        yield f"Blocking by {' and '.join(formed)} finds pairs with equal salts of {field.name} only."
    for other in spec.fields:
        twice = any(set(other.columns_of(side)) & set(field.columns_of(side)) for side in ("alice", "bob"))
        if other is not field and other.salt != salt and twice:
            yield f"Field {other.name} reads a column of {field.name} under another salt or none: it undoes the salt."


# What may be coarsened before a release, and what that tells the linkage unit, in words.


def protection_notes(spec: Specification) -> Iterator[str]:
    protect = {} if spec.assessment is None else spec.assessment.protect
    if not protect:
        return
    changes = [f"{name} ({_steps(steps)})" for name, steps in protect.items()]
    yield (
        f"Where a limit is breached, Carole may release the result coarsened: {listed(changes)}. She takes the least"
        " change with which every limit holds, and nothing else; the audit log and the report name it. That a variable"
        " comes coarsened tells its recipients that the finer output was above a limit."
    )
    joined = [name for name, steps in protect.items() if grouped(steps)]
    if joined:
        yield (
            f"So that she can coarsen codes whose labels she does not have, the codes of {listed(joined)} are ordered"
            " by group: Carole sees which codes are in one group, and which group it is where no other has as many"
            " categories, divided in the same way."
        )


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
        sent = listed([field.name for field in spec.fields])
        yield (
            f"Mode trusted: THE VALUES THEMSELVES ARE SENT TO CAROLE: {sent} of every row, cleaned but in clear within"
            " the encrypted connection, and kept encrypted at her side until uploads expire. Nothing hides them from"
            " her or from whoever holds her keys. Approve it only if Carole may lawfully see these values; mode open"
            " sends signatures instead."
        )
        if spec.blocking:
            yield f"Blocking ({listed([rule.name for rule in spec.blocking])}) is by keyed digests, as in mode open."
        return
    if spec.mode == "shared":
        yield from shared_notes(spec)
        yield from _of_blocks(spec)
        return
    if spec.in_blocks:
        yield from _block_leakage(spec)
        yield from _of_blocks(spec)
        return
    yield (
        "Mode open: equal values have equal signatures and similar values similar ones, so Carole can count how often"
        " each value of a field occurs and see which values resemble each other. With public counts of names she can"
        " recover many of them without any key. Use it with a Carole trusted not to attack the signatures."
    )
    if spec.keyed_rules:
        rules = listed([rule.name for rule in spec.keyed_rules])
        yield (
            f"Blocking ({rules}): Carole also sees which rows of the two files share a key of a rule, though not the"
            " key; rows joined by several rules can be distinguished more easily."
        )
    domains: dict[str, list[str]] = {}
    for field in spec.fields:
        domains.setdefault(field.key_domain, []).append(field.name)
    for domain, names in domains.items():
        if len(names) > 1:
            yield f"Key domain {domain}: Carole can compare values across {listed(names)}."


def _released(spec: Specification) -> Iterator[str]:
    yield from _drawn(spec)
    yield from _exact(spec)
    if spec.assessment is None:
        if spec.variables:
            yield "The combined output is released without an assessment of its disclosure risk (assessment: none)."
        return
    limits = ", ".join(f"{measure} at most {limit:g}" for measure, limit in spec.assessment.judged_limits.items())
    breach = _breach(spec.assessment)
    yield f"The combined output is assessed before its release: {limits}. Above any of these {breach}."


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
    yield (
        f"{listed([side.title() for side in given])} {verb} {spec.release.draws} drawn linkages beside the links: also"
        " of pairs that are no link, how probable they are and which of them exclude each other. Of a record without a"
        " link that shows how likely the other file has it. The assessment counts it as it does the grant pairs."
    )


def _exact(spec: Specification) -> Iterator[str]:
    given = [side for side in Side if spec.release.exact_to(side)]
    if not given:
        return
    verb = "receive" if len(given) == 2 else "receives"
    yield (
        f"{listed([side.title() for side in given])} {verb} link probabilities to the last digit"
        " (exact_probabilities). With m and u, which are in the statistics, nearly every one stands for one comparison"
        " pattern: WHICH FIELDS OF A LINKED RECORD THE OTHER FILE HOLDS OTHERWISE, and how unlike they are. Without it"
        " a share has the means of a few classes of pairs."
    )


def _block_leakage(spec: Specification) -> Iterator[str]:
    rules = listed([rule.name for rule in spec.keyed_rules])
    if spec.resolution.joined:
        yield (
            "The fall-back of mode block_keyed (resolution: by carole): CAROLE LEARNS WHICH ROWS OF DIFFERENT RULES"
            f" ARE ONE RECORD, for the records of candidate pairs, at most {spec.resolution.max_records or 0:,} of"
            f" either file{', and which row of codes is theirs' if spec.assessment else ''}. She can follow equal and"
            " similar values of these records from block to block, at most as in mode open, and with public counts of"
            " names recover some. Each custodian refuses above the cap, and her audit log states for how many records"
            " the rows were joined. `by: coordinator` keeps it from her."
        )
    yield (
        f"Mode block_keyed: each record is sent once per blocking rule ({rules}), under a pseudonym of that rule, and"
        " signed for its block. Carole sees how many rows each block has, which of them are equal or similar in each"
        " field, and which also agree under another rule; two blocks, and two rules, have nothing in"
        f" common{', but for those records' if spec.resolution.joined else ''}."
        " A large block of a common key shows her that the key is common: `gemel alice leakage` measures it."
    )
    yield (
        "Carole also holds, per field, groups of some 30 sampled signatures of each file, each"
        " group under a key of its own. They belong to no row; within a group she sees which are equal or similar."
    )
    if not spec.resolution.joined:
        bounds = capped(spec.resolution)
        yield (
            "Which rows are one record is known to the coordinator's process alone, by random handles of each run; it"
            " sees the comparison levels of candidate pairs, and no signature. Together with Carole it could undo the"
            f" protection of the mode {bounds}: each custodian counts over all runs, and refuses"
            " above."
        )


def _of_blocks(spec: Specification) -> Iterator[str]:
    yield "Each custodian learns which of its records are in candidate pairs near a link."
    if spec.padding is not None:
        yield (
            "Each custodian brings the number of rows of every block up to the next power of two by dummy rows, less"
            " than twice the rows. It hides how many records a block has, not how many blocks there are; and a row that"
            " resembles one of the other file is no dummy, so it hides little where nearly every record has a match. In"
            " our attacks it lowered what sizes alone reveal of names, but not what similarities inside large blocks"
            " reveal: narrower rules do. The resolver knows the dummies and links none."
        )
    for rule in (rule for rule in spec.keyed_rules if rule.withheld):
        yield (
            f"Rows of rule {rule.name} are sent without {listed(rule.withheld)}, which its keys would disclose: these"
            " do not count for pairs that no rule before it has." + _SEEN_BY_TAG * (spec.mode != "shared")
        )
    split = [f"{rule.name} by {rule.split}" for rule in spec.keyed_rules if rule.split]
    if split:
        yield (
            f"In mode {spec.mode} a rule's `split` is part of every key ({listed(split)}), not only of those of large"
            " blocks: neither custodian can know which blocks are large without disclosing its own."
        )


def _variables(spec: Specification) -> Iterator[str]:
    if not spec.variables:
        return
    holders = {"both": "both files", **{str(side): f"{side}'s file" for side in Side}}
    counts = [f"{v.name} ({len(v.categories)} categories, {holders[v.holder]})" for v in spec.variables]
    yield (
        f"Variables {listed(counts)} are sent as keyed codes of every row: Carole never sees a label, but she counts"
        " how often each code occurs, alone and together, so that with public margins she can guess which code is"
        " which category."
    )
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
            yield (
                f"The codes of one row of {side} hold for the whole file: together they may take {size} combinations,"
                f" and {recognised}."
            )
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
                yield (
                    f"Variable {variable.name} reads the same column of {side} as field {field}: its value is sent as a"
                    f" signature and as a code{joined}."
                )


def _codes_apart(spec: Specification) -> Iterator[str]:
    """What codes reveal in modes block_keyed and shared, and what they do not."""
    joined = spec.resolution.joined and spec.assessment is not None
    rows = "shares" if spec.mode == "shared" else "signatures"
    yield (
        f"In mode {spec.mode} the codes come as a list of their own, a row for every record in another order: nothing"
        f" {'but the fall-back ' if joined else ''}shows which {rows} a row of codes belongs to."
    )
    if spec.assessment is None and spec.latent is None:
        yield (
            "Nothing uses the codes in this mode but an assessment and the latent step: drop the variables unless one"
            " is to be added."
        )
    if spec.assessment is None or joined:
        return
    yield (
        "For the assessment the coordinator's process reports to Carole which rows of codes of the two files are links,"
        " with probabilities that at least 20 links share. Pairs near a link are not reported, so expected counts are"
        " of links only; and where links are few, or few are links in one run and not in another, so are the rows that"
        " each may belong to."
    )
    if spec.links.assignment in ("many_to_one", "one_to_many", "none"):
        yield (
            f"With assignment {spec.links.assignment} several links share a record, in the list of codes as among the"
            " signatures: an unusual number of links may join the two."
        )


def _repeated(spec: Specification) -> Iterator[str]:
    """What several links of a record disclose to its custodian: the other file's copies."""
    seen_by = {"many_to_one": (Side.BOB,), "one_to_many": (Side.ALICE,), "none": (Side.BOB, Side.ALICE)}
    for side in seen_by.get(spec.links.assignment, ()):
        yield (
            f"links.assignment {spec.links.assignment}: {side.title()} learns which of the linked people are in"
            f" {side.other.title()}'s file more than once, and how often."
        )
    if spec.links.assignment != "clusters":
        return
    yield (
        "links.assignment clusters: Carole compares the rows of each file with each other too, and finds which are one"
        " person; each custodian with the grant links learns this of its own rows. The statistics state how many people"
        " are in each file more than once, and how many rows of a file one person has at most."
    )
    for side in Side:
        if getattr(spec.release, str(side)) == "pairs":
            yield (
                f"links.assignment clusters with the grant pairs: {side.title()} also learns which of the linked people"
                f" are in {side.other.title()}'s file more than once, and how often. The grant links keeps that back."
            )


def _harmonised(spec: Specification) -> Iterator[str]:
    for field in spec.fields:
        if field.categorisation:
            yield f"Field {field.name} is harmonised: {_what_is_lost(field.categorisation, tuple(Side))}."
    for variable in spec.variables:
        if variable.categorisation:
            sides = [side for side in Side if variable.held_by(side)]
            yield f"Variable {variable.name} is harmonised: {_what_is_lost(variable.categorisation, sides)}."


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
        yield (
            "The approved suite (cryptography: approved): values are encoded by HMAC-SHA-256 and CMAC, and keys agreed"
            " and shares sealed by ML-KEM-1024 and P-384, algorithms that NIST has approved. Every party but a steward"
            " needs a sealing key of these. It makes no installation a validated one: docs/fips.md has what that takes."
        )


def specification_notes(spec: Specification) -> tuple[str, ...]:
    """What a valid specification reveals to the linkage unit, and risks to linkage quality: the most serious first."""
    return (*disclosure_notes(spec), *linkage_notes(spec), *cryptography_notes(spec))
