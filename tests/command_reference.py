"""The reference of commands in docs/commands.md, made from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from gemel.command import SUBCOMMANDS, subcommand

SAME = {"bob": "alice"}
"""Commands with the same subcommands, arguments and options as another."""


def commands_reference() -> str:
    """A section per command, a heading per subcommand, a row per argument and option."""
    return "\n".join(line for name in SUBCOMMANDS for line in _section(name))


def _section(name: str) -> Iterator[str]:
    if name in SAME:
        yield f"## gemel {name}\n"
        yield f"As [gemel {SAME[name]}](#gemel-{SAME[name]}), for the custodian {name.title()}.\n"
    else:
        yield from _command(subcommand(name), f"gemel {name}", 2)


def _command(command: Any, path: str, depth: int) -> Iterator[str]:
    yield f"{'#' * depth} {path}\n"
    yield f"{_escaped(_paragraphs(command.help or ''))}\n"
    children = getattr(command, "commands", {})
    parameters = [one for one in command.params if one.name != "help" and not one.hidden]
    if not children:
        arguments = [_argument(one) for one in parameters if one.param_type_name == "argument"]
        options = ["[OPTIONS]"] if len(arguments) < len(parameters) else []
        yield f"```text\n{' '.join([path, *options, *arguments])}\n```\n"
    if parameters:
        yield "| argument or option | value | meaning |\n|---|---|---|"
        yield "\n".join(map(_row, parameters)) + "\n"
    for name, child in children.items():
        if not child.hidden:
            yield from _command(child, f"{path} {name}", depth + 1)


def _argument(parameter: Any) -> str:
    shown = parameter.name.upper() + ("..." if parameter.nargs == -1 else "")
    return shown if parameter.required else f"[{shown}]"


def _row(parameter: Any) -> str:
    option = parameter.param_type_name == "option"
    names = [*parameter.opts, *parameter.secondary_opts] if option else [_argument(parameter)]
    notes = [_escaped(" ".join((parameter.help or "").split()))]
    if option and parameter.required:
        notes.append("Required.")
    if parameter.multiple and "several times" not in notes[0]:
        notes.append("May be given several times.")
    default = parameter.default
    if parameter.secondary_opts and isinstance(default, bool):
        notes.append(f"Default: `{names[0 if default else 1]}`.")
    elif default is not None and default is not False and default not in ("", (), []):
        notes.append(f"Default: `{getattr(default, 'value', default)}`.")
    return f"| {', '.join(f'`{name}`' for name in names)} | {_value(parameter)} | {' '.join(filter(None, notes))} |"


def _value(parameter: Any) -> str:
    """What an argument or option takes, with its bounds."""
    kind = parameter.type_descriptor.annotation
    kind = get_args(kind)[0] if get_args(kind) and get_origin(kind) is not Literal else kind
    if get_origin(kind) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(kind))
    if kind is bool:
        return "-"
    if issubclass(kind, Enum):
        return ", ".join(f"`{choice.value}`" for choice in kind)
    name = {str: "text", int: "integer", float: "number", Path: "path"}[kind]
    low, high = getattr(parameter, "min", None), getattr(parameter, "max", None)
    if low is not None and high is not None:
        return f"{name}, {low} to {high}"
    return name if low is None else f"{name}, {low} or more"


def _paragraphs(text: str) -> str:
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n|\f", text.strip()))


def _escaped(text: str) -> str:
    """Nothing of a help text is a table's border or an element."""
    return text.replace("|", "\\|").replace("<", "&lt;")
