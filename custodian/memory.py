"""The memory that a custodian's process may use, judged by what the system says that it has held.

What a step must hold is known before its long part begins, and refused there if it does not fit. That is an estimate:
while the step goes on the process's own high-water mark decides.
"""

from __future__ import annotations

import resource
from dataclasses import dataclass, field
from pathlib import Path

from gemel.common.errors import ErrorCode, GemelError

_STATUS = Path("/proc/self/status")


def high_water() -> int:
    """Most memory that this process has held so far, in bytes."""
    # What `getrusage` counts includes what the parent held before this program was started.
    return _status("VmHWM:")


def resident() -> int:
    """Memory that this process holds now, in bytes; the most it has held where the system does not say."""
    return _status("VmRSS:")


def _status(name: str) -> int:
    try:
        lines = _STATUS.read_text(encoding="ascii").splitlines()
    except OSError:
        lines = []
    found = (int(line.split()[1]) * 1024 for line in lines if line.startswith(name))
    return next(found, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


@dataclass
class MemoryLimit:
    """The most that this process may hold while a step goes on.

    Attributes
    ----------
    limit
        Bytes.
    before
        What the process held at most before the step; that it was more than the limit is not the step's error.
    """

    limit: int
    before: int = field(default_factory=high_water)

    def room(self) -> int:
        """Bytes left."""
        return max(0, self.limit - resident())

    def require(self, needed: int, what: str, where: str, remedy: str) -> None:
        """Refuse to begin what does not fit.

        Raises
        ------
        GemelError
            MEMORY.
        """
        room = self.room()
        if needed > room:
            raise GemelError(
                ErrorCode.MEMORY,
                f"{what} does not fit into this custodian's limits.memory of {_mib(self.limit)}",
                where=where,
                got=f"{_mib(needed)} needed, {_mib(room)} left",
                remedy=remedy,
            )

    def check(self, where: str) -> None:
        """Stop a step when the process has held more than it may.

        Raises
        ------
        GemelError
            MEMORY.
        """
        held = high_water()
        if held > max(self.limit, self.before):
            raise GemelError(
                ErrorCode.MEMORY,
                f"the process has held more than this custodian's limits.memory of {_mib(self.limit)}",
                where=where,
                got=_mib(held),
                remedy="raise limits.memory in its configuration, if the machine has more, and start it again",
            )


def _mib(size: int) -> str:
    return f"{-(-size // (1 << 20)):,} MiB"
