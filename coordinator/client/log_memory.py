"""What a coordinator or a steward, who runs commands only, keeps of Carole's audit log in a small file.

These are the checkpoints it has verified, and the runs it knows to be released; a custodian's service has them in its
state.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gemel.common.audit import Checkpoint
from gemel.common.durable import whole_file
from gemel.common.errors import ErrorCode, GemelError, file_error

_HOUR_MS = 60 * 60 * 1000


class FileMemory:
    """The memory of a coordinator or a steward: a JSON file, changed as a whole, made when there is something to keep.

    Of the checkpoints of one hour the last is kept. Every method raises CONFIGURATION if the file cannot be read or
    written, AUDIT if it is not what was written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def seen(self) -> list[Checkpoint]:
        return [Checkpoint.from_text(text, str(self._path)) for text in self._read()["seen"]]

    def newest_seen(self) -> Checkpoint | None:
        return next(reversed(self.seen()), None)

    def see(self, checkpoint: Checkpoint) -> None:
        with self._changing() as content:
            seen = content["seen"]
            if seen:
                newest = Checkpoint.from_text(seen[-1], str(self._path))
                if newest.size >= checkpoint.size:
                    return  # another command of the same party was faster
                if newest.at // _HOUR_MS == checkpoint.at // _HOUR_MS:
                    seen.pop()
            seen.append(checkpoint.to_text())

    def set_aside(self, restoration: int, size: int) -> None:
        with self._changing() as content:
            former = [Checkpoint.from_text(text, str(self._path)) for text in content["seen"]]
            content["seen"] = [checkpoint.to_text() for checkpoint in former if checkpoint.size <= size]
            cut = (checkpoint for checkpoint in former if checkpoint.size > size)
            content["lost"] += [[restoration, checkpoint.to_text()] for checkpoint in cut]

    def lost(self, restoration: int) -> Checkpoint | None:
        texts = [text for number, text in self._read()["lost"] if number == restoration]
        lost = [Checkpoint.from_text(text, str(self._path)) for text in texts]
        return max(lost, key=lambda checkpoint: checkpoint.size, default=None)

    def note_released(self, project: str, run: str, root: bytes = b"") -> None:
        """Keep that a run is released, and the root digest of the share that was fetched of it, if any."""
        former = self._read()["released"].get(project, {}).get(run)
        if former is not None and (former or not root):
            return
        with self._changing() as content:
            content["released"].setdefault(project, {})[run] = root.hex()

    def released(self, project: str) -> Mapping[str, bytes]:
        """The runs of a project that are known to be released, with the root digest of a fetched share or none."""
        return {run: bytes.fromhex(root) for run, root in self._read()["released"].get(project, {}).items()}

    def _read(self) -> dict[str, Any]:
        try:
            content: dict[str, Any] = json.loads(self._path.read_text(encoding="utf-8"))
            return {"seen": content["seen"], "lost": content["lost"], "released": content["released"]}
        except FileNotFoundError:
            return {"seen": [], "lost": [], "released": {}}
        except (ValueError, KeyError, TypeError):
            what = "this is not the file of what was seen of Carole's audit log"
            where = str(self._path)
            raise GemelError(ErrorCode.AUDIT, what, where=where, remedy="restore it from its backup") from None
        except OSError as error:
            raise self._unusable(error) from None

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Any]]:
        """The content, written at the end; other commands of this party that change the file wait meanwhile."""
        try:
            folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fcntl.flock(folder, fcntl.LOCK_EX)
                content = self._read()
                yield content
                with whole_file(self._path) as file:
                    file.write(json.dumps(content, indent=1).encode() + b"\n")
            finally:
                os.close(folder)
        except OSError as error:
            raise self._unusable(error) from None

    def _unusable(self, error: OSError) -> GemelError:
        what = "what was seen of Carole's audit log cannot be kept"
        remedy = "set `state` in the configuration to a folder that this user can write"
        return file_error(ErrorCode.CONFIGURATION, what, self._path, error, remedy)
