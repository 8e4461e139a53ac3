"""What a run claims of its links, in words: always with the interval."""

from __future__ import annotations

from gemel.common.documents.linkage_document import ClaimedRange, Claims
from gemel.common.language.language import gettext
from gemel.common.language.numbers import share, written

_PER_CENT = "\u00a0%"
_WHOLE = ",.0f"


def ends(found: ClaimedRange) -> str:
    """``93.0 to 98.1 %``."""
    low, high = share(found.lower).removesuffix(_PER_CENT), share(found.upper)
    return gettext("{low} to {high}").format(low=low, high=high)


def claimed_share(found: ClaimedRange) -> str:
    """``96.2 % (93.0 to 98.1 %)``; of few links the ends alone."""
    if found.value is None:
        return ends(found)
    return gettext("{value} ({ends})").format(value=share(found.value), ends=ends(found))


def claimed_quality(claims: Claims | None) -> dict[str, str] | None:
    """Precision and recall; None where there is no link, or nothing is claimed of the links."""
    if claims is None or claims.precision is None or claims.recall is None:
        return None
    return {"precision": claimed_share(claims.precision), "recall": claimed_share(claims.recall)}


def claimed_sentence(claims: Claims | None) -> str:
    """Precision and recall in a sentence; empty where nothing is claimed."""
    quality = claimed_quality(claims)
    if claims is None or quality is None:
        return ""
    words = gettext(
        "By the model {precision} of the links are right, and they include {recall} of all matches; {people} people"
        " have a match (95 % intervals)."
    )
    return words.format(**quality, people=_number(claims.people))


def _number(found: ClaimedRange) -> str:
    """``1,234 (1,190 to 1,310)``."""
    shown = gettext("{low} to {high}").format(low=written(found.lower, _WHOLE), high=written(found.upper, _WHOLE))
    if found.value is None:
        return shown
    return gettext("{value} ({ends})").format(value=written(found.value, _WHOLE), ends=shown)
