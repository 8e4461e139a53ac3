"""What a run may use of the machine."""

from __future__ import annotations

from dataclasses import dataclass

from gemel.carole.engine.run.unit_pool import UnitPools
from gemel.common.errors import parameter


@dataclass(frozen=True)
class Resources:
    """What a run may use.

    Attributes
    ----------
    memory_bytes
        For the run's data, signatures included; the interpreter and its libraries need about 250 MB more.
    threads
        Threads that compare and count.
    units
        Where a run in mode block_keyed works on its shards instead; None: on these threads.
    """

    memory_bytes: int
    threads: int
    units: UnitPools | None = None

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise parameter("resources.threads", "at least one thread", str(self.threads), "give 1 or more")
