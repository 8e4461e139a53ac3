"""The folder of an environment: its three files, changed all together or not at all, and the last good ones.

A change is written aside as a folder, which then gets the name ``.commit`` in one step; from there the files are moved
to their places. Whatever stops this in between, the next command finds either no ``.commit``, and the files as they
were, or one, and moves what is left. ``last-good`` has the files of the last change or check. A file that a person has
edited into something inconsistent is never written over: it is named, and `restore` sets it aside.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gemel.common.durable import sync_folder, write_text
from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.keyvars.documents import FILES, environment_of, texts_of
from gemel.risk.keyvars.environment import Environment

LAST_GOOD = "last-good"
_NEXT, _COMMIT, _LOCK = ".next", ".commit", ".lock"
MAX_BYTES = 256 * 2**20


def create(folder: Path) -> None:
    """An empty environment in a folder, which is made if need be."""
    if any((folder / name).exists() for name in FILES):
        raise GemelError(ErrorCode.EXISTS, "there is an environment already", where=str(folder))
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        _write(folder, texts_of(Environment()))


def read(folder: Path, *, strict: bool = True) -> Environment:
    """The environment of a folder."""
    with _locked(folder):
        return environment_of(_texts(folder), strict=strict)


@contextmanager
def changed(folder: Path) -> Iterator[Environment]:
    """The environment of a folder, to be changed; written back when the block ends, and not if it raises."""
    with _locked(folder):
        before = _texts(folder)
        environment = environment_of(before)
        yield environment
        after = texts_of(environment)
        environment_of(after)  # What could not be read back is not written.
        if _texts(folder) != before:
            what = "the files changed meanwhile"
            raise GemelError(ErrorCode.BUSY, what, where=str(folder), remedy="run the command again")
        _write(folder, after)


def check(folder: Path) -> Environment:
    """Read an environment, and keep it as the last good one if it is consistent."""
    with _locked(folder):
        texts = _texts(folder)
        environment = environment_of(texts)
        for name, text in texts.items():
            replace_file(folder / LAST_GOOD / name, text)
        return environment


def restore(folder: Path) -> list[Path]:
    """Bring back the last good files, NOT_FOUND if there are none; returns where what was there is set aside."""
    with _locked(folder):
        good = folder / LAST_GOOD
        if not all((good / name).exists() for name in FILES):
            raise GemelError(ErrorCode.NOT_FOUND, "there is no last good state", where=str(good))
        texts = {name: read_text(good / name) for name in FILES}
        environment_of(texts)
        aside = []
        for name in FILES:
            if (folder / name).exists() and (folder / name).read_bytes() != texts[name].encode():
                number = 1
                while (kept := folder / f"{name}.{number}").exists():
                    number += 1
                shutil.copyfile(folder / name, kept)
                aside.append(kept)
        _write(folder, texts)
        return aside


def _texts(folder: Path) -> dict[str, str]:
    return {name: read_text(folder / name) for name in FILES if name == FILES[0] or (folder / name).exists()}


def read_text(path: Path, encoding: str = "utf-8") -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise GemelError(ErrorCode.SOURCE, f"larger than {MAX_BYTES // 2**20} MB", where=str(path))
        return path.read_bytes().decode("utf-8-sig" if encoding == "utf-8" else encoding)
    except UnicodeDecodeError as error:
        what, got = f"it is no {encoding.upper()} text", f"another encoding at byte {error.start}"
        raise GemelError(ErrorCode.TEXT_ENCODING, what, where=str(path), got=got, remedy="save it as UTF-8") from None
    except OSError as error:
        raise GemelError(
            ErrorCode.NOT_FOUND, "cannot be read", where=str(path), got=(error.strerror or "unreadable").lower()
        ) from None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One command at a time; what an interrupted one left is finished first."""
    if not folder.is_dir():
        remedy = "make one with `gemel keyvars add environment`, or name its folder with --environment"
        raise GemelError(ErrorCode.NOT_FOUND, "there is no environment", where=str(folder), remedy=remedy)
    with (folder / _LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _finish(folder)
        yield


def _write(folder: Path, texts: dict[str, str]) -> None:
    shutil.rmtree(folder / _NEXT, ignore_errors=True)
    (folder / _NEXT).mkdir()
    for name, text in texts.items():
        replace_file(folder / _NEXT / name, text)
    (folder / _NEXT).rename(folder / _COMMIT)
    sync_folder(folder)
    _finish(folder)


def _finish(folder: Path) -> None:
    """Move the files of a commit, if there is one, to their places; may be done any number of times."""
    commit = folder / _COMMIT
    if not commit.is_dir():
        return
    for name in FILES:
        if (commit / name).exists():
            replace_file(folder / LAST_GOOD / name, (commit / name).read_text(encoding="utf-8"))
            (commit / name).replace(folder / name)
    sync_folder(folder)
    commit.rmdir()
    sync_folder(folder)


def replace_file(path: Path, text: str) -> None:
    """Write a file so that a crash leaves the old one or the new."""
    path.parent.mkdir(exist_ok=True)
    write_text(path, text)
