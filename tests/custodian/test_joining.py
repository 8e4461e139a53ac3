"""The cap on Carole's joins, as a custodian counts it: over all runs, through a restart, never in clear on its disk."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.engine.resolution.resolution_exchange import checked_values
from gemel.carole.engine.run.plan import VariablePlan
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.vault import Vault, WrappingKeys
from gemel.common.parties import Side
from gemel.common.specification import load_specification
from gemel.custodian.encoding.columns import random_order
from gemel.custodian.state.custodian_state import State
from gemel.custodian.state.pending_uploads import DAY_SECONDS
from gemel.custodian.state.state_database import JOINED
from gemel.custodian.steps.handle_submission import (
    codes_rows,
    count_joined,
    different_among,
    handles_of,
    values_of_rows,
)
from gemel.custodian.steps.step_context import StepContext, Task
from tests.carole.refusals import refusal
from tests.common.specification.test_block_keyed import TEXT
from tests.custodian.conftest import PARTIES, everything, kept_upload

MAXIMUM = 10


def task(run: str = "1" * 32, maximum: int = MAXIMUM) -> Task:
    text = f"{TEXT}resolution: {{by: carole, max_records: {maximum}}}\n"
    return Task(6, "keyed", load_specification(text), text, b"", b"", 1, (), run)


def context(state: State) -> StepContext:
    return cast("StepContext", SimpleNamespace(state=state, party=PARTIES[Side.ALICE]))


def records(*numbers: int) -> pl.Series:
    return pl.Series([f"Wolfeschlegelsteinhausen-{number:03}" for number in numbers], dtype=pl.String)


@pytest.fixture
def state(state: State) -> State:
    state.update("keyed")
    return state


@given(requested=st.lists(st.lists(st.integers(0, 14), max_size=20), max_size=6))
def test_the_cap_counts_all_records_ever_requested(
    requested: list[list[int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    state = State(tmp_path_factory.mktemp("state") / "s", Vault(WrappingKeys.create()))
    state.update("keyed")
    known: set[int] = set()
    for number, rows in enumerate(requested):
        selected = known | set(rows)
        if len(selected) <= MAXIMUM:
            assert count_joined(context(state), task(f"{number:032}"), records(*rows)) == len(selected)
            known = selected
        else:
            with refusal(ErrorCode.LEAKAGE) as caught:
                count_joined(context(state), task(f"{number:032}"), records(*rows))
            assert "Wolfe" not in str(caught.value)
    state.close()


def test_a_lower_cap_counts_records_joined_under_a_higher_one(state: State) -> None:
    count_joined(context(state), task(), records(*range(MAXIMUM)))
    count_joined(context(state), task("2" * 32), records(3, 4))
    with pytest.raises(GemelError, match=r"at most 9 records of Alice, in all runs together.*got 10"):
        count_joined(context(state), task("3" * 32, maximum=9), records(3))
    # In another epoch she learns of further records: the cap is of all together.
    assert count_joined(context(state), replace(task("4" * 32, maximum=11), epoch=2), records(11)) == 11
    with pytest.raises(GemelError, match="got 12"):
        count_joined(context(state), replace(task("5" * 32, maximum=11), epoch=2), records(12))


def test_the_count_outlives_a_restart_and_is_no_identifier_on_the_disk(state: State, vault: Vault) -> None:
    count_joined(context(state), task(), records(*range(MAXIMUM)))
    state.close()
    assert b"Wolfe" not in everything(state.folder)
    with closing(State(state.folder, vault)) as again, pytest.raises(GemelError):
        count_joined(context(again), task(), records(MAXIMUM))


def test_it_goes_with_the_last_map_that_it_comes_from(state: State) -> None:
    for name, days in (("a", 1), ("b", 3)):
        uploaded = kept_upload(state, name, project="keyed", map_days=days, committed=True)
    count_joined(context(state), task(), records(1))
    state.keep_secret("keyed", 1, "seed", b"the seed")
    now = uploaded.created_at
    assert state.uploads.erase_expired_maps(now + 1.5 * DAY_SECONDS) == ["keyed"]
    assert state.secret("keyed", 1, JOINED) is not None
    assert state.uploads.erase_expired_maps(now + 3.5 * DAY_SECONDS) == ["keyed"]
    assert state.secret("keyed", 1, JOINED) is None
    assert state.secret("keyed", 1, "seed") == b"the seed"


# Handles: one per record, whatever its rows, and nothing of identifiers or of the order of rows in them.


@given(data=st.data())
def test_a_record_has_one_handle_then_each_decoy_and_then_each_dummy(data: st.DataObject) -> None:
    """Each row is a record's ("a", "é"), a decoy's (0, 1, 2) or a dummy's (None)."""
    whose = data.draw(st.lists(st.sampled_from(["a", "é", 0, 1, 2, None]), min_size=1, max_size=12))
    rows = data.draw(st.lists(st.integers(0, len(whose) - 1), max_size=20))
    own = pl.Series([who if isinstance(who, str) else None for who in whose], dtype=pl.String)
    decoys = pl.Series([who if isinstance(who, int) else None for who in whose], dtype=pl.Int64)
    requested = np.array(rows, dtype=np.uint32)
    handles = handles_of(own, requested, decoys)
    assert handles.dtype == np.uint32
    n_records, n_decoys = different_among(own, requested), different_among(decoys, requested)
    of_row = [row if whose[row] is None else whose[row] for row in rows]
    of_row = [(kind(whose[row]), who) for row, who in zip(rows, of_row, strict=True)]
    assert set(handles.tolist()) == set(range(len(set(of_row))))
    for i, (what, who) in enumerate(of_row):
        assert what == (0 if handles[i] < n_records else 1 if handles[i] < n_records + n_decoys else 2)
        assert [handles[i] == other for other in handles] == [(what, who) == other for other in of_row]


