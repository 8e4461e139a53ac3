"""Assessed runs of mode block_keyed: the second half accepts only consistent results, and ends whole at a crash."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from gemel.carole.engine.resolution.resolution_exchange import ResolvedHandles, decide, sealed_result
from gemel.carole.engine.resolution.resolution_request import unpack_request
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.projects.operations.linking import resolve_run, submit_row_handles
from gemel.carole.projects.project import Policy, State
from gemel.carole.store.results import RESOLUTION_REQUEST, RESOLUTION_RESULT, handles_of, rows_of
from gemel.common.errors import ErrorCode
from gemel.common.parties import Side
from gemel.common.rpc.transfer import Content
from gemel.common.specification import load_specification
from gemel.common.wire.row_handles import RowHandlesRequest
from gemel.custodian.steps import handle_submission as custodian
from tests.carole import trial
from tests.carole.refusals import refusal
from tests.carole.service import test_assessed_runs as open_mode
from tests.carole.service.test_assessed_runs import (
    COMMON,
    POINTS,
    TEXT,
    Contribution,
    actions,
    has_both_or_neither,
    killed_at_each_point,
    lease,
    project,
    report,
)
from tests.carole.trial import take
from tests.custodian.encoding.encoded_rows import n_signed

RULES = """blocking:
  - {name: surname, keys: [{field: surname}]}
  - {name: given, keys: [{field: given}, {field: born, part: year}]}
"""


def specification(limit):
    keyed = TEXT.replace("LIMIT", limit).replace("mode: open", "mode: block_keyed")
    start, end = keyed.index("blocking:"), keyed.index("variables:")
    return keyed[:start] + RULES + keyed[end:]


def put(carole, run, name, content, side=None):
    """Submit an artifact, as a custodian (its side given) or as the resolver."""
    done = (
        (lambda known, _: resolve_run(known, "coordinator", run, Content.of(content).root.hex(), "cd"))
        if side is None
        else (lambda known, _: submit_row_handles(known, side, str(side), run))
    )
    carole.store.artifacts.put("trial", run, name, Content.of(content).chunk(0), 1 << 30, done)


def waiting(carole, text, policy=Policy.HOLD):
    """A run after its first half; its name, its specification, and the resolver's correct result."""
    given, spec = {side: Contribution(side, text) for side in Side}, load_specification(text)
    trial.contributed(carole.store, given, replace(project(text), policy=policy))
    first = lease(carole, "a")
    assert carole.carry_out(first, spec) is None
    return first.run, spec, resolved(carole, first.run, spec, given)


def requested(carole, run, spec):
    return unpack_request(carole.store.artifacts.read(run, RESOLUTION_REQUEST), plan_of(spec))


def resolved(carole, run, spec, given):
    """The resolver's correct result, for which both custodians submit their handles."""
    alice, bob = (tell(carole, run, side, given[side]) for side in Side)
    for side in Side:
        put(carole, run, handles_of(side), b"sealed", side)
    request = requested(carole, run, spec)
    decided = decide(request, alice, bob, plan_of(spec), lambda *_: None, run)
    return sealed_result(decided, request, spec, carole.parties.members, run)


def tell(carole, run, side, given):
    """A custodian's handles for the requested rows."""
    rows = RowHandlesRequest.unpack(carole.store.artifacts.read(run, rows_of(side))).rows
    identifiers = pl.Series([f"{side}-{record}" for record in given.encoded.order])
    signed = n_signed(given.encoded)
    names: NDArray[np.uint32] = custodian.handles_of(identifiers.head(signed), rows)
    codes = custodian.codes_rows(identifiers, signed, rows, names)
    return ResolvedHandles(names.astype(np.int32), len(codes), codes.astype(np.int32))


def test_a_result_within_the_limits_is_released(carole):
    run, spec, made = waiting(carole, specification("0.9"))
    put(carole, run, RESOLUTION_RESULT, made)
    stages: list[str] = []
    links = carole.carry_out(take(carole.store), spec, lambda stage, _: stages.append(stage))
    assert links == COMMON
    assert list(dict.fromkeys(stages)) == ["read", "assess", "seal"]
    assert carole.store.projects.get("trial").state is State.RELEASED
    document = report(carole, run)
    assert (document["verdict"], document["records"]) == ("within", COMMON)
    # Both hold a person's sex, and the right rows of codes stand side by side: no linked record has two.
    assert "custodians_differ" not in {warning["code"] for warning in document["warnings"]}
    assert "codes_of_links_only" in {warning["code"] for warning in document["warnings"]}
    assert document["custodians"]["alice"]["records"] == open_mode.N
    assert carole.store.artifacts.read(run, RESOLUTION_RESULT) is None


def test_a_result_without_links_of_codes_ends_the_run_and_releases_nothing(carole):
    run, spec, _ = waiting(carole, specification("0.9"))
    request = requested(carole, run, spec)
    n = len(request.found.pattern)
    bare = ResolvedHandles(np.arange(n, dtype=np.int32), n)
    decided = decide(request, bare, bare, plan_of(spec), lambda *_: None, run)
    put(carole, run, RESOLUTION_RESULT, sealed_result(decided, request, spec, carole.parties.members, run))
    taken = take(carole.store)
    with refusal(ErrorCode.UPLOAD_CORRUPT):
        carole.carry_out(taken, spec)
    assert carole.store.projects.get("trial").state is State.CONTRIBUTED
    assert not {"assess", "release"} & set(actions(carole))


@pytest.mark.parametrize("points", [POINTS[:1], pytest.param(POINTS, marks=pytest.mark.long)], ids=["one", "all"])
def test_killed_anywhere_between_assessment_and_release_leaves_both_or_neither(carole, tmp_path, points):
    run, _, made = waiting(carole, specification("0.01"))
    put(carole, run, RESOLUTION_RESULT, made)
    for point in killed_at_each_point(carole, tmp_path, points):
        has_both_or_neither(carole, run, point)
        assert (carole.store.artifacts.read(run, RESOLUTION_RESULT) is None) is (point == "committed")
