"""A resolver that invents links: what cannot be a result of the request ends the run, and nothing is released."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from gemel.carole.engine.run.contribution import packed, unpacked
from gemel.carole.projects.project import Policy, State
from gemel.carole.store.results import RESOLUTION_RESULT
from gemel.common.errors import ErrorCode
from gemel.common.rpc.transfer import Content
from tests.carole.refusals import refusal
from tests.carole.service.test_assessed_runs import COMMON, actions
from tests.carole.service.test_coded_runs import put, specification, waiting
from tests.carole.trial import take

Arrays = dict[str, np.ndarray]
Lie = Callable[[Arrays, dict[str, Any]], None]


def without_assessment():
    text = specification("0.9")
    start, end = text.index("assessment:"), text.index("retention:")
    return f"{text[:start]}links: {{threshold: 0.5}}\n{text[end:]}"


def retold(content, lie):
    """A result after a lie, which keeps its document in step where the lie does not."""
    arrays, document = unpacked(content)
    changed = {name: values.copy() for name, values in arrays.items()}
    plain = dict(document)
    lie(changed, plain)
    return packed(changed, plain)


def a_lower_threshold(arrays, document):
    document["linkage"] = {**document["linkage"], "threshold": 0.1}


def without_a_share(arrays, document):
    del arrays["share_bob"]


def with_more_than_requested(arrays, document):
    arrays["weight"] = np.zeros(3)


def miscounted(*where):
    """A document with one more at a place of the linkage's."""

    def change(arrays, document):
        part = document["linkage"] = copy.deepcopy(document["linkage"])
        for name in where[:-1]:
            part = part[name]
        part[where[-1]] += 1

    return change


def another_rule(arrays, document):
    document["linkage"] = copy.deepcopy(document["linkage"])
    document["linkage"]["blocking"]["rules"][0]["name"] = "postcode"


LIES: Mapping[str, Lie] = {
    "another threshold than the specification's": a_lower_threshold,
    "no share_bob of the right kind": without_a_share,
    "1 arrays that were not requested": with_more_than_requested,
    "a document that counts other links": miscounted("links"),
    "a document that counts other records": miscounted("records", "bob"),
    "a document that counts other kept pairs": miscounted("kept"),
    "a document that counts other candidates": miscounted("candidates"),
    "a document that counts other unlinked records": miscounted("unlinked", "alice"),
    "a document that counts other candidates of rules": another_rule,
}


@pytest.fixture
def run(carole):
    name, spec, made = waiting(carole, without_assessment(), Policy.NONE)
    arrays, document = unpacked(made)
    return name, spec, packed({key: values for key, values in arrays.items() if key.startswith("share_")}, document)


FIRST = (
    "another threshold than the specification's",
    "no share_bob of the right kind",
    "a document that counts other links",
)
"""Of each kind one; all of them in `make long`."""


@pytest.mark.parametrize(
    "found", [lie if lie in FIRST else pytest.param(lie, marks=pytest.mark.long) for lie in LIES], ids=str
)
def test_a_result_that_cannot_be_one_of_the_request_is_refused(carole, run, found):
    name, spec, made = run
    put(carole, name, RESOLUTION_RESULT, retold(made, LIES[found]))
    with refusal(ErrorCode.UPLOAD_CORRUPT, f"{found}[;,]"):
        carole.carry_out(take(carole.store), spec)
    assert carole.store.projects.get("trial").state is State.CONTRIBUTED
    assert not {"finish-run", "release"} & set(actions(carole))


def test_a_true_result_is_accepted_and_the_log_shows_whose_it_was(carole, run):
    name, spec, made = run
    put(carole, name, RESOLUTION_RESULT, made)
    assert carole.carry_out(take(carole.store), spec) == COMMON
    entries = carole.store.audit.entries()
    resolved = next(entry for entry in entries if entry.action == "resolve-run")
    assert (resolved.actor, resolved.details["result"]) == ("coordinator", Content.of(made).root.hex())
