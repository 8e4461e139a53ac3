"""The three parties' job in mode shared where one dies or deviates, in every stage, all in one process.

The same through services is `test_shared_disturbed.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gemel.carole.engine.run.specified import plan_of
from gemel.common.errors import ErrorCode
from gemel.common.parties import ComputeParty, Side
from gemel.common.progress import Progress
from gemel.common.specification import load_specification
from gemel.coordinator.client.run_progress import COMPUTED
from gemel.custodian.encoding.shared_in_memory import SharedEncoded, shared_in_memory
from gemel.shared.gates.party import Party
from gemel.shared.run.job import RowParts, Terms, assist, lead
from gemel.shared.session.local_session import LocalChannel, local_parties, together
from tests.carole.refusals import refusal
from tests.e2e.compute_program import CUT, FLIP, REPLAY, Deviating
from tests.shared.run.both_modes import encoded_files, own_share, quiet
from tests.specifications import heading

SPEC = load_specification(
    heading("few", "shared")
    + """
fields:
  - {name: given, kind: name, bits: 64, levels: exact}
  - {name: sex, kind: category}
blocking: [{name: sex, keys: [{field: sex}]}]
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)
TERMS = Terms(b"specification", plan_of(SPEC), 1 << 30)
Pairs = set[tuple[int, int]]


class Killed(Exception):
    """The end of a party."""


@pytest.fixture(scope="module")
def shared() -> list[SharedEncoded]:
    encoded = encoded_files(SPEC, 6, 4)
    return [shared_in_memory(part, SPEC, side) for part, side in zip(encoded, Side, strict=True)]


@pytest.fixture(scope="module")
def undisturbed(shared: list[SharedEncoded]) -> Pairs:
    found = computed(shared)
    assert found
    return found


def computed(
    shared: list[SharedEncoded],
    disturbed: ComputeParty = ComputeParty.CAROLE,
    progress: Progress = quiet,
    wrapped: Callable[[LocalChannel], object] = lambda channel: channel,
) -> Pairs:
    """The rows of all pairs, as the custodians read them of the three parts; `progress` is one party's."""

    def contributions(party: Party):  # type: ignore[no-untyped-def]
        return tuple(part.contributions[party.own] for part in shared)

    def progress_of(party: Party) -> Progress:
        return progress if party.own is disturbed else quiet

    def leading(party: Party) -> RowParts:
        led = lead(party, contributions(party), TERMS, own_share, progress_of(party))
        led.name(np.arange(led.opened.pairs.n_places))
        return led.parts

    def assisting(party: Party) -> RowParts:
        assist(party, contributions(party), TERMS, own_share, progress_of(party))
        return {}

    parts, _, _ = together(local_parties(wrapped=wrapped), leading, assisting, assisting)  # type: ignore[arg-type]
    rows = [np.bitwise_xor.reduce([np.frombuffer(part, dtype=np.uint32) for part in parts[side]]) for side in Side]
    return set(zip(*(row.tolist() for row in rows), strict=True))


@pytest.mark.parametrize("stage", COMPUTED)
def test_a_run_whose_party_died_in_a_stage_ends_for_all_and_the_next_finds_the_same(
    shared: list[SharedEncoded], undisturbed: Pairs, stage: str
) -> None:
    def dies(reached: str, fraction: float) -> None:
        if reached == stage:
            raise Killed

    for killed in ComputeParty:
        with pytest.raises(Killed):  # `together` has joined all three: no one waits for the dead any more
            computed(shared, killed, dies)
    assert computed(shared) == undisturbed


@pytest.mark.parametrize(
    ("stage", "kind"),
    [
        ("agree", FLIP), ("compare", FLIP), ("compare", REPLAY), ("compare", CUT), ("chance", FLIP), ("permute", FLIP),
        ("open", FLIP), ("name", CUT),
    ],
)  # fmt: skip
def test_a_run_with_a_party_that_deviates_fails_with_the_stage(
    shared: list[SharedEncoded], stage: str, kind: str
) -> None:
    deviating: list[Deviating] = []

    def wrapped(channel: LocalChannel) -> object:
        if channel.own is not ComputeParty.STEWARD:
            return channel
        deviating.append(Deviating(channel, kind, 0))  # type: ignore[arg-type]
        return deviating[0]

    began: list[str] = []

    def begins(reached: str, fraction: float) -> None:
        if reached == stage and not began:
            began.append(reached)
            deviating[0].due = True

    with refusal(ErrorCode.DEVIATION) as caught:
        computed(shared, ComputeParty.STEWARD, begins, wrapped)
    assert stage in str(caught.value)
    assert "the steward" in str(caught.value)
