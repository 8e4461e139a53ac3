"""A party's folder: its file names, and the creation of several folders at once.

====================== ====================================================== ======
tls.key                TLS private key, P-256                                 0600
identity.key           Ed25519 private key, if it is not on a token or vault  0600
sealing.key            ML-KEM-768 and X25519: opens what is sealed for it     0600
wrapping.key           wrapping keys of everything encrypted at rest          0600
enrolment-request.yaml the party's public keys and certificate request        public
certificate.pem        the party's certificate                                public
linker.pem             authority of the linker's certificate                  public
callers.pem            authorities of those who may call the party's service  public
members.yaml           the membership list                                    public
====================== ====================================================== ======
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gemel.common.durable import sync_folder, whole_file
from gemel.common.errors import ErrorCode, GemelError, file_error
from gemel.common.keys.private_files import unwritable


class PartyFolder:
    """The paths of a party's files, as in the table above."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tls_key = path / "tls.key"
        self.identity = path / "identity.key"
        self.sealing = path / "sealing.key"
        self.wrapping = path / "wrapping.key"
        self.enrolment_request = path / "enrolment-request.yaml"
        self.certificate = path / "certificate.pem"
        self.linker = path / "linker.pem"
        self.callers = path / "callers.pem"
        self.members = path / "members.yaml"
        self.reserved = frozenset(file.name for file in vars(self).values() if file != path)
        """File names that no configuration file may take."""


@contextmanager
def new_folders(root: Path, *names: str) -> Iterator[Path]:
    """Make folders `names` in `root` that appear complete, or not at all.

    Yields a temporary folder (mode 0700, beside them) in which the caller makes them; at the end of a block without an
    error each is renamed to its place. An existing folder is never touched. Raises EXISTS if there is a file or folder
    of one of these names; CONFIGURATION if `root` cannot be written.
    """
    taken = [name for name in names if os.path.lexists(root / name)]
    if taken:
        what = f"the folder already has {' and '.join(taken)}, and keys are never overwritten"
        remedy = "choose another folder, or move the old ones away if their keys are no longer needed"
        raise GemelError(ErrorCode.EXISTS, what, where=str(root), remedy=remedy)
    created: list[Path] = []
    placed: list[Path] = []
    staging = root / f".new-{secrets.token_hex(8)}"
    try:
        for folder in (*reversed(root.parents), root):
            if not folder.exists():
                folder.mkdir(mode=0o700)
                created.append(folder)
        staging.mkdir(mode=0o700)
        yield staging
        for name in names:
            sync_folder(staging / name)
            (staging / name).rename(root / name)
            placed.append(root / name)
        sync_folder(root)
    except BaseException as error:
        for place in placed:
            shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(staging, ignore_errors=True)
        for folder in reversed(created):
            with suppress(OSError):
                folder.rmdir()
        if isinstance(error, OSError):
            what, remedy = "cannot make the folders here", "check that this user may write there"
            raise file_error(ErrorCode.CONFIGURATION, what, root, error, remedy) from None
        raise
    else:
        staging.rmdir()


def write_public(path: Path, data: bytes) -> None:
    """Write a file that holds no secret, whole or not at all, replacing an existing one."""
    try:
        with whole_file(path, mode=0o666) as file:
            file.write(data)
    except OSError as error:
        raise unwritable(path, error) from None
