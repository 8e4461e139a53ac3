"""The memory a run may use: everything large is reserved here before it is allocated."""

from __future__ import annotations

from gemel.common.errors import ErrorCode, GemelError


def mebibytes(n_bytes: int) -> str:
    """A size in readable form."""
    return f"{-(-n_bytes // 2**20):,} MiB"


KEPT_BYTES = 180
"""Memory of a kept pair, its scores and its part in the one-to-one decision."""


class MemoryBudget:
    """Memory granted and memory left.

    Parameters
    ----------
    total : int
        Bytes.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.free = total
        self._min_free = total

    @property
    def peak(self) -> int:
        """Largest memory in use at any time."""
        return self.total - self._min_free

    def take(self, n_bytes: int, purpose: str, remedy: str) -> None:
        """Reserve memory.

        Raises
        ------
        GemelError
            MEMORY if less is left, with the purpose, the missing amount and the remedy.
        """
        if n_bytes > self.free:
            raise GemelError(
                ErrorCode.MEMORY,
                f"{purpose} needs {mebibytes(n_bytes)} of memory, but {mebibytes(max(0, self.free))} are left of "
                f"the {mebibytes(self.total)} this run may use",
                where="resources.memory_bytes",
                remedy=f"grant {mebibytes(self.total + n_bytes - self.free)} or more, or {remedy}",
            )
        self._use(n_bytes)

    def try_take(self, n_bytes: int, share: float) -> bool:
        """Reserve memory if it is at most a share of what is left; return whether it was."""
        if n_bytes > share * self.free:
            return False
        self._use(n_bytes)
        return True

    def give_back(self, n_bytes: int) -> None:
        """Release reserved memory."""
        self.free += n_bytes

    def _use(self, n_bytes: int) -> None:
        self.free -= n_bytes
        self._min_free = min(self._min_free, self.free)
