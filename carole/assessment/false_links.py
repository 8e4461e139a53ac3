"""The share of false links as a measure with a limit, from the estimates that a run makes of its own quality.

No release discloses more by false links, but whoever uses it takes two people for one. The estimate that supposes least
is judged: the check field's, or else the decoys', or else the bootstrap's.
"""

from __future__ import annotations

from collections.abc import Mapping

from gemel.carole.assessment.measures import Measure
from gemel.common.documents.linkage_document import LinkageDocument, ShareInterval
from gemel.common.specification import Specification

_PREFERRED = ("check_field", "decoys", "bootstrap")


def false_links(spec: Specification, linkage: LinkageDocument | None) -> Mapping[str, Measure]:
    """The measure `false_links`, where the specification requests an estimate of the links' quality.

    Parameters
    ----------
    linkage
        Of the run; None where it is not known.

    Returns
    -------
    Mapping
        Empty without a request. Where there are links but no estimate, any share is possible, and the upper end is 1.
    """
    if spec.quality is None or linkage is None:
        return {}
    if linkage.links == 0:
        return {"false_links": Measure(0.0, "no link", 0.0, 0.0)}
    estimated = estimated_precision(linkage)
    if estimated is not None:
        return {"false_links": _measure(*estimated)}
    claimed = 0.0 if linkage.expected is None else 1 - linkage.expected.precision
    return {"false_links": Measure(claimed, "the model's claim; there is no estimate beside it", 0.0, 1.0)}


def estimated_precision(linkage: LinkageDocument) -> tuple[ShareInterval, str] | None:
    """The estimate of the share of true links that supposes least, and its method; None where there is none."""
    by_method = {estimate.method: estimate.precision for estimate in linkage.quality}
    for method in _PREFERRED:
        if method in by_method:
            return by_method[method], method.replace("_", " ")
    return None


def _measure(precision: ShareInterval, method: str) -> Measure:
    return Measure(1 - precision.value, f"{method}, with a 95 % interval", 1 - precision.upper, 1 - precision.lower)
