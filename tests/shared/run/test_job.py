"""The parties' job where something is not as it should be: other terms, other blocks, wrong places, no pairs at all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gemel.carole.engine.run.specified import plan_of
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.derivation import Seed
from gemel.common.parties import ComputeParty, Side
from gemel.custodian.encoding.records import encode_records
from gemel.custodian.encoding.shared_in_memory import SharedEncoded, shared_in_memory
from gemel.shared.gates.party import Party
from gemel.shared.run.job import Terms, assist, check_places, lead, packed_places, unpacked_places
from gemel.shared.run.shared_files import compare_opened
from gemel.shared.session.local_session import local_parties, together
from tests.carole.refusals import refusal
from tests.shared.run.both_modes import (
    EVERY_FEATURE,
    NOISE,
    RESOURCES,
    encoded_files,
    own_share,
    people,
    quiet,
)

PLAN = plan_of(EVERY_FEATURE)
TERMS = Terms(b"specification", PLAN, 1 << 30)


@pytest.fixture(scope="module")
def shared() -> list[SharedEncoded]:
    encoded = encoded_files(EVERY_FEATURE, 6, 4)
    return [shared_in_memory(part, EVERY_FEATURE, side) for part, side in zip(encoded, Side, strict=True)]


def run(shared: list[SharedEncoded], terms: dict[ComputeParty, Terms], choose=lambda led: None):  # type: ignore[no-untyped-def]
    """All three parties; `choose` names pairs, with what Carole has."""

    def leading(party: Party):  # type: ignore[no-untyped-def]
        parts = tuple(part.contributions[party.own] for part in shared)
        return choose(lead(party, parts, terms.get(party.own, TERMS), own_share, quiet))

    def assisting(party: Party) -> None:
        parts = tuple(part.contributions[party.own] for part in shared)
        assist(party, parts, terms.get(party.own, TERMS), own_share, quiet)

    return together(local_parties(), leading, assisting, assisting)[0]


@pytest.mark.parametrize("other", list(ComputeParty))
def test_another_specification_at_one_party_ends_the_run_before_anything_is_compared(
    shared: list[SharedEncoded], other: ComputeParty
) -> None:
    with refusal(ErrorCode.DEVIATION, "specification, blocks and secrets of shares") as caught:
        run(shared, {other: replace(TERMS, specification=b"another")})
    assert "agree" in str(caught.value.where)


def test_another_upload_at_one_party_ends_the_run(shared: list[SharedEncoded]) -> None:
    """Carole shows the steward what Alice has sent another time: rows and blocks are the same, and shares are not."""
    again = shared_in_memory(encoded_files(EVERY_FEATURE, 6, 4)[0], EVERY_FEATURE, Side.ALICE)
    carole, coordinator, _ = shared[0].contributions
    mixed = replace(shared[0], contributions=(carole, coordinator, again.contributions[2]))
    with refusal(ErrorCode.DEVIATION):
        run([mixed, shared[1]], {})


@pytest.mark.parametrize("wrong", ["twice", "descending", "beyond", "negative"])
def test_places_that_carole_may_not_name_are_refused(shared: list[SharedEncoded], wrong: str) -> None:
    def choose(led) -> None:  # type: ignore[no-untyped-def]
        n = led.opened.pairs.n_places
        places = {"twice": [1, 1], "descending": [2, 1], "beyond": [0, n], "negative": [-1, 0]}[wrong]
        led.name(np.array(places, dtype=np.int64))

    with refusal(ErrorCode.DEVIATION, "must be places"):
        run(shared, {}, choose)


def test_places_as_a_message() -> None:
    places = np.array([0, 5, 7], dtype=np.int64)
    np.testing.assert_array_equal(check_places(unpacked_places(packed_places(places)), 8), places)
    assert len(check_places(unpacked_places(b""), 0)) == 0
    with pytest.raises(GemelError, match="must be places"):
        unpacked_places(bytes(9))


def test_too_little_memory_is_found_before_pairs_are_compared(shared: list[SharedEncoded]) -> None:
    with refusal(ErrorCode.MEMORY):
        run(shared, {ComputeParty.STEWARD: replace(TERMS, memory_bytes=1000)})


def test_files_without_a_common_block_have_no_pairs() -> None:
    """Under another seed no block is common: nothing is opened of a pair, and the run says what is the matter."""
    a = encoded_files(EVERY_FEATURE, 6, 4)[0]
    b = encode_records(people(6, 4, Side.BOB), EVERY_FEATURE, Seed(bytes(range(32, 64))), 1, noise=NOISE)
    files = [shared_in_memory(part, EVERY_FEATURE, side) for part, side in zip((a, b), Side, strict=True)]

    def choose(led):  # type: ignore[no-untyped-def]
        assert led.opened.pairs.n_places == 0
        return compare_opened(led, PLAN, RESOURCES, quiet)

    found, kept = run(files, {}, choose)
    assert found.patterns.n_pairs == 0
    assert len(kept.pattern) == 0
    assert {warning.code for warning in found.warnings} >= {"rule_without_pairs"}
