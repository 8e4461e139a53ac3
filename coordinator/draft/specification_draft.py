"""A first specification, proposed from the columns that two files share, with a comment on each choice.

It is a starting point for a person: it reads both files, so it belongs where both may be read, on test data or on
samples. No value of theirs gets into the specification or a comment: kinds, shares and counts only.

The choices are those that linked best on files of which the truth is known; see `common.specification.model.defaults`
for what a kind brings, `shared_columns` for how kinds are recognised, `compared_fields` for which columns become
fields, `blocking_rules` for the rules, `assignment` for how often a record
may be linked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from gemel.carole.engine.run.specified import refuse_unidentified
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.keys.noise import AssessmentKeys
from gemel.common.parties import Side
from gemel.common.specification import BlockingRule, Custodian, Custodians, FieldSpec, Retention, Specification
from gemel.common.specification.model.content import PROJECT_PATTERN, LinkSpec
from gemel.common.specification.model.defaults import IN_BLOCKS, Mode
from gemel.common.specification.model.leakage import LeakageSpec
from gemel.common.specification.model.section import MAX_COLUMN_NAME
from gemel.coordinator.draft.accepted_rules import accepted_fields
from gemel.coordinator.draft.blocking_rules import PAIRS_PER_ROW, Proposal
from gemel.coordinator.draft.compared_fields import ProposedFields, propose_assignment, propose_fields
from gemel.coordinator.draft.grown_file import grown
from gemel.coordinator.draft.judged_rules import JudgedRules, keyed, measured_limits
from gemel.coordinator.draft.shared_columns import identifier_of, text_of
from gemel.coordinator.truth_columns import Truth
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.cleaning.own_copies import kept_fields, own_copies
from gemel.custodian.leakage_report import Gate

SAME_RECORDS = (
    "BOTH FILES HOLD THE SAME RECORDS: every record matches itself, and a linkage of them shows nothing of how two"
    " files would be linked."
)
"""What a draft or a rehearsal states then."""


def hold_the_same(alice: pl.DataFrame, bob: pl.DataFrame, fields: Sequence[FieldSpec]) -> bool:
    """Whether the rows of two files are the same in all compared columns, in whatever order.

    Rows are compared by 64-bit hashes: two different files of a million rows would be taken for one with probability
    below 1e-6 if they differed in one row.
    """
    columns = [[name for field in fields for name in field.columns_of(side)] for side in Side]
    if alice.height != bob.height or len(columns[0]) != len(columns[1]):
        return False
    hashes = []
    for frame, names in zip((alice, bob), columns, strict=True):
        table = pl.DataFrame([frame[name].cast(pl.String).alias(str(place)) for place, name in enumerate(names)])
        hashes.append(table.hash_rows(seed=1).sort())
    return hashes[0].equals(hashes[1])


ALL_PAIRS = 50_000_000
"""Up to so many pairs all are compared: it takes seconds, and blocking loses matches."""
_LEAKAGE = LeakageSpec()
_RETENTION = Retention(uploads_days=7, results_days=30, maps_days=90)

_HEAD = """\
A draft by `gemel spec draft`, from the columns both files share. Every choice has its reason above it; read them, \
change what you know better, then `gemel spec check` it and try it out with `gemel rehearse`.
What a kind means, unless the field sets it:
{defaults}"""
_MODE = (
    "open: who receives the signatures sees which values are equal or similar, but cannot read them. `gemel spec"
    " check` explains more."
)
_MODE_BLOCK_KEYED = (
    "block_keyed: who receives the signatures can compare two values inside a block of a blocking rule only. `gemel"
    " spec check` explains it, and `gemel alice leakage` measures what is left. A record is signed for every rule: its"
    " signatures have 256 bits or 128, with which it is linked as with 1024 (`python -m benchmarks bits`)."
)
_MODE_SHARED = (
    "shared: no one sees a signature or a similarity. Each row is cut into three random shares, from which Carole, the"
    " coordinator and a steward compute the comparison levels together; any two of them must not collude. `gemel spec"
    " check` explains it. A record is signed for every rule, in 256 bits or 128, as in mode block_keyed."
)
_COMPUTE = (
    "The two members who compute together with Carole, by their names in the membership list; each runs `gemel compute`"
    " (docs/shared-mode.md)."
)
DRAFTED: tuple[Mode, ...] = ("open", "block_keyed", "shared")
"""Modes of drafts: to send the values themselves is no proposal of ours."""
_RETENTION_COMMENT = "After how many days what is kept is erased. These numbers are placeholders: agree on your own."


class Drafted(NamedTuple):
    """A proposed specification, comments by path for `dump_specification`, and whether custodians would contribute."""

    specification: Specification
    comments: dict[str, str]
    accepted: bool
    """False if a custodian's gate refuses it; True if both accept it, or none was asked."""


