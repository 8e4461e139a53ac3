"""What everyone who approves a specification should know about it: all notes, the most serious first."""

from __future__ import annotations

from tryst.common.specification.notes.disclosure import disclosure_notes
from tryst.common.specification.notes.linkage import linkage_notes
from tryst.common.specification.validation.specification import Specification


def specification_notes(spec: Specification) -> tuple[str, ...]:
    """Remarks and warnings on a valid specification: what it shows the linkage unit, and what may disappoint.

    Returns
    -------
    tuple of str
        Sentences without line breaks, the most serious first.
    """
    return (*disclosure_notes(spec), *linkage_notes(spec))
