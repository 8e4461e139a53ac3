"""What a resolver refuses of Carole's request: pairs beside those that her own counts of a comparison have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.modes import NOISE, people
from gemel.carole.engine import Candidates, LinkagePlan, Resources, compare
from gemel.carole.engine.inputs.files import contribution_of
from gemel.carole.engine.resolution.resolution_request import check_request
from gemel.carole.engine.run.specified import plan_of
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.derivation import Seed
from gemel.common.parties import Side
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.records import encode_records
from tests.carole.engine.progress import quiet

N = 200


@pytest.fixture(scope="module")
def compared() -> tuple[Candidates, LinkagePlan]:
    spec, files = people(N, 0.3, 2)
    spec = spec.model_copy(update={"mode": "block_keyed"})
    plan = plan_of(spec)
    parts = [
        contribution_of(
            encode_records(
                clean(files[side], spec, side).columns, spec, Seed(bytes(range(32))), 1, noise=NOISE[side]
            ).sets,
            N,
        )
        for side in Side
    ]
    return compare(parts[0], parts[1], plan, Resources(1 << 30, 1), quiet)[0], plan


def one_more(found: Candidates) -> Candidates:
    return replace(found, pattern=np.append(found.pattern, found.pattern[:1]))


def one_fewer(found: Candidates) -> Candidates:
    return replace(found, pattern=found.pattern[1:])


def another_vector(found: Candidates) -> Candidates:
    left_out = np.setdiff1d(np.arange(len(found.patterns.count)), found.selected)
    return replace(found, pattern=np.append(found.pattern, left_out[:1]).astype(np.int32))


def no_rule(found: Candidates) -> Candidates:
    return replace(found, patterns=replace(found.patterns, mask=found.patterns.mask * 0))


def an_unknown_rule(found: Candidates) -> Candidates:
    return replace(found, patterns=replace(found.patterns, mask=found.patterns.mask | np.uint32(1 << 20)))


def no_pair(found: Candidates) -> Candidates:
    return replace(found, patterns=replace(found.patterns, count=found.patterns.count * 0))


def a_vector_twice(found: Candidates) -> Candidates:
    of = found.patterns
    twice = replace(of, gamma=of.gamma[[0, *range(len(of.gamma) - 1)]], mask=of.mask[[0, *range(len(of.mask) - 1)]])
    return replace(found, patterns=twice)


def chosen_twice(found: Candidates) -> Candidates:
    return replace(found, selected=np.append(found.selected, found.selected[:1]))


LIES: dict[str, Callable[[Candidates], Candidates]] = {
    "other pairs than those of the chosen": one_more,
    "other pairs than those": one_fewer,
    "other pairs": another_vector,
    "pairs of no blocking rule": no_rule,
    "pairs of no blocking rule of the plan": an_unknown_rule,
    "a comparison vector of no pair": no_pair,
    "a comparison vector twice": a_vector_twice,
    "a comparison vector chosen twice": chosen_twice,
}


def test_a_true_request_is_accepted(compared: tuple[Candidates, LinkagePlan]) -> None:
    check_request(*compared)


@pytest.mark.parametrize("why", LIES)
def test_a_request_that_cannot_be_of_a_comparison_is_refused(
    compared: tuple[Candidates, LinkagePlan], why: str
) -> None:
    found, plan = compared
    with pytest.raises(GemelError, match=f"got {why}") as caught:
        check_request(LIES[why](found), plan)
    assert caught.value.code is ErrorCode.UPLOAD_CORRUPT
