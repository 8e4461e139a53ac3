"""Every command in the documents exists with its options, every error they quote is in the code."""

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

from gemel.command import app, subcommand
from tests.architecture.tree import product
from tests.deploy.documents import DOCUMENTS, ERRORS, lines, named_commands, typed_commands
from tests.deploy.sites import DEPLOY, REPOSITORY

GEMEL: Any = get_command(app)
GEMEL.commands = {name: subcommand(name) for name in GEMEL.commands}
NAMES = [str(path.relative_to(REPOSITORY)) for path in DOCUMENTS]


def resolve(words: list[str]) -> tuple[list[str], Any, list[str]]:
    """The command that words lead to: its name in full, the command, and the words that are left."""
    command: Any = GEMEL
    name: list[str] = []
    while hasattr(command, "commands") and words and words[0] in command.commands:
        command, name, words = command.commands[words[0]], [*name, words[0]], words[1:]
    return name, command, words


def issues(words: list[str], *, complete: bool) -> Iterator[str]:
    """What is wrong with ``gemel WORDS``; a `complete` command also has all that is required."""
    name, command, left = resolve(words)
    if len(words) == 1 and words[0] in ("--help", *(option for one in GEMEL.params for option in one.opts)):
        return
    if not name:
        yield "there is no such command"
        return
    if hasattr(command, "commands"):
        # `gemel project create|approve|start` in running text names several, `gemel project ...` any.
        for word in left[0].split("|") if left and left[0] != "..." else ():
            if word not in command.commands:
                yield f"`{' '.join(name)}` has no `{word}`"
        return
    options = {option: one for one in command.params for option in (*one.opts, *one.secondary_opts) if option[0] == "-"}
    arguments = [one for one in command.params if not one.opts[0].startswith("-")]
    given, set_options = 0, set()
    rest = iter(word for word in left if word not in ("...", "--help"))
    for word in rest:
        if not word.startswith("-"):
            given += 1
            continue
        option, _, value = word.partition("=")
        if option not in options:
            yield f"`{' '.join(name)}` has no option {option}"
            continue
        set_options.add(options[option].name)
        if not options[option].is_flag and not value:
            next(rest, None)
    if given > len(arguments) and all(each.nargs != -1 for each in arguments):
        yield f"`{' '.join(name)}` takes {len(arguments)} arguments, got {given}"
    if complete:
        missing = {one.name for one in options.values() if one.required} - set_options
        missing |= {one.name for one in arguments[given:] if one.required}
        yield from (f"`{' '.join(name)}` needs {one}" for one in sorted(missing))


@pytest.mark.parametrize("document", DOCUMENTS, ids=NAMES)
def test_every_command_exists_with_its_options(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    found = [(words, True) for words in typed_commands(text)] + [(words, False) for words in named_commands(text)]
    assert not [
        f"gemel {' '.join(words)}: {issue}" for words, complete in found for issue in issues(words, complete=complete)
    ]


def test_the_check_finds_what_is_wrong() -> None:
    for words in (
        ["alice", "approv"],
        ["party", "certify", "--autority", "x"],
        ["carole", "check", "a"],
        ["unknown"],
        ["project", "create|begin"],
        ["party", "certify", "enrolment-request.yaml", "--authority", "authority"],
        ["spec", "check"],
    ):
        assert list(issues(words, complete=True)), words
    for words in (
        ["alice", "approve", "--yes"],
        ["project", "create|approve"],
        ["spec", "check", "linkage.yaml"],
        ["party", "certify", "enrolment-request.yaml", "--authority=authority", "--out", "x"],
    ):
        assert not list(issues(words, complete=True)), words
    assert not list(issues(["spec", "check"], complete=False))


def test_every_command_that_is_shown_has_help() -> None:
    texts = [path.read_text(encoding="utf-8") for path in DOCUMENTS]
    shown = {tuple(resolve(words)[0]) for text in texts for words in (*typed_commands(text), *named_commands(text))}
    assert len(shown) > 15
    for name in sorted(shown):
        result = CliRunner().invoke(app, [*name, "--help"])
        assert result.exit_code == 0, name
        assert "Usage" in result.output


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
            for unit in re.findall(r"[\w@-]+\.service", line):
                seen["units"] += 1
                assert re.sub(r"@\w+", "@", unit) in units, line
            if target := re.search(r"--target (\S+)", line):
                seen["targets"] += 1
                assert target[1] in compose, line
            if deployment := re.search(r"-n gemel-(\w+) .*deployment/(\w+)", line):
                assert deployment[1] == deployment[2]
                assert (DEPLOY / f"helm/{deployment[1]}.yaml").exists()
            if "helm install" in line or "helm upgrade" in line:
                files = [word.partition("=")[2] for word in words if "=deploy/" in word]
                assert files
                assert all((REPOSITORY / file).exists() for file in files), line
    assert all(seen.values())


@cache
def messages() -> str:
    """Every text in the code, docstrings left out."""
    chunks = []
    for module in product().values():
        nodes = list(ast.walk(module.tree))
        remarks = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        chunks += [
            node.value
            for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in remarks
        ]
    return "\n".join(chunks)


TABLE_OF_ERRORS = re.compile(r"^\| *(?:it says|message) *\|[^\n]*\n\|[-| ]+\|\n((?:\|[^\n]*\n)+)", re.MULTILINE)


def errors(document: Path) -> list[list[str]]:
    """The rows of a page's tables of errors, as cells."""
    tables = TABLE_OF_ERRORS.findall(document.read_text(encoding="utf-8"))
    return [[cell.strip() for cell in row.strip("|").split("|")] for table in tables for row in table.splitlines()]


def test_every_error_in_a_table_is_the_codes_own() -> None:
    rows = errors(ERRORS)
    assert len(rows) > 60
    for row in rows:
        assert len(row) == 4, row
        assert all(row), row
        quoted = re.findall(r"`([^`]+)`", row[0])
        assert quoted, row
        for text in quoted:
            assert text in messages(), text
    texts = [text for row in rows for text in re.findall(r"`([^`]+)`", row[0])]
    assert len(set(texts)) == len(texts)


def test_errors_are_on_one_page() -> None:
    assert [page.name for page in DOCUMENTS if page != ERRORS and errors(page)] == []