def draft(
    alice: pl.DataFrame,
    bob: pl.DataFrame,
    project: str,
    block: bool | None = None,
    mode: Mode | None = "open",
    *,
    bits: int | None = None,
    randomised_response: float = 0.0,
    truth: Truth | None = None,
    gate: Gate | None = None,
    rows: int = 0,
    leakage: LeakageSpec = _LEAKAGE,
    seed: int = 1,
) -> Drafted:
    """Propose a specification for linking two files, or samples of them with the same columns.

    Parameters
    ----------
    block
        Whether to propose blocking rules; None: when there are more than `ALL_PAIRS` pairs, or the mode needs them.
    mode
        None: block_keyed where rules are proposed, else open.
    bits, randomised_response
        Length of the signatures of names and texts (None: as their kind has it, and shorter in modes block_keyed and
        shared) and the probability with which their bits are inverted. Their levels are those that can then be
        distinguished.
    truth
        The columns that name the person, where the files have any: nothing of the draft is made of them.
    gate
        The custodians' leakage gate; rules and fields are changed until it accepts them. None: they are not measured.
    rows
        Records that either file may grow to, where these are samples: the gate measures files of this size, made of
        them, and the pairs of rules are counted in these. 0: the files are measured as they are.
    leakage
        Limits that the draft must meet. Limits for registers that it does not have are drafted from what is measured.
    seed
        Draws the gate's throw-away keys and what it measures; the same files, options and seed give the same draft.

    Raises
    ------
    GemelError
        SPECIFICATION if the files share no column worth comparing, one has no column of identifiers, or such bits carry
        no information; NOT_IDENTIFIED if they share too few; PARAMETER if `bits` is no length of signatures;
        EMPTY_SOURCE if one has no rows; FIELD_MISSING for a column of the truth that is not there. In modes
        block_keyed and shared also if no blocking rule can be found.
    """
    _require_possible(project, block, mode, bits)
    alice, bob = (_usable(frame, side, truth) for side, frame in ((Side.ALICE, alice), (Side.BOB, bob)))
    ours = {column: text_of(alice[column]) for column in alice.columns}
    theirs = {column: text_of(bob[column]) for column in bob.columns}
    identifiers = {Side.ALICE: _identifier(alice, ours, Side.ALICE), Side.BOB: _identifier(bob, theirs, Side.BOB)}
    pairs = alice.height * bob.height
    blocked = (pairs > ALL_PAIRS or mode in IN_BLOCKS) if block is None else block
    separate = blocked and mode != "open"
    drafted = propose_fields(ours, theirs, identifiers, bits, randomised_response, separate=separate)
    if truth is not None:
        drafted.left_out.insert(0, f"{' and '.join(dict.fromkeys((truth.alice, truth.bob)))}: names the person.")
    if not drafted.fields:
        what = "the files share no column that is worth comparing"
        got = f"alice's {', '.join(alice.columns[:40])}; bob's {', '.join(bob.columns[:40])}"
        remedy = "give columns that hold the same the same name, or write the specification by hand"
        raise GemelError(ErrorCode.SPECIFICATION, what, got=got, remedy=remedy)
    unblocked = _specification(project, identifiers, drafted.fields, (), "open", LinkSpec())
    refuse_unidentified(unblocked)
    if hold_the_same(alice, bob, drafted.fields):
        drafted.left_out.insert(0, SAME_RECORDS)
    cleaned = {side: clean(frame, unblocked, side).columns for side, frame in ((Side.ALICE, alice), (Side.BOB, bob))}
    copies = {side: own_copies(columns, kept_fields(unblocked)) for side, columns in cleaned.items()}
    comments = _comments(drafted, identifiers)
    if not blocked:
        why = f"up to {ALL_PAIRS:,} that is quick" if pairs <= ALL_PAIRS else "that takes long"
        comments["blocking"] = (
            f"No rules: all {pairs:,} pairs are compared; {why}, and loses no match. `gemel spec draft --block`"
            " proposes rules."
        )
        assignment, reason = propose_assignment(copies)
        comments |= {"links": reason} if reason else {}
        links = LinkSpec(assignment=assignment)
        return Drafted(_specification(project, identifiers, drafted.fields, (), "open", links), comments, True)

    def specify(fields: Sequence[FieldSpec], proposals: Sequence[Proposal]) -> Specification:
        chosen = mode or ("block_keyed" if proposals else "open")
        links = LinkSpec(assignment=propose_assignment(copies, chosen)[0])
        rules = tuple(proposal.rule for proposal in proposals)
        return _specification(project, identifiers, fields, rules, chosen, links, leakage)

    keys = AssessmentKeys.of_number(seed)
    measure = None if gate is None else keyed(gate, keys)

    measured = {side: grown(columns, rows, keys.generator(f"grown {side}")) for side, columns in cleaned.items()}
    accepted = accepted_fields(
        drafted.fields, cleaned, specify, measure, block_keyed=mode != "open", measured=measured, leakage=leakage
    )
    judged, kept = accepted.rules, {field.name for field in accepted.fields}
    largest = max(len(column) for columns in measured.values() for column in columns.values())
    leakage, limits = measured_limits(judged.reports, leakage, largest)
    spec = specify(accepted.fields, judged.proposals)
    drafted.comments = [
        sentence for field, sentence in zip(drafted.fields, drafted.comments, strict=True) if field.name in kept
    ]
    drafted.left_out += [f"{field.name}: see `blocking`." for field in drafted.fields if field.name not in kept]
    drafted.fields = list(accepted.fields)
    comments = _comments(drafted, identifiers) | ({"leakage": limits} if limits else {})
    counted = math.prod(max(map(len, columns.values())) for columns in measured.values())
    comments["blocking"] = _blocking_comment(counted, judged, accepted.steps, largest, seed)
    for position, proposal in enumerate(judged.proposals):
        comments[f"blocking[{position}]"] = f"{proposal.pairs:,} pairs."
    if spec.mode == "shared":
        comments |= {"mode": _MODE_SHARED, "compute": _COMPUTE}
    elif spec.in_blocks:
        comments["mode"] = _MODE_BLOCK_KEYED
    _, reason = propose_assignment(copies, spec.mode)
    comments |= {"links": reason} if reason else {}
    return Drafted(spec, comments, judged.accepted)


