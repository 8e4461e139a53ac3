"""Links and paths in the documents lead somewhere, and every page is two clicks from README, a paper's three."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from benchmarks.__main__ import modules

REPOSITORY = Path(__file__).resolve().parents[2]
README = REPOSITORY / "README.md"
DOCUMENTS = sorted(
    page for pages in ("*.md", "docs/**/*.md", "deploy/**/*.md", "research/*.md") for page in REPOSITORY.glob(pages)
)
HISTORY = {"CHANGELOG.md"}
"""Names what was there at the time."""

BLOCK = re.compile(r"^(?:```|~~~)\w*\n(.*?)^(?:```|~~~)$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FOLDERS = {path.name for path in REPOSITORY.iterdir() if path.is_dir() and not path.name.startswith(".")}
PLACEHOLDERS = ("deploy/parties", "deploy/records")
"""Folders that an operator makes by the instructions."""


def name(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


def anchor(heading: str) -> str:
    """As GitHub makes one of a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def links(document: Path) -> Iterator[tuple[Path, str]]:
    """Targets inside the repository, each with its anchor."""
    text = BLOCK.sub("", document.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        if not re.match(r"[a-z]+:", target):
            path, _, heading = target.partition("#")
            yield (document.parent / path).resolve() if path else document, heading


def words(text: str) -> Iterator[str]:
    """What stands in code: the words of code blocks and of code in running text."""
    for code in (*BLOCK.findall(text), *CODE.findall(BLOCK.sub("", text))):
        for line in code.splitlines():
            try:
                yield from shlex.split(line, comments=True)
            except ValueError:
                yield from line.split()


def missing_paths(text: str) -> list[str]:
    """Paths in code that begin in a folder of the repository, or name a Python file, and are not there."""
    found = []
    for word in words(text):
        path = word.partition("::")[0].rstrip("/")
        if not re.fullmatch(r"[\w.*-]+(/[\w.*-]+)*", path) or path.startswith(PLACEHOLDERS):
            continue
        in_folder = "/" in path and path.partition("/")[0] in FOLDERS
        if (in_folder or ("/" in path and path.endswith((".py", ".proto")))) and not any(REPOSITORY.glob(path)):
            found.append(path)
    return found


def missing_tests(text: str) -> list[str]:
    """Files of tests that are named anywhere, in a table too, and that do not exist."""
    files = re.findall(r"(?<![\w/])test_\w+\.py\b", text)
    return [file for file in files if not any((REPOSITORY / "tests").rglob(file))]


def missing_modules(text: str) -> list[str]:
    """Modules that a command runs, or that are named by their full name, and that do not exist."""
    found = []
    for dotted in re.findall(r"(?<![\w/.-])gemel(?:\.[a-z_]+)+\b", text):
        if not (REPOSITORY / dotted).exists() and not _exists(dotted):
            found.append(dotted)
    for package, program in re.findall(r"python -m (benchmarks|research) ([a-z]\w*)", text):
        if program not in modules(package, REPOSITORY / package):
            found.append(f"{package} {program}")
    return found


def _exists(dotted: str) -> bool:
    """Whether a module, or a name in one, exists under the dotted name."""
    parent, _, last = dotted.rpartition(".")
    try:
        if find_spec(dotted) is not None:
            return True
    except ModuleNotFoundError:
        return False
    return hasattr(import_module(parent), last)


@cache
def anchors(page: Path) -> set[str]:
    """Of every heading of a page."""
    return {anchor(text) for text in HEADING.findall(BLOCK.sub("", page.read_text(encoding="utf-8")))}


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    found = [(document, target, heading) for document in DOCUMENTS for target, heading in links(document)]
    assert len(found) > 500
    assert not [
        f"{name(document)} links to {target}#{heading}"
        for document, target, heading in found
        if not target.exists() or (heading and heading not in anchors(target))
    ]


def test_every_path_and_module_named_in_code_exists() -> None:
    missing = {}
    for document in DOCUMENTS:
        if document.name not in HISTORY:
            text = document.read_text(encoding="utf-8")
            missing[name(document)] = [*missing_paths(text), *missing_tests(text), *missing_modules(text)]
    assert {page: found for page, found in missing.items() if found} == {}


def test_a_missing_path_is_found() -> None:
    assert missing_paths("`common/nothing.py` and `tests/**/test_nothing.py`") == [
        "common/nothing.py",
        "tests/**/test_nothing.py",
    ]
    assert missing_paths("```sh\npython -m pytest tests/nothing -q\n```\n") == ["tests/nothing"]
    assert missing_paths("`engine/test_bad_input.py`") == ["engine/test_bad_input.py"]
    assert not missing_paths("`common/errors.py`, `tests/**/test_links.py`, `deploy/parties`, `a/b`, `/etc/hosts`")
    assert missing_tests("| a claim | test_nothing.py, test_links.py | exactly |") == ["test_nothing.py"]
    assert missing_modules("`python -m gemel.common.nothing`, python -m benchmarks nothing") == [
        "gemel.common.nothing",
        "benchmarks nothing",
    ]
    assert not missing_modules("`gemel.common.errors`, python -m benchmarks encode")


def test_the_architecture_page_lists_the_import_contracts() -> None:
    contracts = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    rows = (REPOSITORY / "docs/architecture.md").read_text(encoding="utf-8").splitlines()
    assert contracts
    for contract in contracts:
        assert any(row.startswith(f"| {contract['name']} |") for row in rows), contract["name"]


def test_every_page_is_two_clicks_from_the_readme() -> None:
    first = {target for target, _ in links(README)}
    second = {target for page in first if page.suffix == ".md" for target, _ in links(page)}
    reached = first | second
    experiments = REPOSITORY / "research/README.md"
    assert experiments in reached
    reached |= {target for target, _ in links(experiments) if target.parent == experiments.parent}
    unreached = [name(page) for page in DOCUMENTS if page != README and page not in reached]
    assert not unreached
