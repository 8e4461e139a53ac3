"""The files that a specification names by their digest: found among those of the configuration, read and cleaned."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from gemel.common.errors import ErrorCode, GemelError, file_error
from gemel.common.parties import Side
from gemel.common.records.registry import file_source, read_source
from gemel.common.signatures.known_layout import KnownFile, known_files
from gemel.common.signatures.layout import JOINT, TRAINING
from gemel.common.specification import Specification, load_specification
from gemel.common.specification.model.blocking import WEIGHT_COLUMNS
from gemel.custodian.cleaning.known_records import KnownRecords, clean_joint, clean_training

MAX_BYTES = 256 << 20
"""A longer file is not read."""

_BLOCK = 1 << 20
_WORDS = {TRAINING: ("training records", "latent.training"), JOINT: ("a joint distribution", "latent.joint")}
_CLEANERS = {TRAINING: clean_training, JOINT: clean_joint}


def read_known_files(paths: Sequence[Path], spec: Specification, side: Side) -> tuple[KnownRecords, ...]:
    """The files that one custodian is to send, in the order of their sets.

    Parameters
    ----------
    paths
        The files that the configuration has.
    spec, side
        What is named, and who this is.

    Raises
    ------
    GemelError
        CONFIGURATION if no file has the digest that the specification names; SOURCE for one that cannot be read, is too
        long or has changed while it was read; otherwise as `clean_training` and `clean_joint`.
    """
    return tuple(_read(paths, rule, file, spec) for rule, file in known_files(spec, side).items())


def named_file(spec: Specification, path: Path, by: str) -> str:
    """The line of a specification that names a file: training records, or with counts or shares a joint distribution.

    Parameters
    ----------
    spec
        With a section `latent`, which may name other files.
    path, by
        The file, and the custodian that will have it.

    Raises
    ------
    GemelError
        SPECIFICATION if it has no latent step, or may name no file of this length; otherwise as `read_known_files`.
    """
    if spec.latent is None:
        what = "without a latent step no file is named"
        raise GemelError(ErrorCode.SPECIFICATION, what, where="latent", got="none", remedy="add the section `latent`")
    digest = _digest(path)
    table = read_source(file_source(path), None)
    joint = bool(set(WEIGHT_COLUMNS) & set(table.frame.columns))
    name, rows, rule = ("joint", "cells", JOINT) if joint else ("training", "records", TRAINING)
    file = {"by": by, "sha256": digest, rows: table.n_rows}
    content = spec.model_dump(mode="json")
    content["latent"] |= {"training": None, "joint": None, name: file}
    # JSON is YAML: what the reader refuses it refuses with a path and a reason.
    naming = load_specification(json.dumps(content), f"the specification, if it named {path.name}")
    _CLEANERS[rule](table.frame, naming, table.places, str(path))
    return f"{name}: {{by: {by}, sha256: {digest}, {rows}: {table.n_rows}}}"


def known_file_stamps(paths: Sequence[Path]) -> tuple[tuple[int, int, int], ...]:
    """Inode, size and time of each file, which change when one is replaced; zeros for one that is not there."""
    stamps = []
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            stamps.append((0, 0, 0))
            continue
        stamps.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(stamps)


def _read(paths: Sequence[Path], rule: str, file: KnownFile, spec: Specification) -> KnownRecords:
    what, option = _WORDS[rule]
    unread: GemelError | None = None
    for path in paths:
        try:
            digest = _digest(path)
        except GemelError as error:  # of another project, perhaps: it counts only where no file is the one
            unread = unread or error
            continue
        if digest != file.sha256:
            continue
        table = read_source(file_source(path), None)
        found = _CLEANERS[rule](table.frame, spec, table.places, str(path))
        if _digest(path) != file.sha256:
            raise GemelError(ErrorCode.SOURCE, "the file has changed while it was read", where=str(path))
        return found
    if unread is not None:
        raise unread
    raise GemelError(
        ErrorCode.CONFIGURATION,
        f"the specification names a file of {what} of this custodian by its SHA-256, {file.sha256}",
        where=f"known_files, {option}",
        got=f"{len(paths)} files, none with this digest" if paths else "no files",
        remedy="add the path of that very file to `known_files`, or ask the coordinator which file is meant",
    )


def _digest(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    found = hashlib.sha256()
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise GemelError(
                ErrorCode.SOURCE,
                f"a file of known values has at most {MAX_BYTES >> 20} MiB",
                where=str(path),
                got=f"{size:,} bytes",
                remedy="leave out the columns that are no variable of the value model, or records",
            )
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                found.update(block)
    except OSError as error:
        raise file_error(
            ErrorCode.SOURCE,
            "cannot be read",
            path,
            error,
            "check `known_files` and the file's permissions",
            inline=True,
        ) from None
    return found.hexdigest()
