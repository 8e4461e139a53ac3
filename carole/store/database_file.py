"""SQLite's file: never made by accident, and never written to after it has been moved or replaced.

SQLite opens a missing file as a new, empty database, and goes on writing to a file that has been renamed or removed.
So the file is opened as an existing one, and its place is compared with it around every write.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote

from gemel.common.errors import ErrorCode, file_error
from gemel.common.standing_file import StandingFile

BUSY_SECONDS = 15
"""How long a writer waits for another one."""

_VANISHED = "nothing more is written: put the same file back, or stop Carole and restore a backup"


class DatabaseFile:
    """The file of one database.

    Parameters
    ----------
    create
        Whether a missing one is made.

    Raises
    ------
    GemelError
        DATABASE if it is missing.
    """

    def __init__(self, path: Path, *, create: bool) -> None:
        self._path = path
        if create:
            path.touch(mode=0o600)
        try:
            self._standing = StandingFile(path, "the database", _VANISHED)
        except OSError as error:
            raise file_error(
                ErrorCode.DATABASE,
                "there is no database",
                path,
                error,
                "find out where it is: a volume that is not mounted or a mistyped path looks like this; for a new "
                "store, 'gemel carole init'",
            ) from None

    def connect(self) -> sqlite3.Connection:
        """A connection to the file, which must exist."""
        place = f"file:{quote(str(self._path))}?mode=rw"
        return sqlite3.connect(place, uri=True, timeout=BUSY_SECONDS, check_same_thread=False)

    def require(self) -> None:
        """Refuse to go on unless the file that was opened is still where it was.

        Raises
        ------
        GemelError
            DATABASE.
        """
        self._standing.require()
