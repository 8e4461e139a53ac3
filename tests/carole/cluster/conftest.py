"""A cluster that the tests of a module share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.carole.cluster.processes import HeldCluster, HeldStore, held_store


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeldStore]:
    found = held_store(tmp_path_factory.mktemp("store"))
    yield found
    found.store.close()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, held: HeldStore) -> Iterator[HeldCluster]:
    """A scheduler and three workers of one thread each."""
    made = HeldCluster(tmp_path_factory.mktemp("cluster"), held)
    try:
        for name in ("one", "two", "three"):
            made.start(name, wait=False)
        made.ready("one", "two", "three")
        yield made
    finally:
        made.stop()
