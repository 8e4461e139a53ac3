"""A run repeated under the same keys: the same probabilities to the last bit, whatever was drawn, ordered or threaded.

What may differ between two runs of one linkage is the order of the custodians' files, the numbers that they draw for
records, the numbers of threads, and which custodian is first. What may not is a single bit of a probability.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from benchmarks.modes import NOISE, people
from gemel.carole.engine import Contribution, link
from gemel.carole.engine.inputs.files import contribution_of
from gemel.carole.engine.linkage import near_copies
from gemel.carole.engine.pairs.shards import request_order
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.resolution.resolution_exchange import ResolvedHandles, by_appearance, decide
from gemel.carole.engine.run.result import ScoredPairs
from gemel.carole.engine.run.specified import plan_of
from gemel.common.parties import Side
from gemel.common.signatures import layout
from gemel.common.signatures.payload import to_bytes
from gemel.common.specification import Specification
from gemel.common.specification.model.schemes import QualitySpec
from gemel.custodian.encoding import samples
from gemel.custodian.encoding.records import Encoded
from gemel.custodian.steps.handle_submission import handles_of
from tests.carole.engine.progress import quiet
from tests.carole.engine.runs import ENOUGH, Keyed, encoded

Files = Mapping[Side, pl.DataFrame]
Pairs = dict[tuple[str, str], tuple[float, float, bool]]
"""By the identifiers of a pair's records: match probability, link probability, whether it is a link."""


