"""A linkage of mode shared in one process: the custodians' shares, three parties in threads, the resolver's decision.

Each party computes on its own two shares and sends what it would send between services. That they are in one process
protects nothing: it gives the numbers, and not the secrecy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine import Resources
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.latent.known_records import KnownRecords
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.engine.shared.comparing import compare_opened
from gemel.carole.engine.shared.job import RowParts, Terms, assist, lead
from gemel.common.documents.statistics_document import StatisticsDocument
from gemel.common.parties import Side
from gemel.common.progress import Progress
from gemel.common.sharing.compute_parties import ComputeParty
from gemel.common.sharing.local_session import local_parties, together
from gemel.common.sharing.party import Party
from gemel.common.specification import Specification
from gemel.coordinator.api.block_keyed import Sent, resolved
from gemel.coordinator.api.decided_pairs import DecidedPairs
from gemel.custodian.encoding.shared_in_memory import shared_in_memory

NamedRows = tuple[Sent, NDArray[np.int64]]


def link_shared(
    alice: Sent,
    bob: Sent,
    spec: Specification,
    resources: Resources,
    progress: Progress,
    known: KnownRecords,
) -> tuple[DecidedPairs, StatisticsDocument]:
    """Share, compare and decide; parameters as of `link_block_keyed`.

    Raises
    ------
    GemelError
        As the three parties' job, `carole.engine.compare` and the resolver.

    Notes
    -----
    Memory is that of all three parties.
    """
    found, named = compared_on_shares(alice, bob, spec, resources, progress)
    order = np.arange(len(found.pattern))
    return resolved(found, order, named[0], named[1], plan_of(spec), resources, progress, known)


def compared_on_shares(
    alice: Sent, bob: Sent, spec: Specification, resources: Resources, progress: Progress
) -> tuple[Candidates, tuple[NamedRows, NamedRows]]:
    """What Carole has found, and for each custodian what it has sent, in the order of its shares, with the record of
    each pair above the floor."""
    plan = plan_of(spec)
    shared = [shared_in_memory(encoded, spec, side) for (encoded, _), side in zip((alice, bob), Side, strict=True)]
    terms = Terms(b"in one process", plan, resources.memory_bytes // len(ComputeParty))

    def assisting(party: Party) -> None:
        a, b = (part.contributions[party.own] for part in shared)
        assist(party, (a, b), terms, _first_share, lambda stage, done: None)

    def leading(party: Party) -> tuple[Candidates, RowParts]:
        a, b = (part.contributions[party.own] for part in shared)
        led = lead(party, (a, b), terms, _first_share, progress)
        found, _ = compare_opened(led, plan, resources, progress)
        return found, led.parts

    steps: tuple[Callable[[Party], tuple[Candidates, RowParts] | None], ...]
    steps = leading, assisting, assisting
    result, _, _ = together(local_parties(), *steps)
    assert result is not None  # noqa: S101 - of Carole's part
    found, parts = result
    named = []
    for side, own, (encoded, n_records) in zip(Side, shared, (alice, bob), strict=True):
        mine = replace(encoded, orders=own.orders)
        numbers = np.bitwise_xor.reduce([np.frombuffer(part, dtype="<u4") for part in parts[side]])
        named.append(((mine, n_records), mine.order[numbers]))
    return found, (named[0], named[1])


def _first_share(side: Side, first: NDArray[np.uint32], second: NDArray[np.uint32]) -> bytes:
    """A party's part of row numbers, for whoever has all three: nothing is sealed in one process."""
    return first.astype("<u4").tobytes()
