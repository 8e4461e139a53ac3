"""A specification in words, for those who approve it: what is compared, who receives what, what it lets whom see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tryst.common.message_words import listed
from tryst.common.parties import Side
from tryst.common.specification import Specification, specification_digest, specification_notes
from tryst.common.specification.model.granted_variables import VariableGrant
from tryst.common.specification.notes.modes import JOINED, SENT

_KINDS = {
    "name": "names, compared by similarity",
    "text": "text, compared by similarity",
    "date": "dates",
    "number": "numbers",
    "code": "codes",
    "category": "categories",
}
_RECEIVES = {
    "links": "the links of its own rows",
    "draws": "the links of its own rows, and drawn linkages",
    "pairs": "the links, and every pair that came near to one",
    "statistics": "statistics only",
    "nothing": "nothing",
}


def specification_shown(spec: Specification, text: str) -> dict[str, Any]:
    """What a page shows of a specification; `text`: as it is written."""
    return {
        "project": spec.project,
        "mode": spec.mode,
        "seen": f"{SENT[spec.mode]} {JOINED}" if spec.resolution.joined else SENT[spec.mode],
        "serious": spec.mode == "trusted" or spec.resolution.joined,
        "fields": [_field(spec, place) for place in range(len(spec.fields))],
        "rules": [rule.name for rule in spec.blocking],
        "receives": _receives(spec),
        "leakage": list(_leakage(spec)),
        "retention": [
            f"what the custodians have sent: {spec.retention.uploads_days} days",
            f"the result: {spec.retention.results_days} days",
            f"the custodians' maps from rows to their records: {spec.retention.maps_days} days",
        ],
        "notes": specification_notes(spec),
        "digest": specification_digest(spec).hex(),
        "text": text,
    }


def _field(spec: Specification, place: int) -> dict[str, str]:
    field = spec.fields[place]
    columns = {str(side): " + ".join(field.columns_of(side)) for side in Side}
    return {"name": field.name, "kind": _KINDS[field.kind], **columns}


def _leakage(spec: Specification) -> Iterator[str]:
    """What Carole may be able to learn at most, who measures it, and what follows above it."""
    allowed = spec.leakage
    if spec.mode == "trusted":
        yield "Nothing is measured in mode trusted: Carole sees the values."
        return
    limit = f"{allowed.limit:.1%} of a field's values named by known attacks, above guessing"
    if not allowed.refuses(spec.mode):
        yield f"The limit is {limit}, and is a warning: the custodians' services send their records without measuring."
        yield "A custodian can measure its own file by `tryst alice leakage` or `tryst bob leakage` before it approves."
        return
    yield (
        "Each custodian's service attacks the signatures of its own records as Carole could. It sends them within the "
        f"limit of {limit}; above it, its operator has to give a reason."
    )
    for share, of_whom in ((allowed.partial_register, "some"), (allowed.full_register, "all")):
        if share is not None:
            yield f"Whoever has {of_whom} of these people in a register may recognise {share:.1%} of them at most."
    yield (
        "What was measured is in Carole's audit log, where stewards read it. A coordinator sees whether a custodian "
        "waits because of it, and no figure."
    )


def _receives(spec: Specification) -> list[tuple[str, str]]:
    release = spec.release
    found = [(str(side).capitalize(), _RECEIVES[getattr(release, str(side))]) for side in Side]
    granted = {grant.to: _granted(grant) for grant in release.variables}
    found = [(who, f"{what}{granted.pop(who.lower(), '')}") for who, what in found]
    found.append(("The coordinator", _RECEIVES[release.coordinator]))
    return found + [(f"The analyst {to}", f"the links by ids{columns}") for to, columns in granted.items()]


def _granted(grant: VariableGrant) -> str:
    """The columns that a recipient receives, as the end of a sentence."""
    given = [(side.title(), columns) for side in Side if (columns := grant.columns_of(side))]
    return "".join(f"; of {side}'s linked records {listed(columns)}" for side, columns in given)