def made(n: int, mode: str) -> tuple[Specification, dict[Side, pl.DataFrame]]:
    """Files in which some people have several records that are equal in everything."""
    spec, files = people(n, 0.4, 5)
    for side in Side:
        again = files[side].head(n // 20).with_columns(id=pl.col("id") + "-again")
        files[side] = pl.concat([files[side], again])
    return spec.model_copy(update={"mode": mode}), files


def identifiers(frame: pl.DataFrame, rows: NDArray[np.int64]) -> pl.Series:
    """Null for a decoy or a dummy."""
    known = pl.Series(np.where(rows < frame.height, rows, -1)).replace(-1, None)
    return frame["id"].gather(known)


def linked(spec: Specification, files: Files, threads: int) -> Pairs:
    """The whole linkage as the parties make it, with handles drawn from the operating system's random source."""
    if spec.mode == "open":
        sent = {side: encoded(spec, files[side], side, NOISE[side], threads) for side in Side}
        resources = replace(ENOUGH, threads=threads)
        found = link(sent[Side.ALICE].sets[0], sent[Side.BOB].sets[0], plan_of(spec), resources, quiet)
        return by_records(files, sent, found.pairs, found.links)
    keyed = Keyed(spec, files, threads=threads)
    order = request_order(*keyed.parts, keyed.kept)
    request = keyed.request(order, threads=threads)
    handles = [
        resolved(files[side], keyed.made[side], rows[order]) for side, rows in zip(Side, keyed.rows, strict=True)
    ]
    decided = decide(request, *handles, keyed.plan, quiet, "run")
    row_a, row_b = (rows[order[decided.order]] for rows in keyed.rows)
    pairs = replace(decided.linkage.pairs, row_a=row_a, row_b=row_b)
    return by_records(files, keyed.made, pairs, decided.linkage.links)


def resolved(frame: pl.DataFrame, sent: Encoded, rows: NDArray[np.int32]) -> ResolvedHandles:
    names = identifiers(frame, sent.order)
    decoy = (sent.order >= frame.height) & (sent.order < frame.height + sent.decoys)
    decoys = pl.Series(np.where(decoy, sent.order, -1)).replace(-1, None)
    handles = handles_of(names, rows.astype(np.uint32), decoys).astype(np.int32)
    known, of_decoys = (which.gather(pl.Series(rows)).drop_nulls().n_unique() for which in (names, decoys))
    return ResolvedHandles(handles, known, decoys=of_decoys)


def by_records(files: Files, sent: Mapping[Side, Encoded], pairs: ScoredPairs, links: NDArray[np.int64]) -> Pairs:
    rows = {Side.ALICE: pairs.row_a, Side.BOB: pairs.row_b}
    names = {side: identifiers(files[side], sent[side].order[rows[side]]).to_list() for side in Side}
    is_link = np.isin(np.arange(len(pairs.weight)), links).tolist()
    numbers = zip(pairs.match_probability.tolist(), pairs.link_probability.tolist(), is_link, strict=True)
    of_pairs = zip(names[Side.ALICE], names[Side.BOB], numbers, strict=True)
    return {(a, b): number for a, b, number in of_pairs if a is not None and b is not None}


def without_copies(pairs: Pairs) -> list[tuple[str, str, tuple[float, float, bool]]]:
    """Records that are equal in everything may change places: each pair under the name that they share, in order."""
    return sorted((a.removesuffix("-again"), b.removesuffix("-again"), numbers) for (a, b), numbers in pairs.items())


@pytest.mark.parametrize("mode", ["open", "block_keyed"])
def test_a_run_is_the_same_to_the_last_bit_in_any_order_of_the_files_and_with_any_threads(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (layout, samples):
        monkeypatch.setattr(module, "GROUPS", 10)  # of fewer records than there are, as in large files
    monkeypatch.setattr(near_copies, "GROUPS", 10)
    spec, files = made(600, mode)
    first = linked(spec, files, threads=1)
    assert sum(is_link for *_, is_link in first.values()) > 250
    assert any(0.01 < link < 0.99 for _, link, _ in first.values())
    rng = np.random.default_rng(6)
    shuffled = {side: frame[rng.permutation(frame.height)] for side, frame in files.items()}
    assert without_copies(linked(spec, shuffled, threads=2)) == without_copies(first)
    # The same files in the same order: equal records too.
    assert linked(spec, files, threads=2) == first


def test_dummies_and_decoys_change_nothing_of_it() -> None:
    spec, files = made(300, "block_keyed")
    spec = spec.model_copy(update={"padding": "powers_of_two", "quality": QualitySpec(decoys=100)})
    first = linked(spec, files, threads=1)
    assert sum(is_link for *_, is_link in first.values()) > 100
    for _ in range(2):
        assert linked(spec, files, threads=2) == first


@pytest.mark.parametrize("mode", ["open", "block_keyed"])
def test_the_same_file_is_sent_as_the_same_bytes(mode: str) -> None:
    spec, files = made(200, mode)
    spec = spec.model_copy(update={"padding": "powers_of_two"}) if mode == "block_keyed" else spec
    payloads = {
        b"".join(
            bytes(part)
            for part in to_bytes(encoded(spec, files[Side.ALICE], Side.ALICE, NOISE[Side.ALICE], threads).sets)
        )
        for threads in (1, 2)
    }
    assert len(payloads) == 1


def test_the_order_of_a_request_follows_from_both_files_and_the_pairs_and_shows_no_block() -> None:
    keyed = Keyed(*made(300, "block_keyed"))
    parts, kept = keyed.parts, keyed.kept
    order = request_order(*parts, kept)
    assert sorted(order.tolist()) == list(range(len(kept.pattern)))
    assert np.array_equal(order, request_order(*parts, kept))
    # Neighbours in a block are not neighbours in the request: of a random order 2 of n adjacent pairs are.
    assert np.count_nonzero(np.abs(np.diff(order)) == 1) < 20
    fewer = KeptPairs(kept.row_a[1:], kept.row_b[1:], kept.pattern[1:])
    assert not np.array_equal(order[order > 0] - 1, request_order(*parts, fewer))
    # Neither file alone gives it.
    for changed in ((other_keys(keyed, Side.ALICE), parts[1]), (parts[0], other_keys(keyed, Side.BOB))):
        assert not np.array_equal(order, request_order(*changed, kept))


def other_keys(keyed: Keyed, side: Side) -> Contribution:
    sets = keyed.made[side].sets
    changed = [replace(part, blocks={name: keys ^ np.uint64(1) for name, keys in part.blocks.items()}) for part in sets]
    return contribution_of(changed, 300)


def test_handles_are_numbered_as_they_appear_within_their_kind() -> None:
    # Records 0 to 3, decoys 4 and 5, dummies from 6 on; record 1 does not appear.
    handles = np.array([3, 7, 0, 3, 5, 2, 6, 4, 0], dtype=np.int32)
    number = by_appearance(handles, (4, 2))
    assert number[handles].tolist() == [0, 6, 1, 0, 4, 2, 7, 5, 1]
    assert sorted(number.tolist()) == list(range(8))
    assert by_appearance(np.empty(0, dtype=np.int32), (0, 0)).tolist() == []
