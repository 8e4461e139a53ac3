"""Carole's worker, which stands still the first time that it fits a model: ``... tests.e2e.stopping_worker REACHED``.

It does so in no write, which would lock the database. `REACHED` is a file that is there from then on.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from gemel.carole.service import worker
from gemel.carole.store.runs import Runs


def main(reached: Path) -> int:
    progress, renew_lease, writing = worker.Heartbeat.progress, Runs.renew_lease, threading.Lock()

    def renew(runs: Runs, *given: Any) -> Any:
        with writing:
            return renew_lease(runs, *given)

    def stand_still(heart: worker.Heartbeat, stage: str, fraction: float) -> None:
        progress(heart, stage, fraction)
        if stage == "model" and not reached.exists():
            with writing:
                reached.touch()
                os.kill(os.getpid(), signal.SIGSTOP)

    Runs.renew_lease, worker.Heartbeat.progress = renew, stand_still  # type: ignore[method-assign]
    return worker.main()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv.pop(1))))
