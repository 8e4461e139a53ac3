"""A YAML document as plain values and the line of each, read without anything that could surprise.

YAML as the specification needs it: mappings, lists, text, numbers, true, false and null. Aliases (which can make a
small file huge), tags (which can name code), several documents and a key given twice are refused. Plain scalars are
read by the rules of YAML 1.2: ``no``, ``on`` and ``1e-8`` are two texts and a number, and ``0000`` stays text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from tryst.common.errors import ErrorCode, TrystErrors
from tryst.common.specification.mistakes import Mistake, Path

MAX_BYTES = 256 * 1024
MAX_DEPTH = 16
MAX_DIGITS = 18
"""Longer digit strings stay text: they are identifiers or codes, and no setting is that large."""

_WHOLE = rf"(?:0|[1-9][0-9]{{0,{MAX_DIGITS - 1}}})"
_INTEGER = re.compile(rf"-?{_WHOLE}")
_FLOAT = re.compile(rf"-?(?:{_WHOLE}(?:\.[0-9]{{1,40}})?|\.[0-9]{{1,40}})(?:[eE][-+]?[0-9]{{1,3}})?")
_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


@dataclass
class Document:
    """Values by key and position, and where each stands."""

    value: Any
    lines: dict[Path, int] = field(default_factory=dict)

    def line(self, path: Path) -> int | None:
        """The line of a path, or of the nearest thing around it that the document has."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)


def read_document(text: str, source: str) -> Document:
    """Read one YAML document.

    Parameters
    ----------
    text
        The document.
    source
        What to call it in an error: a file name.

    Raises
    ------
    TrystErrors
        If it is too large, no YAML, or uses what is refused here; every repeated key is listed.
    """
    size = len(text.encode("utf-8", errors="replace"))
    if size > MAX_BYTES:
        too_large = Mistake((), f"a specification has at most {MAX_BYTES} bytes", f"{size} bytes")
        raise TrystErrors(ErrorCode.SPECIFICATION, [too_large.error()], where=source)
    try:
        root = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = error.problem or error.context or "unreadable"
        refused = Mistake((), f"no readable YAML: {what}", remedy=_remedy(what))
        line = mark.line + 1 if mark is not None else None
        raise TrystErrors(ErrorCode.SPECIFICATION, [refused.error(line)], where=source) from None
    except yaml.reader.ReaderError as error:
        # Its own text would show the bytes around.
        refused = Mistake((), "a character that text does not have", f"U+{error.character:04X}", "save it as UTF-8")
        line = text.count("\n", 0, error.position) + 1
        raise TrystErrors(ErrorCode.SPECIFICATION, [refused.error(line)], where=source) from None
    document = Document(value=None)
    repeated: list[Mistake] = []
    if root is not None:
        document.value = _value(root, (), document.lines, repeated)
    if repeated:
        errors = [mistake.error(document.line(mistake.path)) for mistake in repeated]
        raise TrystErrors(ErrorCode.SPECIFICATION, errors, where=source)
    return document


def read_scalar(text: str) -> str | int | float | bool | None:
    """What a plain scalar means: YAML 1.2's core schema, less octal and hexadecimal."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _remedy(what: str) -> str:
    if "tab" in what or "\\t" in what:
        return "indent with blanks, not with tabs"
    if "mapping values" in what:
        return "put text with a colon in quotes, and check the indentation above"
    return "check the indentation, brackets and quotes around this line"


class _Loader(yaml.SafeLoader):
    """PyYAML's parser, refusing aliases, anchors, tags and deep nesting while it reads."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise yaml.composer.ComposerError(None, None, "anchors and aliases are refused", event.start_mark)
        if getattr(event, "tag", None) not in (None, "!"):
            raise yaml.composer.ComposerError(None, None, "tags (!) are refused", event.start_mark)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise yaml.composer.ComposerError(None, None, f"more than {MAX_DEPTH} levels deep", event.start_mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node


def _value(node: yaml.Node, path: Path, lines: dict[Path, int], repeated: list[Mistake]) -> Any:
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.ScalarNode):
        return read_scalar(node.value) if node.style is None else node.value
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*path, position), lines, repeated) for position, item in enumerate(node.value)]
    mapping: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = key_node.value if isinstance(key_node, yaml.ScalarNode) else "?"
        here = (*path, key)
        if key in mapping:
            line = key_node.start_mark.line + 1
            repeated.append(Mistake(here, "the key is given twice", f"again in line {line}", "keep one of them"))
            continue
        if not isinstance(key_node, yaml.ScalarNode):
            repeated.append(Mistake(path, "a key must be a word", "a list or mapping", "write `key: value`"))
        lines[here] = key_node.start_mark.line + 1
        mapping[key] = _value(value_node, here, lines, repeated)
    return mapping
