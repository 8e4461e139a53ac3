"""The cap on Carole's joins, as a custodian counts it: over all runs, through a restart, never in clear on its disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.vault import Vault, WrappingKeys
from gemel.common.parties import Side
from gemel.common.specification import load_specification
from gemel.custodian.state.custodian_state import State
from gemel.custodian.state.pending_uploads import DAY_SECONDS
from gemel.custodian.state.state_tables import JOINED, Upload
from gemel.custodian.steps.handle_submission import count_joined
from gemel.custodian.steps.step_context import StepContext, Task
from tests.common.specification.test_block_keyed import TEXT
from tests.custodian.conftest import PARTIES

MAXIMUM = 10


def task(run: str = "1" * 32, maximum: int = MAXIMUM) -> Task:
    text = f"{TEXT}resolution: {{by: carole, max_records: {maximum}}}\n"
    return Task(6, "keyed", load_specification(text), text, b"", b"", 1, (), run)


def context(state: State) -> StepContext:
    return cast("StepContext", SimpleNamespace(state=state, party=PARTIES[Side.ALICE]))


def records(*numbers: int) -> pl.Series:
    return pl.Series([f"Wolfeschlegelsteinhausen-{number:03}" for number in numbers], dtype=pl.String)


@pytest.fixture
def vault() -> Vault:
    return Vault(WrappingKeys.create())


@pytest.fixture
def state(tmp_path: Path, vault: Vault) -> Any:
    made = State(tmp_path / "state", vault)
    made.update("keyed")
    yield made
    made.close()


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
            with pytest.raises(GemelError) as caught:
                count_joined(context(state), task(f"{number:032}"), records(*rows))
            assert caught.value.code is ErrorCode.LEAKAGE
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


def test_the_count_outlives_a_restart_and_is_no_identifier_on_the_disk(tmp_path: Path, vault: Vault) -> None:
    state = State(tmp_path, vault)
    state.update("keyed")
    count_joined(context(state), task(), records(*range(MAXIMUM)))
    state.close()
    assert b"Wolfe" not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    state = State(tmp_path, vault)
    with pytest.raises(GemelError):
        count_joined(context(state), task(), records(MAXIMUM))
    state.close()


def test_it_goes_with_the_last_map_that_it_comes_from(state: State) -> None:
    for name, days in (("a", 1), ("b", 3)):
        upload = Upload(id=name * 32, project="keyed", epoch=1, manifest=b"m", rows=2, total_bytes=3)
        with state.uploads.writing(upload.id) as files:
            files.payload.write(b"body")
        state.uploads.add(upload, files, map_days=days)
        state.uploads.mark_committed(upload.id)
    count_joined(context(state), task(), records(1))
    state.keep_secret("keyed", 1, "seed", b"the seed")
    uploaded = state.uploads.newest("keyed")
    assert uploaded is not None
    now = uploaded.created_at
    assert state.uploads.erase_expired_maps(now + 1.5 * DAY_SECONDS) == ["keyed"]
    assert state.secret("keyed", 1, JOINED) is not None
    assert state.uploads.erase_expired_maps(now + 3.5 * DAY_SECONDS) == ["keyed"]
    assert state.secret("keyed", 1, JOINED) is None
    assert state.secret("keyed", 1, "seed") == b"the seed"
