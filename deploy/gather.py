"""``python3.11 deploy/gather.py PARTY FOLDER``: put together what one party installs, and nothing of the others.

A party installed without containers gets what its image holds: the files named by the ``COPY`` lines of
``deploy/Dockerfile``. A second list would sooner or later lack a module that is imported in the middle of a project.
Python's own library only: it runs before anything is installed.
"""

import shlex
import shutil
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PARTIES = ("alice", "bob", "carole", "coordinator")


def stages(dockerfile):
    """The stages by name: what each is built on, and the arguments of its ``COPY`` lines."""
    found, copies = {}, []
    text = "\n".join(line for line in dockerfile.splitlines() if not line.lstrip().startswith("#"))
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line)
        if words[:1] == ["FROM"]:
            copies = []
            found[words[3]] = (words[1], copies)
        elif words[:1] == ["COPY"]:
            copies.append(words[1:])
    return found


def copies(found, name):
    """The ``COPY`` lines of a stage and of those it is built on, the first first."""
    if name not in found:
        return []
    base, own = found[name]
    return [*copies(found, base), *own]


def gather(party, folder):
    """Carry out the ``COPY`` lines of a party's build stage into a folder that does not exist yet."""
    folder.mkdir(parents=True)
    dockerfile = (REPOSITORY / "deploy/Dockerfile").read_text(encoding="utf-8")
    for *sources, last in copies(stages(dockerfile), f"build-{party}"):
        for source in sources:
            path, into = REPOSITORY / source, folder / last
            if path.is_dir():
                shutil.copytree(path, into, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
            else:
                into = into / path.name if last.endswith("/") else into
                into.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, into)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in PARTIES:
        sys.exit(f"usage: gather.py {'|'.join(PARTIES)} FOLDER")
    try:
        gather(sys.argv[1], Path(sys.argv[2]))
    except FileExistsError:
        sys.exit(f"{sys.argv[2]} exists: remove it, or name another folder")
