"""The measures that the combined output alone decides.

Neither those of what a run estimates of its own quality, nor those of records that a custodian may have invented, nor
those of a joint distribution.
"""

from gemel.common.documents.disclosure_measures import MEASURES

RELEASE_MEASURES = {"differences"}
"""Decided by earlier releases beside this one."""

OUTPUT_MEASURES = {
    name
    for name, measure in MEASURES.items()
    if measure.needs not in ("quality", "joint model", "released joint") and not measure.own_limit
}
