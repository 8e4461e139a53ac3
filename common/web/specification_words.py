"""A specification in words, for those who approve it: what is compared, who receives what, what it lets whom see."""

from __future__ import annotations

from typing import Any

from tryst.common.parties import Side
from tryst.common.specification import Specification, specification_digest, specification_notes
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


def _receives(spec: Specification) -> list[tuple[str, str]]:
    release = spec.release
    found = [(str(side).capitalize(), _RECEIVES[getattr(release, str(side))]) for side in Side]
    found.append(("The coordinator", _RECEIVES[release.coordinator]))
    return found
