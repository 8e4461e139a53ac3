"""A file that a process keeps open and that must stay where it is.

A program goes on writing to a file that has been renamed or removed, and all of it is lost with the end of the program.
So the place of the file is compared with what was opened, before a write and after it.
"""

from __future__ import annotations

from pathlib import Path

from gemel.common.errors import ErrorCode, GemelError


class StandingFile:
    """A file as it was when this was made.

    Parameters
    ----------
    what
        What it is, for the error.
    remedy
        What an operator does about it.

    Raises
    ------
    OSError
        If it is missing.
    """

    def __init__(self, path: Path, what: str, remedy: str) -> None:
        self._path = path
        self._what = what
        self._remedy = remedy
        self._opened = self._present()

    def require(self) -> None:
        """Refuse to go on unless the file that was opened is still where it was.

        Raises
        ------
        GemelError
            DATABASE.
        """
        try:
            moved = self._present() != self._opened
        except OSError:
            moved = True
        if moved:
            raise GemelError(
                ErrorCode.DATABASE,
                f"{self._what} has been removed, renamed or replaced while it was in use",
                where=self._path.name,
                remedy=self._remedy,
            )

    def _present(self) -> tuple[int, int]:
        found = self._path.stat()
        return found.st_dev, found.st_ino
