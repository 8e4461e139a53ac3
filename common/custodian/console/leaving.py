"""What would leave a custodian under a specification: each message to Carole, its content, its columns and its size."""

from __future__ import annotations

from dataclasses import dataclass

from tryst.common.custodian.source.reading import compared_columns
from tryst.common.encoding.expected_layout import bounded_counts, expected_layout
from tryst.common.message_words import listed
from tryst.common.parties import Side
from tryst.common.specification import Specification

_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_SMALL = "less than 10 KiB"
_CONTENT = {
    "open": "a keyed signature of each value of each row, and each row's blocking keys, keyed",
    "block_keyed": "for each blocking rule the rows that have its key, with keyed signatures of their values and under"
    " pseudonyms of that rule; samples of signatures of no row",
    "trusted": "the cleaned values themselves, row by row",
}


@dataclass(frozen=True)
class Message:
    """One kind of message, which goes to Carole.

    Attributes
    ----------
    when
        At which step it is sent.
    what
        What is in it.
    columns
        Of your source that it is made of; empty for none.
    size
        In words.
    """

    when: str
    what: str
    columns: str
    size: str


def messages(spec: Specification, side: Side, records: int, sent: int) -> list[Message]:
    """The messages to Carole, in their order.

    Parameters
    ----------
    records
        Of the source, as they were read.
    sent
        Bytes of the contribution, if it was signed already; else 0, and its size is bounded by `records`.
    """
    largest = expected_layout(bounded_counts(records, spec), spec, side).total_bytes
    coded = "; each row's categories of variables as keyed codes" if spec.variables_of(side) else ""
    found = [
        Message(
            "you approve",
            "your signature; the number of records, and in a line where they come from, if you have configured that",
            "",
            _SMALL,
        ),
        Message(
            "the seed is agreed",
            "public keys, and digests of the signatures of public test records, so that keys that differ are found",
            "",
            _SMALL,
        ),
        Message(
            "your records are sent",
            _CONTENT[spec.mode] + coded,
            listed(compared_columns(spec, side)),
            in_units(sent) if sent else f"at most {in_units(largest)}",
        ),
    ]
    if spec.leakage.refuses(spec.mode):
        found.append(
            Message(
                "your records are sent",
                "the figure that your service has measured against the limit of leakage, and your reason if you"
                " override it: both enter the audit log",
                "",
                _SMALL,
            )
        )
    if spec.mode == "block_keyed":
        reader = "Carole" if spec.resolution.joined else "the coordinator"
        coded = ", with the codes of their variables" if spec.latent is not None else ""
        found.append(
            Message(
                "a run asks for handles",
                f"of the rows of candidate pairs, which of them are of one record{coded}: sealed to {reader}, as many"
                " as the specification's caps allow",
                "",
                "some bytes for each row",
            )
        )
    for transfer in (each for each in spec.release.transfers if each.sender is side):
        columns = listed(spec.release.granted_columns(transfer))
        what = f"the values of these columns of linked records, sealed to {transfer.recipient}"
        found.append(Message("the result is released", what, columns, "by the number of links"))
    found.append(
        Message("at each step", "your countersignature of her audit log, and the kind of what blocks you", "", _SMALL)
    )
    return found


def in_units(size: int) -> str:
    """A number of bytes, to three digits."""
    for unit, name in _UNITS:
        if size >= unit:
            return f"{size / unit:.3g} {name}" if size < 999.5 * unit else f"{size // unit:,} {name}"
    return f"{size} bytes"
