"""How many processors there are for this process."""

from __future__ import annotations

import os


def processors() -> int:
    """Those that it may use; where the system does not say, all of the machine's."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
