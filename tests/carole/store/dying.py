"""A process that works on Carole's store as her worker, or as she does, and kills itself at a given point."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from gemel.carole.projects.operations import release
from gemel.carole.store import Store
from gemel.carole.store.payloads.encrypted_payloads import EncryptedPayloads
from gemel.carole.store.provision import StorePlace
from gemel.carole.store.runs import Lease
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.keys.vault import Vault, WrappingKeys
from gemel.common.parties import Role

point, url, folder, holder, run, now = sys.argv[1:]
folder = Path(folder)
vault, identity = Vault(WrappingKeys.load(folder / "wrapping.key")), open_identity(None, folder / "identity.key")
store = Store(StorePlace(url, folder / "blobs", identity, lambda: int(now)), vault, holder=holder)
lease = Lease(run, "trial", "worker", 1)


def erase_project():
    store.apply("trial", lambda project, _: release.erase(project, Role.COORDINATOR, "coordinator"))


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def content(erase):
    yield b"a" * (100 if erase else (1 << 20) + 1)  # less than a chunk, or a chunk and what is not one yet
    if erase:
        erase_project()
    else:
        die()


if point == "sealing":
    store.runs.finish(lease, 1, {"custodian-a": content(False)})
elif point == "sealing beside an erasure":
    # The erasure comes between two shares; the worker would be killed after it has written the second one.
    real, count = EncryptedPayloads.store, []

    def stored(*arguments):
        count.append(real(*arguments))
        return die() if len(count) == 2 else count[-1]

    EncryptedPayloads.store = stored
    store.runs.finish(lease, 1, {"custodian-a": content(True), "coordinator": [b"{}"]})
elif point == "erased":
    EncryptedPayloads.remove = die
    erase_project()
elif point == "within an erasure by retention":
    erase = EncryptedPayloads.erase

    def erased(*arguments):
        erase(*arguments)
        die()

    EncryptedPayloads.erase = erased
    store.retention.enforce()
elif point == "after an erasure by retention":
    EncryptedPayloads.remove = die
    store.retention.enforce()
elif point == "while it sweeps":
    EncryptedPayloads.remove = EncryptedPayloads.sweep = die
    store.sweep()
