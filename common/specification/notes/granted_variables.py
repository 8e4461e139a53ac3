"""What `release.variables` lets whom see of whose records, and which of it the assessment does not cover."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gemel.common.language.message_words import listed
from gemel.common.parties import Side
from gemel.common.specification.model.granted_variables import Transfer
from gemel.common.specification.validation.specification import Specification


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
    """The columns of a custodian's file whose values the assessment counts: of key and sensitive variables.

    Of a harmonised variable it counts the common categories, and the column as the file has it may be finer.
    """
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
