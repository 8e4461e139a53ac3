"""A linkage in mode block_keyed carried out twice by real services: the same records, seed and specification.

Alice withdraws what she has sent and contributes again, for a specification that differs in its retention alone: the
same bytes leave her, samples and all, and the run says the same of every pair, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from gemel.common.parties import Side
from gemel.common.signatures.payload import to_bytes
from gemel.coordinator.client.run_progress import follow_run
from tests.e2e.deployment import STATE, TWO_RULES, Deployment, digest_of, people, specification
from tests.e2e.recording import contribution, recorded
from tests.typed import printed

RELEASE = "release: {alice: pairs, bob: pairs, coordinator: statistics, exact_probabilities: both}\n"
PROJECT = "repeated"
TEXT = specification(PROJECT, bits=512, more=TWO_RULES + RELEASE, mode="block_keyed")
Pairs = set[tuple[str, str, float]]


def pairs_of(made: Deployment, run: str) -> Pairs:
    """Identifiers and link probability of each pair that both custodians received."""
    tables = []
    for side in Side:
        made.eventually(lambda side=side: Path(made.shown(side, PROJECT).results).name == run)
        tables.append(pl.read_parquet(Path(made.shown(side, PROJECT).results) / "pairs.parquet"))
    both = tables[0].join(tables[1], on="pair_id", suffix="_bob", validate="1:1")
    assert both.height == tables[0].height == tables[1].height > 0
    return set(both.select("identifier", "identifier_bob", "link_probability").rows())


@pytest.mark.long  # without services: tests/carole/engine/test_repeatable.py
def test_the_same_records_seed_and_specification_give_the_same_probabilities(
    deploy: Callable[..., Deployment], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [TEXT.replace("results_days: 30", f"results_days: {days}") for days in (30, 20, 10)]
    made = deploy(*texts, files=people(400, 200, seed=3))
    made.processes("carole")
    calls = recorded(monkeypatch)
    made.start_custodians()
    _, status = made.link(TEXT)
    first = pairs_of(made, status.run)
    before = b"".join(map(bytes, to_bytes(contribution(calls, Side.ALICE)[1])))

    made.coordinator.amend(texts[1])
    made.coordinator.approve(PROJECT, digest_of(texts[1]))
    made.wait_for(PROJECT, STATE.PROJECT_STATE_CONTRIBUTED)
    reason = ("--reason", "what was sent is to be sent again", "--yes")
    printed("alice", "decline", PROJECT, *reason, "--config", made.configs[Side.ALICE])
    calls.clear()
    made.coordinator.amend(texts[2])
    made.coordinator.approve(PROJECT, digest_of(texts[2]))
    made.wait_for(PROJECT, STATE.PROJECT_STATE_CONTRIBUTED)
    assert b"".join(map(bytes, to_bytes(contribution(calls, Side.ALICE)[1]))) == before
    again = follow_run(made.coordinator, PROJECT, made.coordinator.start(PROJECT).run).run
    assert again != status.run
    second = pairs_of(made, again)
    assert second == first
    assert len({probability for *_, probability in first}) > 10
