"""A store of Carole's that the workers of a cluster read, and what a run finds in it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from benchmarks.cluster import ClusterProcesses
from gemel.carole.engine import Contribution, Resources, compare
from gemel.carole.store import Store
from gemel.carole.store.provision import StorePlace, initialise
from gemel.common.keys.identity import Identity, IdentityKey
from gemel.common.keys.vault import Vault, WrappingKeys
from gemel.common.parties import Side
from gemel.common.progress import Progress
from gemel.common.signatures.signature_sets import SignatureSet
from tests.carole.engine.progress import quiet
from tests.carole.engine.test_shards import PLAN, in_lists, people, sets_of
from tests.carole.trial import PROJECT, UPLOADS, contributed
from tests.carole.trial import Contribution as RandomContribution


class SetContribution(RandomContribution):
    """A contribution of given sets."""

    def __init__(self, sets: tuple[SignatureSet, ...], n_records: int) -> None:
        self.cut(sets, n_records)


class HeldStore(NamedTuple):
    """A store with two contributions of mode block_keyed, and what its blobs are encrypted by."""

    store: Store
    blobs: Path
    keys: WrappingKeys
    identity: Identity

    def parts(self) -> tuple[Contribution, Contribution]:
        """Of Alice and of Bob."""
        a, b = (Contribution(self.store.uploads.open(PROJECT, side)) for side in Side)
        return a, b


def held_store(folder: Path, rows: tuple[int, int] = (500, 400)) -> HeldStore:
    """A store of people with repeated records, in sets of some 60 rows."""
    keys, identity = WrappingKeys.create(), Identity(IdentityKey.create())
    place = StorePlace(f"sqlite:///{folder}/carole.db", folder / "blobs", identity)
    initialise(place)
    store = Store(place, Vault(keys))
    store.recover()
    given = {}
    for side, n in zip(Side, rows, strict=True):
        columns = people(n, n)
        columns = {name: column.append(column[:30]) for name, column in columns.items()}
        given[side] = SetContribution(sets_of(columns, 60), n + 30)
    contributed(store, given)
    return HeldStore(store, folder / "blobs", keys, identity)


def again(held: HeldStore, side: Side) -> Path:
    """The file with the blobs of a side's contribution."""
    files = sorted(path for path in held.blobs.glob("*/*") if path.is_file())
    assert len(files) == 2, "each contribution is one file"
    return files[list(UPLOADS).index(side)]


def in_a_run(held: HeldStore, resources: Resources, progress: Progress = quiet) -> list[Any]:
    """All that the first half of a run has found, to the last bit, in lists."""
    a, b = held.parts()
    found, kept = compare(a, b, PLAN, resources, progress)
    columns = kept.row_a, kept.row_b, kept.pattern, found.checked.agrees
    return [[column.tolist() for column in columns], *in_lists(found)]


class HeldCluster(ClusterProcesses):
    """A cluster whose workers read a store, unless they are given something else."""

    def __init__(self, folder: Path, held: HeldStore) -> None:
        super().__init__(folder)
        self._held = held

    def found(self, progress: Progress = quiet, **changed: Any) -> list[Any]:
        """What a run by these workers finds in the store."""
        return in_a_run(self._held, self.resources(**changed), progress)

    @property
    def n_workers(self) -> int:
        """How many have not been killed."""
        return len(self._processes.keys() - {"scheduler"})

    def kill_workers(self) -> None:
        """End them all."""
        for name in self._processes.keys() - {"scheduler"}:
            self.kill(name)

    def start(self, name: str, keys: WrappingKeys | None = None, blobs: Path | None = None, **more: Any) -> int:
        """As `worker`."""
        return self.worker(name, keys or self._held.keys, blobs or self._held.blobs, **more)


@contextmanager
def small_units(pairs: int = 2000):  # type: ignore[no-untyped-def]
    """Units of few pairs, so that a small file has many."""
    from gemel.carole.engine.pairs import shards

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "UNIT_PAIRS", pairs)
        yield


def at(stage: str, fraction: float, act: Callable[[], object]) -> Progress:
    """Progress that acts once, when a stage has come so far."""
    done = []

    def progress(now: str, share: float) -> None:
        if now == stage and share >= fraction and not done:
            done.append(True)
            act()

    return progress
