"""A specification in words, for those who approve it: what is compared, who receives what, what it lets whom see."""

from __future__ import annotations

from typing import Any

from gemel.common.language import clauses, gettext, listed, marked, ngettext
from gemel.common.parties import Side
from gemel.common.specification import Specification, specification_digest, specification_notes
from gemel.common.specification.model.granted_variables import VariableGrant
from gemel.common.specification.notes.modes import JOINED, SENT

_KINDS = {
    "name": marked("names, compared by similarity"),
    "text": marked("text, compared by similarity"),
    "date": marked("dates"),
    "number": marked("numbers"),
    "code": marked("codes"),
    "category": marked("categories"),
}
_RECEIVES = {
    "links": marked("the links of its own rows"),
    "draws": marked("the links of its own rows, and drawn linkages"),
    "pairs": marked("the links, and every pair that came near to one"),
    "statistics": marked("statistics only"),
    "nothing": marked("nothing"),
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
        "leakage": spec.leakage,
        "retention": [
            _kept(gettext("what the custodians have sent"), spec.retention.uploads_days),
            _kept(gettext("the result"), spec.retention.results_days),
            _kept(gettext("the custodians' maps from rows to their records"), spec.retention.maps_days),
        ],
        "notes": specification_notes(spec),
        "digest": specification_digest(spec).hex(),
        "text": text,
    }


def _field(spec: Specification, place: int) -> dict[str, str]:
    field = spec.fields[place]
    columns = {str(side): " + ".join(field.columns_of(side)) for side in Side}
    return {"name": field.name, "kind": gettext(_KINDS[field.kind]), **columns}


def _kept(what: str, days: int) -> str:
    return ngettext("{what}: {days} day", "{what}: {days} days", days).format(what=what, days=days)


def _receives(spec: Specification) -> list[tuple[str, str]]:
    release = spec.release
    granted = {grant.to: _granted(grant) for grant in release.variables}
    found = []
    for side in Side:
        what = gettext(_RECEIVES[getattr(release, str(side))])
        found.append((side.title(), clauses([what, *granted.pop(str(side), [])])))
    found.append((gettext("The coordinator"), gettext(_RECEIVES[release.coordinator])))
    for to, columns in granted.items():
        what = clauses([gettext("the links by ids"), *columns])
        found.append((gettext("The analyst {name}").format(name=to), what))
    return found


def _granted(grant: VariableGrant) -> list[str]:
    clause = gettext("of {custodian}'s linked records {columns}")
    given = [(side.title(), columns) for side in Side if (columns := grant.columns_of(side))]
    return [clause.format(custodian=side, columns=listed(columns)) for side, columns in given]
