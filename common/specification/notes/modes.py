"""What a mode lets the linkage unit see, in the words of screens and reports."""

from __future__ import annotations

from gemel.common.specification.model.defaults import Mode
from gemel.common.specification.model.resolution import ResolutionSpec

SENT: dict[Mode, str] = {
    "open": (
        "Names never leave the custodians, but Carole sees which rows have equal or similar values in each field. "
        "With public counts of names she could guess common ones. Use it with a Carole trusted not to attack them."
    ),
    "block_keyed": (
        "Names never leave the custodians, and Carole can compare two values inside a block only: a row is sent once "
        "per blocking rule, under a pseudonym of that rule. She sees the sizes of blocks and what is equal or similar "
        "within them, and per field small groups of sampled signatures that belong to no row. Codes of variables are "
        "sent separately from all signatures."
    ),
    "shared": (
        "Names never leave the custodians, and no one sees a signature, a similarity or which row agrees with which: "
        "each row is cut into three random shares, from which Carole, the coordinator and a steward compute the "
        "comparison levels together. They see the sizes of blocks, and Carole how many pairs have each pattern of "
        "levels, not which. ANY TWO OF THE THREE TOGETHER could read what Carole has in mode block_keyed: they must "
        "not collude. Codes of variables are sent separately."
    ),
    "trusted": (
        "THE VALUES THEMSELVES ARE SENT to Carole: every compared field of every row, cleaned but not hidden from her. "
        "Use it only where Carole may lawfully see them; mode open sends signatures instead."
    ),
}
"""By mode, one or two sentences."""

JOINED = (
    "The fall-back (resolution: by carole): of the records of candidate pairs, up to a cap, she also learns which "
    "rows of different rules are one record, and can follow their values from block to block, at most as in mode open."
)
"""Added to mode block_keyed where its specification lets Carole join rows herself."""


def capped(resolution: ResolutionSpec) -> str:
    """For how much of a file Carole and the resolver together could undo the protection."""
    share = "all" if resolution.max_joins == 1 else f"up to {resolution.max_joins:.2g} of"
    joins = f"for {share} the joins of a record's rows (resolution.max_joins)"
    if resolution.max_requested is None:
        return joins
    return f"{joins}, of up to {resolution.max_requested:.2g} of the records (max_requested)"
