"""A held result that others have overtaken: what was released since it was assessed is compared before it is released.

Its report does not have these releases, so that a steward who reads it cannot know what they tell together.
"""

from __future__ import annotations

from collections.abc import Iterator

from gemel.carole.store import Store
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.specification import load_specification


def refuse_unassessed(store: Store, name: str, run: str) -> None:
    """Refuse the release of a held result that breaches the limit on differences with one that was released since.

    Raises
    ------
    GemelError
        WRONG_STATE; NOT_FOUND for an unknown project.
    """
    content = store.releases.held_counts(name, run)
    if content is None:
        return
    spec = load_specification(store.projects.specification(name), name)
    if spec.assessment is None:
        return
    # Here and not above: the assessment brings all of Carole's numbers along, more than the rest of her service
    # together. She starts and serves without them; her worker has them.
    from gemel.carole.assessment.differences import EarlierRelease, differences
    from gemel.carole.assessment.ladders import ladders_of
    from gemel.carole.assessment.released_counts import unpack

    def since() -> Iterator[EarlierRelease]:
        for trace in store.releases.since(name, run):
            found = store.releases.counts(trace)
            if found is not None:
                yield EarlierRelease(trace.run, trace.project, None, unpack(found))

    found = differences(spec.variables, unpack(content), since(), ladders_of(spec))
    measure = found.measures.get("differences")
    if measure is not None and measure.value > spec.assessment.judged_limits["differences"]:
        raise GemelError(
            ErrorCode.WRONG_STATE,
            "another result of the same custodians was released since this one was assessed, and its report does not"
            " have what the two tell together",
            where=f"{name}, run {run}",
            got=found.reason,
            remedy="refuse it; the coordinator amends the specification and starts a run, which is assessed with both",
        )
