"""Nothing tells anyone to install this distribution by its name: on an index of packages another program has it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from tryst.common.missing_module import DISTRIBUTION, EXTRAS, installing

REPOSITORY = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NAME = PROJECT["name"]
ENDINGS = {".md", ".py", ".yaml", ".yml", ".j2", ".po", ".html", ".ipynb", ".toml", ".txt", ".sh", ".conf", ".service"}
NAMED = {"Makefile", "Dockerfile"}
HISTORY = {"CHANGELOG.md"}
"""States what held at the time."""
INSTALLER = re.compile(r"\b(?:pipx?3?|uv|conda|mamba|poetry|pdm)\b[^\n`;|&]*?\s(?:install|add)\s([^\n`;|&]*)")


def by_name(text: str, name: str) -> Iterator[str]:
    """What would ask an index for `name`: it, its extras or a version of it after an installer, and extras anywhere.

    A folder, an address and a wheel's file are none: the name is a whole word of what is installed.
    """
    whole = re.compile(rf"(?<![\w./-]){re.escape(name)}(?![\w/-]|\.\w)")
    for typed in INSTALLER.finditer(text.replace("\\\n", " ")):
        if whole.search(typed[1]):
            yield typed[0].strip()
    for extra in re.finditer(rf"(?<![\w./-]){re.escape(name)}\[[\w, -]+\]", text):
        yield extra[0]


def read() -> Iterator[tuple[str, str]]:
    """Text of the product, its documents and its deployment, by path; tests aside."""
    for folder in sorted(path for path in REPOSITORY.iterdir() if not path.name.startswith(".")):
        for path in sorted(folder.rglob("*")) if folder.is_dir() and not folder.is_symlink() else [folder]:
            place = path.relative_to(REPOSITORY)
            kept = place.parts[0] not in {"tests", "build", "dist", "site", "demo", *HISTORY} and path.is_file()
            if kept and (path.suffix in ENDINGS or path.name in NAMED):
                yield str(place), path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "text",
    [
        "pip install {}",
        "It is installed by pip install {}.",
        "`pip install '{}[postgres]'`",
        "install {}[postgres] and write the URL",
        ".venv/bin/pip install --constraint constraints.txt \\\n    '{}[console]'",
        "python -m pip install -U {}==0.1.0",
        "uv add {}",
        "pipx install {}",
    ],
)
def test_the_name_is_found(text: str) -> None:
    assert list(by_name(text.format(NAME), NAME))


@pytest.mark.parametrize(
    "text",
    [
        "pip install '.[postgres]'",
        "pip install './{}-0.1.0-py3-none-any.whl[postgres]'",
        "/opt/{}/bin/pip install --no-deps /opt/{}/source",
        "`pip install '.[report]'` installs it under the one name `{}`",
        "pip install --requirement {}.txt",
    ],
)
def test_a_folder_and_a_wheel_are_not(text: str) -> None:
    assert not list(by_name(text.replace("{}", NAME), NAME))


def test_nothing_installs_by_the_name() -> None:
    texts = dict(read())
    assert len(texts) > 500
    assert {"README.md", "deploy/README.md", "common/missing_module.py", "docs/console.md", "Makefile"} <= texts.keys()
    # The extra `dev` is made of the other ones: pip takes the project's own, and asks no index.
    of_itself = {word for words in PROJECT["optional-dependencies"].values() for word in words}
    found = [
        f"{place}: {words}"
        for place, text in texts.items()
        for words in by_name(text, NAME)
        if not (place == "pyproject.toml" and words in of_itself)
    ]
    assert not found, found


@pytest.mark.parametrize("extra", sorted(set(EXTRAS.values())))
def test_a_remedy_installs_an_extra_that_there_is_and_never_by_the_name(extra: str) -> None:
    assert DISTRIBUTION == NAME
    assert extra in PROJECT["optional-dependencies"]
    remedy = installing(extra)
    assert f"pip install '.[{extra}]'" in remedy
    assert f"pip install './{NAME}-{version(NAME)}-py3-none-any.whl[{extra}]'" in remedy
    assert not list(by_name(remedy, NAME))