def drafted_mode(mode: str | None, where: str) -> Mode | None:
    """The mode of a draft by its name; None where none is asked for."""
    for known in DRAFTED:
        if mode == known:
            return known
    if mode is None:
        return None
    raise parameter(where, "a draft is of mode open, block_keyed or shared", str(mode)[:40])


def _require_possible(project: str, block: bool | None, mode: Mode | None, bits: int | None) -> None:
    if not re.fullmatch(PROJECT_PATTERN, project):
        remedy = "use 1 to 64 of a-z, 0-9 and -, beginning with a letter or digit"
        raise parameter("project", "this cannot be a project's name", repr(project[:80]), remedy)
    if mode in IN_BLOCKS and block is False:
        raise parameter(
            "mode", f"mode {mode} needs blocking rules", "no blocking", "let it propose rules, or draft for mode open"
        )
    if bits is not None and (bits % 64 or not 64 <= bits <= 8192):
        remedy = "give 1024, or 256 to let Carole see less"
        raise parameter("bits", "signatures have a multiple of 64 bits, from 64 to 8192", str(bits), remedy)


def _usable(frame: pl.DataFrame, side: Side, truth: Truth | None) -> pl.DataFrame:
    """The columns that a specification can name, without the truth."""
    if frame.is_empty():
        raise GemelError(
            ErrorCode.EMPTY_SOURCE, "the file has no rows", where=f"{side}'s file", got=f"{frame.width} columns, 0 rows"
        )
    named = [column for column in frame.columns if 0 < len(column) <= MAX_COLUMN_NAME]
    if truth is None:
        return frame.select(named)
    if truth.of(side) not in frame.columns:
        what = f"there is no column {truth.of(side)!r}"
        got = f"columns {', '.join(frame.columns[:40])}"
        remedy = "name the column of the truth as it stands in the file"
        raise GemelError(ErrorCode.FIELD_MISSING, what, where=f"{side}'s file", got=got, remedy=remedy)
    return frame.select(column for column in named if column != truth.of(side))


