"""A party's configuration file: strict YAML, every mistake told at once with its line.

Strict means: an unknown or repeated key is a mistake, text is never taken for a number or a number for text, dates
and times stay text. Relative paths are relative to the file. A configuration may hold a secret by accident, so no
message shows a value that was read.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, ValidationInfo

from tryst.common.errors import ErrorCode, TrystError, TrystErrors

MAX_BYTES = 1 << 20
"""A configuration longer than this is not one."""

MAX_DEPTH = 32

MAX_NODES = 20_000
"""Bounds what aliases of aliases can grow into."""

_FOLDER = "folder"


class Configuration(BaseModel):
    """Base of every configuration model: unknown keys refused, values immutable and not shown in errors.

    A model's own validators must run *after* pydantic's: one that runs before turns JSON's rules, by which a list is
    taken for a tuple, into Python's, by which it is not.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


def _resolve(path: Path, info: ValidationInfo) -> Path:
    folder = (info.context or {}).get(_FOLDER)
    expanded = path.expanduser()
    return expanded if folder is None else Path(folder) / expanded


ConfiguredPath = Annotated[Path, AfterValidator(_resolve)]
"""A path that, when relative, is relative to the configuration file (``~`` is the user's home)."""

Model = TypeVar("Model", bound=BaseModel)

Location = tuple[str | int, ...]


def load_configuration(path: Path, model: type[Model]) -> Model:
    """Read a configuration file.

    Parameters
    ----------
    path
        The YAML file.
    model
        The pydantic model it must fit. `Configuration` is a good base; fields of type `ConfiguredPath` are
        resolved against the file's folder.

    Raises
    ------
    TrystError
        CONFIGURATION, when the file cannot be read, is no YAML, or does not fit: a `TrystErrors` with every
        mistake, by line and by key, never with a value.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise _mistake(path, f"a configuration has at most {MAX_BYTES} bytes", "is this the right file?")
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise _mistake(path, f"not UTF-8 at byte {error.start}", "save the file as UTF-8") from None
    except OSError as error:
        remedy = "name the configuration file with --config, and check its permissions"
        what = f"the configuration cannot be read: {(error.strerror or 'input error').lower()}"
        raise _mistake(path, what, remedy) from None
    return parse_configuration(text, model, folder=path.absolute().parent, where=str(path))


def parse_configuration(text: str, model: type[Model], *, folder: Path, where: str) -> Model:
    """Read a configuration's text; relative paths are relative to `folder`, `where` names it in errors."""
    data, lines, mistakes = _read_yaml(text, where)
    if not isinstance(data, Mapping):
        raise _mistake(where, "a configuration is a mapping of keys to values", "write `key: value` lines")
    # A section with every line commented out is null in YAML, and means its defaults.
    optional = {name for name, field in model.model_fields.items() if not field.is_required()}
    data = {key: value for key, value in data.items() if value is not None or key not in optional}
    found: Model | None = None
    try:
        # Strict validation of JSON takes a list for a tuple and text for a path, but no text for a number.
        found = model.model_validate_json(json.dumps(data), strict=True, context={_FOLDER: folder})
    except ValidationError as error:
        mistakes.extend(_mistakes(error, model, lines))
    if mistakes:
        raise TrystErrors(ErrorCode.CONFIGURATION, mistakes, where=where)
    assert found is not None  # noqa: S101
    return found


def _read_yaml(text: str, where: str) -> tuple[Any, dict[Location, int], list[TrystError]]:
    """Plain data, the line of every key, and the mistakes that YAML itself lets pass."""
    lines: dict[Location, int] = {}
    mistakes: list[TrystError] = []
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        data = None if root is None else _plain(loader, root, (), lines, mistakes)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise _mistake(f"{where}{place}", "not YAML", "check indentation, colons and quotes") from None
    except yaml.YAMLError:
        raise _mistake(where, "not YAML: it holds a character text may not have", "save it as UTF-8") from None
    return data, lines, mistakes


