"""Every command of the program, found by walking it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from gemel.command import SUBCOMMANDS, subcommand


@cache
def commands() -> dict[str, Any]:
    """By its name, such as ``project status``: each command that has no subcommands."""
    return dict(found for name in SUBCOMMANDS for found in _walk(subcommand(name), name))


def options(command: Any) -> set[str]:
    """The long names of a command's options."""
    return {name for parameter in command.params for name in parameter.opts if name.startswith("--")}


def _walk(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    children = getattr(command, "commands", None)
    if children is None:
        yield path, command
    else:
        for name, child in children.items():
            yield from _walk(child, f"{path} {name}")
