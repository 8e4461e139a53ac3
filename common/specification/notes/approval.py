"""All notes for those who approve a specification, the most serious first."""

from __future__ import annotations

from gemel.common.specification.notes.cryptography import cryptography_notes
from gemel.common.specification.notes.disclosure import disclosure_notes
from gemel.common.specification.notes.linkage import linkage_notes
from gemel.common.specification.validation.specification import Specification


def specification_notes(spec: Specification) -> tuple[str, ...]:
    """Notes and warnings on a valid specification: what it reveals to the linkage unit, and risks to linkage quality.

    Returns
    -------
    tuple of str
        Sentences without line breaks, the most serious first.
    """
    return (*disclosure_notes(spec), *linkage_notes(spec), *cryptography_notes(spec))
