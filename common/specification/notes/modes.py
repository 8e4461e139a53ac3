"""What a mode lets the linkage unit see, in the words of screens and reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from gemel.common.language.message_words import listed
from gemel.common.parties import Side
from gemel.common.specification.model.defaults import Mode
from gemel.common.specification.model.granted_variables import Transfer
from gemel.common.specification.model.resolution import ResolutionSpec
from gemel.common.specification.notes.wording import note
from gemel.common.specification.validation.specification import Specification

SENT: dict[Mode, str] = {mode: note(f"sent_{mode}") for mode in get_args(Mode)}
JOINED = note("sent_joined")
"""Added to mode block_keyed where its specification lets Carole join rows herself."""


def capped(resolution: ResolutionSpec) -> str:
    """For how much of a file Carole and the resolver together could undo the protection."""
    share = "all" if resolution.max_joins == 1 else f"up to {resolution.max_joins:.2g} of"
    joins = f"for {share} the joins of a record's rows (resolution.max_joins)"
    if resolution.max_requested is None:
        return joins
    return f"{joins}, of up to {resolution.max_requested:.2g} of the records (max_requested)"


def shared_notes(spec: Specification) -> Iterator[str]:
    coordinator, steward = spec.compute.coordinator, spec.compute.steward
    three = f"Carole, {coordinator} (the coordinator) and {steward} (a steward)"
    yield note("shared", rules=listed([rule.name for rule in spec.keyed_rules]), three=three)
    yield note("two_of_three", three=three)
    yield note("shared_sizes", padded="," if spec.padding is None else ", padded to a power of two,")
    yield note("shared_patterns")
    yield note("shared_resolver", capped=capped(spec.resolution))
    yield note("shared_deviation", coordinator=coordinator, steward=steward)


def granted_variables_notes(spec: Specification) -> Iterator[str]:
    """Who receives which columns, the columns that are not assessed, and those that records are compared by."""
    for transfer in spec.release.transfers:
        yield _receives(spec, transfer)
    for transfer in spec.release.transfers:
        yield from _unassessed(spec, transfer)
    for transfer in spec.release.transfers:
        compared = {column for field in spec.fields for column in field.columns_of(transfer.sender)}
        if names := [c for c in spec.release.granted_columns(transfer) if c in compared]:
            yield note(
                "compared_columns",
                columns=_columns(names),
                recipient=transfer.recipient,
                sender=transfer.sender.title(),
                serve="serves" if len(names) == 1 else "serve",
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
    yield note(
        "unassessed_columns",
        columns=_columns(names),
        recipient=transfer.recipient,
        sender=transfer.sender.title(),
        verb=verb,
        why=why,
        them=them,
    )


def _columns(names: Sequence[str]) -> str:
    return f"the column{'s' if len(names) > 1 else ''} {listed(names)}"
