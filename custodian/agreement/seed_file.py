"""A seed in a file, for custodians who exchange it by hand instead of through Carole.

The file is text, of mode 0600. One custodian makes it, the other gets a copy over a channel without Carole, and its
check digits are compared::

    gemel seed 1
    project febrl4
    seed <64 hexadecimal digits>
    check <16 hexadecimal digits, to detect copying errors>
"""

from __future__ import annotations

import re
from pathlib import Path

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.keys.derivation import Purpose, Seed, derive_key
from gemel.common.keys.private_files import read_private, write_private

_LINES = ("gemel seed 1", "project ([a-z0-9-]{1,64})", "seed ([0-9a-f]{64})", "check ([0-9a-f]{16})")
_FORM = re.compile("\n".join(_LINES) + "\n?")
_REMEDY = "copy the file again from the custodian who made it with 'gemel alice seed new'"


def new_seed_file(path: Path, project: str) -> Seed:
    """Make a random seed for `project` and write it to a new file with mode 0600; PARAMETER, EXISTS, CONFIGURATION."""
    if not re.fullmatch(_LINES[1], f"project {project}"):
        what = "a project's name has 1 to 64 of the characters a-z, 0-9 and -"
        raise parameter(str(path), what, f"{len(project)} characters")
    seed = Seed.generate()
    write_private(path, seed_text(seed, project).encode("ascii"))
    return seed


def load_seed_file(path: Path, project: str) -> Seed:
    """Read the seed of `project`; CONFIGURATION if the file is missing, open to others, malformed, or another
    project's.
    """
    text = read_private(path, "the seed").decode("ascii", errors="replace").replace("\r\n", "\n")
    match = _FORM.fullmatch(text)
    if match is None:
        what = "this is not a seed file: expected the four lines 'gemel seed 1', 'project', 'seed', 'check'"
        raise GemelError(ErrorCode.CONFIGURATION, what, where=str(path), remedy=_REMEDY)
    named, digits, check = match.groups()
    if named != project:
        what = f"expected the seed of project '{project}'"
        got = f"the seed of project '{named}'"
        remedy = "a seed serves one project; make one for this project"
        raise GemelError(ErrorCode.CONFIGURATION, what, where=str(path), got=got, remedy=remedy)
    seed = Seed(bytes.fromhex(digits))
    if seed_file_check(seed, project) != check:
        what = "the seed does not have the check digits beside it: it was changed or copied with an error"
        raise GemelError(ErrorCode.CONFIGURATION, what, where=str(path), remedy=_REMEDY)
    return seed


def seed_text(seed: Seed, project: str) -> str:
    """The content of a seed file. Secret."""
    return f"gemel seed 1\nproject {project}\nseed {seed.reveal().hex()}\ncheck {seed_file_check(seed, project)}\n"


def seed_file_check(seed: Seed, project: str) -> str:
    """Sixteen digits that may be shown, by which two people check that they hold the same seed file."""
    return derive_key(seed, project, Purpose.CHECK, bytes(32), domain="seed file", epoch=0)[:8].hex()