def _identifier(frame: pl.DataFrame, texts: dict[str, pl.Series | None], side: Side) -> str:
    identifier = identifier_of(frame, texts)
    if identifier is None:
        what = "no column identifies the rows: none has a value of its own in every row"
        got = f"the columns {', '.join(frame.columns[:40])}"
        remedy = "add a column with a number of its own for each row, named id"
        raise GemelError(ErrorCode.SPECIFICATION, what, where=f"{side}'s file", got=got, remedy=remedy)
    return identifier


def _specification(
    project: str,
    identifiers: dict[Side, str],
    fields: Sequence[FieldSpec],
    rules: tuple[BlockingRule, ...],
    mode: Mode,
    links: LinkSpec,
    leakage: LeakageSpec = _LEAKAGE,
) -> Specification:
    return Specification(
        version=1,
        project=project,
        mode=mode,
        custodians=Custodians(
            alice=Custodian(identifier=identifiers[Side.ALICE]), bob=Custodian(identifier=identifiers[Side.BOB])
        ),
        fields=tuple(fields),
        blocking=rules,
        links=links,
        leakage=leakage,
        retention=_RETENTION,
    )


def _comments(drafted: ProposedFields, identifiers: dict[Side, str]) -> dict[str, str]:
    kinds = {known.kind: known.defaults for known in drafted.fields}
    defaults = "\n".join(
        f"- {kind}: {d.meaning}; describes {d.describes}; cleaned by {', '.join(d.clean)}; tokens {d.tokens},"
        f" {d.bits} bits, levels {d.levels}"
        for kind, d in kinds.items()
    )
    whole = ("Only", SAME_RECORDS)
    left_out = "\n".join(line if line.startswith(whole) else f"Left out: {line}" for line in drafted.left_out)
    return {
        "": _HEAD.format(defaults=defaults),
        "mode": _MODE,
        "custodians": "The columns with each custodian's own identifiers. They stay with the custodian.",
        "fields": left_out,
        "retention": _RETENTION_COMMENT,
        **{f"fields[{position}]": comment for position, comment in enumerate(drafted.comments)},
    }


def _blocking_comment(pairs: int, judged: JudgedRules, steps: Sequence[str], rows: int, seed: int) -> str:
    if not judged.proposals:
        return f"No rule could be found: none of the fields can block. All {pairs:,} pairs are compared."
    comment = (
        f"Of {pairs:,} pairs, those are compared that agree on the keys of at least one rule. The rules are those that"
        f" find most second records of the same people, imagined with moves, marriages and errors, for at most"
        f" {PAIRS_PER_ROW} pairs per row each."
    )
    if not judged.verdict:
        return comment
    changes = [f"Changed until the gates accepted: {step}" for step in (*steps, *judged.steps)]
    return "\n".join(
        [comment, *changes, f"Measured on files of {rows:,} records, drawn by --seed {seed}. {judged.verdict}"]
    )