def kind(who: str | int | None) -> int:
    return 2 if who is None else int(isinstance(who, int))


def test_they_are_new_every_time() -> None:
    identifiers = pl.Series(np.arange(1000))
    rows = np.arange(1000, dtype=np.uint32)
    first, second = (handles_of(identifiers, rows) for _ in range(2))
    # Fixed points of a random permutation are Poisson(1).
    assert np.count_nonzero(first == second) < 20
    assert np.count_nonzero(first == rows) < 20


def test_the_row_of_codes_is_the_same_records() -> None:
    """Records under three rules, then all of them once more as rows of codes, each in an order of its own."""
    n = 500
    names = pl.Series([f"id-{i}" for i in range(n)])
    signed = np.concatenate([random_order(n)[: n - 50 * rule] for rule in range(3)])
    coded = random_order(n)
    identifiers = names.gather(pl.Series(np.concatenate([signed, coded])))
    rows = np.random.default_rng(1).integers(0, len(signed), 400).astype(np.uint32)
    handles = handles_of(identifiers.head(len(signed)), rows)
    found = codes_rows(identifiers, len(signed), rows, handles)
    assert found.dtype == np.uint32
    assert len(found) == len(np.unique(found)) == int(handles.max()) + 1
    for row, handle in zip(rows.tolist(), handles.tolist(), strict=True):
        assert coded[found[handle]] == signed[row]


def test_rows_of_codes_that_are_not_there_are_an_error() -> None:
    identifiers = pl.Series(["a", "b", "a", "b", "a"])
    rows = np.array([0, 1, 2], dtype=np.uint32)
    handles = handles_of(identifiers.head(4), rows)
    with refusal(ErrorCode.NOT_FOUND):
        codes_rows(identifiers, 4, rows, handles)
    none = rows[:0]
    assert codes_rows(identifiers, 4, none, handles_of(identifiers, none)).shape == (0,)


@given(data=st.data())
def test_values_are_reported_row_by_row_and_read_as_they_were(data: st.DataObject) -> None:
    """What a custodian reports of handles' records, and what the resolver makes of it."""
    levels = data.draw(st.lists(st.integers(2, 5), max_size=3))
    n = data.draw(st.integers(1, 8))
    codes = {
        f"v{q}": np.array(data.draw(st.lists(st.integers(-1, k - 1), min_size=n, max_size=n)), dtype=np.int16)
        for q, k in enumerate(levels)
    }
    rows = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=8)), dtype=np.int64)
    reported = values_of_rows(codes, list(codes), rows)
    variables = [VariablePlan(name, "alice", k) for name, k in zip(codes, levels, strict=True)]
    read = checked_values(reported, len(rows), variables)
    assert {name: found.codes.tolist() for name, found in read.items()} == {
        name: of_rows[rows].tolist() for name, of_rows in codes.items()
    }


def test_codes_that_were_not_kept_are_an_error_that_names_the_variable() -> None:
    with refusal(ErrorCode.NOT_FOUND, "variable job: ") as caught:
        values_of_rows({"age": np.zeros(2, dtype=np.int16)}, ["age", "job"], np.array([0]))
    assert "contribute again" in str(caught.value)


@pytest.mark.parametrize(
    ("values", "got"),
    [
        (None, "no codes for 2 records"),
        (np.array([1, 2, 3], dtype=np.uint32), "3 codes for 2 records"),
        (np.array([1, 2, 0, 4], dtype=np.uint32), "a code that is not below the number of categories"),
    ],
)
def test_a_resolver_refuses_values_that_cannot_be(values: np.ndarray | None, got: str) -> None:
    variables = [VariablePlan("age", "alice", 3), VariablePlan("job", "both", 3)]
    with refusal(ErrorCode.UPLOAD_CORRUPT) as caught:
        checked_values(values, 2, variables)
    assert caught.value.got == got
