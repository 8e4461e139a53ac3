"""The first half of a run in a process of its own, which can be killed: ``python -m tests.carole.cluster.driver``."""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from pathlib import Path

from gemel.carole.cluster.cluster_units import cluster_units
from gemel.carole.cluster.engine_section import DaskEngine
from gemel.carole.engine import Resources
from gemel.carole.store import Store
from gemel.carole.store.provision import StorePlace
from gemel.common.keys.identity import Identity, IdentityKey
from gemel.common.keys.vault import Vault, WrappingKeys
from tests.carole.cluster.processes import HeldStore, at, in_a_run, small_units


def main(folder: Path, certificates: Path, address: str, stage: str) -> None:
    """Run by a cluster, and be killed where the stage begins."""
    keys, identity = WrappingKeys.load(folder / "wrapping.key"), Identity(IdentityKey.create())
    store = Store(StorePlace(f"sqlite:///{folder}/carole.db", folder / "blobs", identity), Vault(keys))
    files = {"ca": "ca.pem", "certificate": "certificate.pem", "key": "key.pem"}
    engine = DaskEngine(kind="dask", address=address, **{name: certificates / file for name, file in files.items()})
    held = HeldStore(store, folder / "blobs", keys, identity)
    with small_units():
        kill = partial(os.kill, os.getpid(), signal.SIGKILL)
        in_a_run(held, Resources(1 << 30, 2, partial(cluster_units, engine)), at(stage, 0.0, kill))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4])
