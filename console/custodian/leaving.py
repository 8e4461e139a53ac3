"""What would leave a custodian under a specification: each message to Carole, its content, its columns and its size."""

from __future__ import annotations

from dataclasses import dataclass

from gemel.common.language import clauses, gettext, listed, marked, ngettext, written
from gemel.common.parties import Side
from gemel.common.specification import Specification
from gemel.custodian.encoding.expected_layout import bounded_counts, expected_layout
from gemel.custodian.source.reading import compared_columns

_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_SMALL = marked("less than 10 KiB")
_CONTENT = {
    "open": marked("a keyed signature of each value of each row, and each row's blocking keys, keyed"),
    "block_keyed": marked(
        "for each blocking rule the rows that have its key, with keyed signatures of their values and under pseudonyms"
        " of that rule; samples of signatures of no row"
    ),
    "shared": marked(
        "for each blocking rule the rows that have its key, in random shares, of which no single party can read"
        " anything: keyed signatures of their values, and which values are missing; the digests of their blocks, keyed;"
        " samples of rows, likewise shared"
    ),
    "trusted": marked("the cleaned values themselves, row by row"),
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
    content = [gettext(_CONTENT[spec.mode])]
    if spec.variables_of(side):
        content.append(gettext("each row's categories of variables as keyed codes"))
    found = [
        _small(
            gettext("you approve"),
            gettext(
                "your signature; the number of records, and in a line where they come from, if you have configured that"
            ),
        ),
        _small(
            gettext("the seed is agreed"),
            gettext(
                "public keys, and digests of the signatures of public test records, so that keys that differ are found"
            ),
        ),
        Message(
            gettext("your records are sent"),
            clauses(content),
            listed(compared_columns(spec, side)),
            in_units(sent) if sent else gettext("at most {size}").format(size=in_units(largest)),
        ),
    ]
    if spec.leakage.refuses(spec.mode):
        found.append(
            _small(
                gettext("your records are sent"),
                gettext(
                    "the figure that your service has measured against the limit of leakage, and your reason if you"
                    " override it: both enter the audit log"
                ),
            )
        )
    if spec.in_blocks:
        handles = _handles(spec)
        found.append(Message(gettext("a run asks for handles"), handles, "", gettext("some bytes for each row")))
    for transfer in (each for each in spec.release.transfers if each.sender is side):
        columns = listed(spec.release.granted_columns(transfer))
        what = gettext("the values of these columns of linked records, sealed to {recipient}")
        found.append(
            Message(
                gettext("the result is released"),
                what.format(recipient=transfer.recipient),
                columns,
                gettext("by the number of links"),
            )
        )
    countersigned = gettext("your countersignature of her audit log, and the kind of what blocks you")
    found.append(_small(gettext("at each step"), countersigned))
    return found


def _small(when: str, what: str) -> Message:
    return Message(when, what, "", gettext(_SMALL))


def _handles(spec: Specification) -> str:
    if spec.latent is not None:
        form = gettext(
            "of the rows of candidate pairs, which of them are of one record, with the codes of their variables: sealed"
            " to {reader}, as many as the specification's caps allow"
        )
    else:
        form = gettext(
            "of the rows of candidate pairs, which of them are of one record: sealed to {reader}, as many as the"
            " specification's caps allow"
        )
    return form.format(reader="Carole" if spec.resolution.joined else gettext("the coordinator"))


def in_units(size: int) -> str:
    """A number of bytes, to three digits."""
    for unit, name in _UNITS:
        if size >= unit:
            number = written(size / unit, ".3g") if size < 999.5 * unit else written(size // unit, ",d")
            return f"{number} {name}"
    return ngettext("{size} byte", "{size} bytes", size).format(size=size)
