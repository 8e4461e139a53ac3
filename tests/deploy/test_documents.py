"""Every command in the documents exists with its options, every file they name is there, every error is in the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command
from typer.testing import CliRunner

from common.command import build
from tests.deploy.documents import DOCUMENTS, lines, tryst_commands
from tests.deploy.sites import DEPLOY, REPOSITORY

TRYST = get_command(build([]))
NAMES = [str(path.relative_to(REPOSITORY)) for path in DOCUMENTS]
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
PLACEHOLDER = re.compile(r"\.\.\.|…|[A-Z]+")


def resolve(words: list[str]) -> tuple[list[str], Any, list[str]]:
    """The command that words lead to: its name in full, the command, and the words that are left."""
    command: Any = TRYST
    name: list[str] = []
    while hasattr(command, "commands") and words and words[0] in command.commands:
        command, name, words = command.commands[words[0]], [*name, words[0]], words[1:]
    return name, command, words


def mistakes(words: list[str]) -> Iterator[str]:
    """What is wrong with ``tryst WORDS``."""
    name, command, left = resolve(words)
    if not name:
        yield "there is no such command"
        return
    options = {option: one for one in command.params for option in (*one.opts, *one.secondary_opts) if option[0] == "-"}
    options["--help"] = None
    arguments = [one for one in command.params if not one.opts[0].startswith("-")]
    if (
        hasattr(command, "commands")
        and left
        and not all(re.fullmatch(r"[a-z|]+|\.\.\.|-.*", word) for word in left[:1])
    ):
        yield f"`{' '.join(name)}` has no `{left[0]}`"
    if hasattr(command, "commands"):
        # `tryst project create|approve|start` in running text names several.
        yield from (f"there is no `{word}`" for word in left[:1] for word in word.split("|")
                    if re.fullmatch(r"[a-z]+", word) and word not in command.commands)  # fmt: skip
        return
    given = 0
    at = 0
    while at < len(left):
        word = left[at].partition("=")[0]
        at += 1
        if not word.startswith("-"):
            given += not PLACEHOLDER.fullmatch(word) or word != "..."
            continue
        if word not in options:
            yield f"`{' '.join(name)}` has no option {word}"
        elif options[word] is not None and not options[word].is_flag:
            at += 1
    limit = sum(one.nargs if one.nargs > 0 else 99 for one in arguments)
    if given > limit:
        yield f"`{' '.join(name)}` takes {limit} arguments, got {given}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=NAMES)
def test_every_command_exists_with_its_options(document: Path) -> None:
    found = list(tryst_commands(document.read_text(encoding="utf-8")))
    assert found, "a document that shows no command is not read right"
    wrong = [f"tryst {' '.join(words)}: {mistake}" for words in found for mistake in mistakes(words)]
    assert not wrong


def test_the_check_finds_what_is_wrong() -> None:
    for words in (
        ["alice", "approv"],
        ["party", "certify", "--autority", "x"],
        ["carole", "check", "a", "b"],
        ["nobody"],
    ):
        assert list(mistakes(words)), words
    for words in (["alice", "approve", "--yes"], ["project", "create|approve"], ["spec", "check", "linkage.yaml"]):
        assert not list(mistakes(words)), words


def test_every_command_that_is_shown_has_help() -> None:
    shown = {
        tuple(resolve(words)[0]) for path in DOCUMENTS for words in tryst_commands(path.read_text(encoding="utf-8"))
    }
    assert len(shown) > 15
    for name in sorted(shown):
        result = CliRunner().invoke(build(list(name)), [*name, "--help"])
        assert result.exit_code == 0, name
        assert "Usage" in result.output


@pytest.mark.parametrize("document", DOCUMENTS, ids=NAMES)
def test_every_file_that_is_named_is_there(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for target in LINK.findall(text):
        if not target.startswith(("http:", "https:")):
            assert (document.parent / target).exists(), target
    for path in re.findall(r"(?<![\w/])deploy/[\w./-]*\w", text):
        if not path.startswith(("deploy/parties", "deploy/records")):
            assert (REPOSITORY / path).exists(), path


def test_containers_units_and_deployments_in_the_commands_exist() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    units = {path.name for path in (DEPLOY / "systemd").glob("*.service")}
    seen = {"compose": 0, "units": 0, "targets": 0}
    for document in DOCUMENTS:
        for words in lines(document.read_text(encoding="utf-8")):
            line = " ".join(words)
            if "docker compose" in line:
                seen["compose"] += 1
                assert any(word in compose for word in words), line
            for unit in re.findall(r"[\w-]+\.service", line):
                seen["units"] += 1
                assert unit in units, line
            if target := re.search(r"--target (\S+)", line):
                seen["targets"] += 1
                assert target[1] in compose, line
            if deployment := re.search(r"-n tryst-(\w+) .*deployment/(\w+)", line):
                assert deployment[1] == deployment[2]
                assert (DEPLOY / f"kubernetes/{deployment[1]}.yaml").exists()
    assert all(seen.values())


@cache
def messages() -> str:
    """Every piece of text in the code that runs; names in braces stand for what is filled in."""
    pieces = []
    for package in ("common", "carole"):
        for path in sorted((REPOSITORY / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    pieces.append(node.value)
                elif isinstance(node, ast.JoinedStr):
                    parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
                    pieces.append("".join(map(str, parts)))
    return "\n".join(pieces)


TABLE_OF_ERRORS = re.compile(r"^\| *it says *\|[^\n]*\n\|[-| ]+\|\n((?:\|[^\n]*\n)+)", re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS[2:], ids=NAMES[2:])
def test_every_error_in_a_table_is_the_codes_own(document: Path) -> None:
    tables = TABLE_OF_ERRORS.findall(document.read_text(encoding="utf-8"))
    assert tables
    for table in tables:
        for row in table.splitlines():
            cell = row.split("|")[1]
            quoted = re.findall(r"`([^`]+)`", cell)
            assert quoted, row
            for text in quoted:
                assert text in messages(), text
