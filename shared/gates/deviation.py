"""The error of a party that deviated from the protocol: at which stage, on which link, and who it can be."""

from __future__ import annotations

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import ComputeParty

_REMEDY = "find out with the others whose program or machine was changed, then begin the run again"


def deviation(
    stage: str, what: str, link: tuple[ComputeParty, ComputeParty], suspects: tuple[ComputeParty, ...]
) -> GemelError:
    """A deviation that one party has found.

    Parameters
    ----------
    stage
        What was computed.
    what
        What does not hold between two parties, without a full stop.
    link
        The two whose messages do not fit.
    suspects
        Who can have deviated, as the party that reports it sees it: never itself.
    """
    first, second = sorted(link)
    return GemelError(
        ErrorCode.DEVIATION,
        f"{what} between {first.title} and {second.title}",
        where=stage,
        got=f"a deviation of {' or '.join(party.title for party in sorted(suspects))}",
        remedy=_REMEDY,
    )
