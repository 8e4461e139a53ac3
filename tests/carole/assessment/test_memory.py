"""The memory of an assessment: what is counted covers what is allocated, and the rest limits the search for special
uniques."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest

from benchmarks._built_population import FEW, SMALL, WIDE, Built, built
from benchmarks.attribution_truth import made, specification
from gemel.carole.assessment import Assessment, AssessmentContext, assess
from gemel.carole.assessment.identification import key_file
from gemel.carole.assessment.joint_model import joint_model
from gemel.carole.assessment.memory import left_for_uniques, needed, needed_by_joint
from gemel.carole.engine.run.resources import Resources
from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.identification.special_uniques import suda
from gemel.risk.identification.special_uniques.suda import largest_within

RUN = "r" * 32


def policy_of(population: Built):  # type: ignore[no-untyped-def]
    assert population.spec.assessment is not None
    return population.spec.assessment


@pytest.mark.parametrize(
    ("traits", "advise"),
    [(FEW, False), pytest.param(SMALL, True, marks=pytest.mark.long), pytest.param(WIDE, True, marks=pytest.mark.long)],
)
def test_the_computed_memory_covers_what_is_allocated(traits, advise) -> None:  # type: ignore[no-untyped-def]
    population = built(traits, 2_500, (0.5, 0.5), np.random.default_rng(3), "correct_matches: 0.1")
    assess(population.combined, population.spec, AssessmentContext(RUN), advise=advise)  # compiled
    tracemalloc.start()
    found = assess(population.combined, population.spec, AssessmentContext(RUN), advise=advise)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.breaches
    counted = needed(population.combined, policy_of(population))
    assert peak < counted < 20 * peak


@pytest.mark.parametrize("links", [300, 3_000])
def test_the_computed_memory_covers_the_joint_model(links: int) -> None:
    """Its own part, and more than nothing: the rest of an assessment is over when it begins."""
    spec = specification("little", 0.1)
    found = made(spec, links, 0.1, 0.1, "some", np.random.default_rng(1))
    joint_model(found.combined, spec, found.joint, None)
    assert found.combined.codes.size
    tracemalloc.start()
    joint_model(found.combined, spec, found.joint, None)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    counted = needed_by_joint(found.combined)
    assert spec.assessment is not None
    without = needed(found.combined, spec.assessment)
    assert needed(found.combined, spec.assessment, modelled=True) == without + counted
    assert peak < counted + without
    assert counted < 20 * peak


def test_threads_are_those_given_and_change_nothing(
    population: Built, without_advice: Assessment, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []
    pool = suda.ThreadPoolExecutor
    monkeypatch.setattr(suda, "ThreadPoolExecutor", lambda threads: (started.append(threads), pool(threads))[1])
    for threads in (1, 3):
        found = assess(
            population.combined,
            population.spec,
            AssessmentContext(RUN, resources=Resources(3 << 30, threads)),
            advise=False,
        )
        assert found.report == without_advice.report
    assert started == [1, 3]


def test_where_memory_is_short_smaller_uniques_are_looked_for(population: Built, without_advice: Assessment) -> None:
    combined, whole = population.combined, json.loads(without_advice.report)
    keys = combined.with_role("key")
    file = key_file(combined.codes[:, combined.columns(keys)], keys, 0.25)
    assert file is not None
    # One fewer than there are: what is found before it is known to be minimal is more.
    selected = sum(whole["identification"]["special_uniques"]["by_size"]) - 1
    extra = next(size for size in range(0, 2**24, 64) if largest_within(file, size, 1) == selected)
    resources = Resources(combined.n_bytes + needed(combined, policy_of(population)) + extra, 1)
    short = json.loads(
        assess(combined, population.spec, AssessmentContext(RUN, resources=resources), advise=False).report
    )
    special, all_sizes = (each["identification"]["special_uniques"] for each in (short, whole))
    assert all_sizes["complete"]
    assert not special["complete"]
    size = special["max_size"]
    assert 1 <= size < all_sizes["max_size"]
    assert special["by_size"][: size + 1] == all_sizes["by_size"][: size + 1]
    assert any(f"by at most {size} of the 5 key variables" in warning["text"] for warning in short["warnings"])
    assert short["measures"] == whole["measures"]


def test_an_assessment_that_does_not_fit_is_refused_before_it_begins(population: Built) -> None:
    minimum = population.combined.n_bytes + needed(population.combined, policy_of(population))
    assert left_for_uniques(population.combined, policy_of(population), Resources(minimum + 5, 2)) == Resources(5, 2)
    stages: list[str] = []
    with pytest.raises(GemelError, match="the assessment of the combined output needs") as caught:
        assess(
            population.combined,
            population.spec,
            AssessmentContext(RUN, resources=Resources(minimum - 1, 2), progress=lambda stage, _: stages.append(stage)),
        )
    assert caught.value.code == ErrorCode.MEMORY
    assert not stages