class _Loader(yaml.SafeLoader):
    """The safe loader, with dates and times left as text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _plain(
    loader: _Loader, node: yaml.Node, at: Location, lines: dict[Location, int], mistakes: list[TrystError]
) -> Any:
    """Turn a node into plain data. An alias is followed, so the depth is bounded: it may hold itself."""
    line = node.start_mark.line + 1
    lines.setdefault(at, line)
    if len(at) > MAX_DEPTH or len(lines) > MAX_NODES:
        raise yaml.MarkedYAMLError(problem="too deep or too large", problem_mark=node.start_mark)
    if isinstance(node, yaml.MappingNode):
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "?"
            lines[(*at, key)] = key_node.start_mark.line + 1
            if key in mapping:
                mistakes.append(_at((*at, key), lines, "the key is given twice", "keep one of the two"))
            mapping[key] = _plain(loader, value_node, (*at, key), lines, mistakes)
        return mapping
    if isinstance(node, yaml.SequenceNode):
        return [_plain(loader, item, (*at, i), lines, mistakes) for i, item in enumerate(node.value)]
    try:
        value = loader.construct_object(node)
    except ValueError as error:  # such as a number that is none
        raise yaml.MarkedYAMLError(problem="no such value", problem_mark=node.start_mark) from error
    return value if isinstance(value, str | int | float | bool | None) else str(node.value)


def _mistakes(error: ValidationError, model: type[BaseModel], lines: dict[Location, int]) -> Iterator[TrystError]:
    for item in error.errors(include_url=False, include_input=False):
        at = _in_file(tuple(item["loc"]), lines)
        match item["type"]:
            case "missing":
                yield _at(at, lines, "is missing", "add it")
            case "extra_forbidden":
                near = difflib.get_close_matches(str(at[-1]), sorted(_keys_at(model, at[:-1])), n=1)
                remedy = f"did you mean `{near[0]}`?" if near else "remove it"
                yield _at(at, lines, "is no key of this configuration", remedy)
            case _:
                message = str(item["msg"]).removeprefix("Value error, ")
                yield _at(at, lines, message[:1].lower() + message[1:], "")


def _in_file(location: Location, lines: dict[Location, int]) -> Location:
    """Drop what pydantic adds to a location (names of a union's members) and the file does not have."""
    kept: Location = ()
    for position, part in enumerate(location):
        last = position == len(location) - 1
        if (*kept, part) in lines or (last and "[" not in str(part) and not str(part)[:1].isupper()):
            kept = (*kept, part)
    return kept


def _keys_at(model: type[BaseModel], at: Location) -> set[str]:
    """Keys that the model has at a location, in any member of a union there."""
    models = {model}
    for part in at:
        inner: set[type[BaseModel]] = set()
        for candidate in models:
            if isinstance(part, str) and part in candidate.model_fields:
                inner |= set(_models(candidate.model_fields[part].annotation))
        models = inner or (models if isinstance(part, int) else set())
    return {name for candidate in models for name in candidate.model_fields}


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Models that occur in an annotation."""
    if isinstance(annotation, type) and not get_args(annotation):
        if issubclass(annotation, BaseModel):
            yield annotation
    elif get_origin(annotation) is not None:
        for argument in get_args(annotation):
            yield from _models(argument)


def _at(at: Location, lines: dict[Location, int], what: str, remedy: str) -> TrystError:
    name = ""
    for part in at:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else part
    outer = at
    while outer and outer not in lines:
        outer = outer[:-1]
    line = f" (line {lines[outer]})" if outer in lines and outer else ""
    return TrystError(ErrorCode.CONFIGURATION, what, where=f"{name or 'the file'}{line}", remedy=remedy)


def _mistake(where: Path | str, what: str, remedy: str) -> TrystError:
    return TrystError(ErrorCode.CONFIGURATION, what, where=str(where), remedy=remedy)
