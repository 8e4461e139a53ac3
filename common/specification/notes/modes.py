"""What a mode lets the linkage unit see, in the words of screens and reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gemel.common.language.message_words import listed
from gemel.common.parties import Side
from gemel.common.specification.model.defaults import Mode
from gemel.common.specification.model.granted_variables import Transfer
from gemel.common.specification.model.resolution import ResolutionSpec
from gemel.common.specification.validation.specification import Specification

SENT: dict[Mode, str] = {
    "open": (
        "Names never leave the custodians, but Carole sees which rows have equal or similar values in each field. "
        "With public counts of names she could guess common ones. Use it with a Carole trusted not to attack them."
    ),
    "block_keyed": (
        "Names never leave the custodians, and Carole can compare two values inside a block only: a row is sent once "
        "per blocking rule, under a pseudonym of that rule. She sees the sizes of blocks and what is equal or similar "
        "within them, and per field small groups of sampled signatures that belong to no row. Codes of variables are "
        "sent separately from all signatures."
    ),
    "shared": (
        "Names never leave the custodians, and no one sees a signature, a similarity or which row agrees with which: "
        "each row is cut into three random shares, from which Carole, the coordinator and a steward compute the "
        "comparison levels together. They see the sizes of blocks, and Carole how many pairs have each pattern of "
        "levels, not which. ANY TWO OF THE THREE TOGETHER could read what Carole has in mode block_keyed: they must "
        "not collude. Codes of variables are sent separately."
    ),
    "trusted": (
        "THE VALUES THEMSELVES ARE SENT to Carole: every compared field of every row, cleaned but not hidden from her. "
        "Use it only where Carole may lawfully see them; mode open sends signatures instead."
    ),
}
JOINED = (
    "The fall-back (resolution: by carole): of the records of candidate pairs, up to a cap, she also learns which "
    "rows of different rules are one record, and can follow their values from block to block, at most as in mode open."
)
"""Added to mode block_keyed where its specification lets Carole join rows herself."""


def capped(resolution: ResolutionSpec) -> str:
    """For how much of a file Carole and the resolver together could undo the protection."""
    share = "all" if resolution.max_joins == 1 else f"up to {resolution.max_joins:.2g} of"
    joins = f"for {share} the joins of a record's rows (resolution.max_joins)"
    if resolution.max_requested is None:
        return joins
    return f"{joins}, of up to {resolution.max_requested:.2g} of the records (max_requested)"


def shared_notes(spec: Specification) -> Iterator[str]:
    rules = listed([rule.name for rule in spec.keyed_rules])
    coordinator, steward = spec.compute.coordinator, spec.compute.steward
    three = f"Carole, {coordinator} (the coordinator) and {steward} (a steward)"
    sizes = (
        "how many rows each block has, padded to a power of two, and which blocks of the two files have one key"
        if spec.padding is not None
        else "how many rows each block has, and which blocks of the two files have one key"
    )
    yield (
        f"Mode shared: each record is sent once per blocking rule ({rules}), cut into three random shares. Each of"
        f" {three} holds two of them, from which it can read nothing by itself: no signature, no similarity, and not"
        " which row agrees with which. Together they compute the comparison levels."
    )
    yield (
        f"ANY TWO OF {three} TOGETHER CAN READ ALL OF IT: every record's keyed signatures inside its blocks, as Carole"
        " has them in mode block_keyed, and the tags. They must be three organisations that do not collude, on machines"
        " that no one administers in common. Two of them with a custodian can read the other file's records, as Carole"
        " with a custodian can in every mode."
    )
    yield (
        f"Each of the three sees {sizes}. A large block of a common key shows that the key is common:"
        " `gemel alice leakage` measures it."
    )
    yield (
        "Carole sees how many candidate pairs have each pattern of comparison levels, which field is how often missing,"
        " and the same of random pairs of sampled rows, each in an order that no one knows: not which pair has which"
        " pattern, and of no pair which rows it is of."
    )
    yield (
        "The coordinator also resolves: it learns which rows are one record, by random handles of each run, and the"
        f" comparison levels of the pairs near a link. It could join rows {capped(spec.resolution)}: each custodian"
        " counts over all runs, and refuses above."
    )
    yield (
        f"Who of the three departs from the protocol ends the run, which names the stage and the two parties between"
        f" which it failed. If {coordinator} or {steward} does not run `gemel compute`, the run waits."
    )


def granted_variables_notes(spec: Specification) -> Iterator[str]:
    """Who receives which columns, the columns that are not assessed, and those that records are compared by."""
    for transfer in spec.release.transfers:
        yield _receives(spec, transfer)
    for transfer in spec.release.transfers:
        yield from _unassessed(spec, transfer)
    for transfer in spec.release.transfers:
        compared = {column for field in spec.fields for column in field.columns_of(transfer.sender)}
        if names := [c for c in spec.release.granted_columns(transfer) if c in compared]:
            yield (
                f"Of the grants, {_columns(names)} that {transfer.recipient} receives of {transfer.sender.title()} also"
                f" {'serves' if len(names) == 1 else 'serve'} to compare records: SUCH VALUES IDENTIFY PEOPLE, and show"
                " where the two files differ about one."
            )


def assessed_columns(spec: Specification, side: Side) -> frozenset[str]:
    """The columns of a custodian's file whose values the assessment counts: of key and sensitive variables. Of a
    harmonised variable it counts the common categories, and the column as the file has it may be finer."""
    if spec.assessment is None:
        return frozenset()
    counted = (v for v in spec.variables_of(side) if v.role in ("key", "sensitive") and not v.categorisation)
    return frozenset(v.column_of(side) for v in counted)


def granted_columns(spec: Specification) -> dict[str, list[dict[str, object]]]:
    """For the report on disclosure risk: of each transfer the columns that are assessed, and those that are not."""
    found: list[dict[str, object]] = []
    for transfer in spec.release.transfers:
        columns, covered = spec.release.granted_columns(transfer), assessed_columns(spec, transfer.sender)
        parts = {
            "assessed": [name for name in columns if name in covered],
            "not_assessed": [name for name in columns if name not in covered],
        }
        found.append({"to": transfer.to, "of": str(transfer.sender), **parts})
    return {"granted": found} if found else {}


def _receives(spec: Specification, transfer: Transfer) -> str:
    columns = spec.release.granted_columns(transfer)
    sender, drawn = transfer.sender.title(), spec.release.drawn_to(transfer)
    which = "linked records and of those in a drawn linkage" if drawn else "linked records"
    start = (
        f"{transfer.recipient[0].upper()}{transfer.recipient[1:]} receives {_columns(columns)} of {sender}'s {which}"
        f" (release.variables): THE VALUES THEMSELVES, sent by {sender} after the release, sealed, so that Carole sees"
        " their padded size only."
    )
    if transfer.to_analyst:
        return f"{start} With them it receives the links' ids and probabilities, and no identifier."
    return f"{start} {transfer.recipient} joins them to its own records by the links' ids."


def _unassessed(spec: Specification, transfer: Transfer) -> Iterator[str]:
    covered = assessed_columns(spec, transfer.sender)
    names = [column for column in spec.release.granted_columns(transfer) if column not in covered]
    if not names:
        return
    why = (
        "there is no assessment"
        if spec.assessment is None
        else "the assessment counts variables of the roles key and sensitive, a harmonised one by its common categories"
    )
    verb, them = ("is", "it") if len(names) == 1 else ("are", "them")
    yield (
        f"NOT ASSESSED: {_columns(names)} that {transfer.recipient} receives of {transfer.sender.title()} {verb}"
        f" released without an assessment of what combinations of values reveal: {why}. Give {them} such a role among"
        f" `variables`, with limits, or approve {them} only if the recipient may hold {them} of every linked person."
    )


def _columns(names: Sequence[str]) -> str:
    return f"the column{'s' if len(names) > 1 else ''} {listed(names)}"
