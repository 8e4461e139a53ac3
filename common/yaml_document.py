"""The one reader of YAML that people write: a specification, a party's configuration, a list of members.

The dialect: mappings, lists, text, numbers, true, false and null. Aliases (which can make a small file huge), tags
(which can name code), several documents and a key given twice are refused; bytes and depth are bounded. Plain scalars
are read by the core schema of YAML 1.2, less octal and hexadecimal: ``no``, ``on`` and ``2020-01-01`` are text,
``1e-8`` is a number, and ``0777``, ``1_000`` and ``1:30`` stay text, which is then no valid number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import yaml

from gemel.common.errors import ErrorCode, GemelErrors
from gemel.common.validation_issues import DocumentPath, ValidationIssue

MAX_DEPTH = 16
MAX_DIGITS = 18
"""Longer digit strings stay text: they are identifiers or codes, and no setting is that large."""

_WHOLE = rf"(?:0|[1-9][0-9]{{0,{MAX_DIGITS - 1}}})"
_INTEGER = re.compile(rf"-?{_WHOLE}")
_FLOAT = re.compile(rf"-?(?:{_WHOLE}(?:\.[0-9]{{1,40}})?|\.[0-9]{{1,40}})(?:[eE][-+]?[0-9]{{1,3}})?")
_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


@dataclass(frozen=True)
class DocumentKind:
    """A kind of document: its name, its maximum size, and the code of its errors."""

    noun: str
    """Such as ``a specification``."""
    code: ErrorCode
    max_bytes: int
    """A larger document is refused before it is parsed."""
    shows_values: bool
    """Whether an error may show values. Not where a secret could have been written by accident."""


@dataclass
class YamlDocument:
    """Values by key and position, with their lines."""

    kind: DocumentKind
    source: str
    """The document's name in errors: its file name."""
    value: Any = None
    lines: dict[DocumentPath, int] = field(default_factory=dict)
    repeated: list[ValidationIssue] = field(default_factory=list)
    """Keys given twice, the first of which is kept."""

    def line(self, path: DocumentPath) -> int | None:
        """The line of a path, or of the nearest enclosing path that the document has."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)

    def errors(self, issues: Iterable[ValidationIssue]) -> GemelErrors:
        """Issues of the document as one error, in the order of their lines; without values where none may show."""
        hidden = [i if self.kind.shows_values else ValidationIssue(i.path, i.what, remedy=i.remedy) for i in issues]
        # A missing key has no line of its own and is reported at the enclosing section; at the top it comes first.
        numbered = sorted(((self.line(i.path), i) for i in hidden), key=lambda pair: pair[0] or 0)
        code = self.kind.code
        return GemelErrors(code, [issue.error(code, line) for line, issue in numbered], where=self.source)


def read_yaml(text: str, source: str, kind: DocumentKind) -> YamlDocument:
    """Read one YAML document; `source` names it in errors. Raises `GemelErrors` if it is too large, not YAML, or uses a
    refused feature. Repeated keys are listed in the document, so that they can be reported with all other issues."""
    document = YamlDocument(kind, source)
    size = len(text.encode("utf-8", errors="replace"))
    if size > kind.max_bytes:
        what = f"{kind.noun} has at most {kind.max_bytes} bytes"
        raise document.errors([ValidationIssue((), what, f"{size} bytes", "is this the right file?")])
    try:
        root = yaml.compose(text, Loader=_Loader)
        if root is not None:
            document.value = _value(root, (), document)
    except yaml.MarkedYAMLError as error:
        raise _unreadable(error, document) from None
    except yaml.reader.ReaderError as error:
        # The exception's own text would show the surrounding bytes.
        document.lines[()] = text.count("\n", 0, error.position) + 1
        got = f"U+{error.character:04X}"
        issue = ValidationIssue((), "a character that is not allowed in text", got, "save it as UTF-8")
        raise document.errors([issue]) from None
    return document


def read_scalar(text: str) -> str | int | float | bool | None:
    """What a plain scalar means: YAML 1.2's core schema, less octal and hexadecimal."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text


class _RefusedError(yaml.composer.ComposerError):
    """Valid YAML that this dialect refuses; the message shows nothing of the document."""


def _unreadable(error: yaml.MarkedYAMLError, document: YamlDocument) -> GemelErrors:
    mark = error.problem_mark or error.context_mark
    if mark is not None:
        document.lines[()] = mark.line + 1
    problem = error.problem or error.context or "unreadable"
    # PyYAML's own message may contain a character or a name from the document.
    shows = document.kind.shows_values or isinstance(error, _RefusedError)
    what = f"not readable as YAML: {problem}" if shows else "not readable as YAML"
    return document.errors([ValidationIssue((), what, remedy=_remedy(problem))])


def _remedy(problem: str) -> str:
    if "tab" in problem or "\\t" in problem:
        return "indent with blanks, not with tabs"
    if "mapping values" in problem:
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
            raise _RefusedError(None, None, "anchors and aliases are refused", event.start_mark)
        if getattr(event, "tag", None) not in (None, "!"):
            raise _RefusedError(None, None, "tags (!) are refused", event.start_mark)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _RefusedError(None, None, f"more than {MAX_DEPTH} levels deep", event.start_mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node


def _value(node: yaml.Node, path: DocumentPath, document: YamlDocument) -> Any:
    document.lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.ScalarNode):
        return read_scalar(node.value) if node.style is None else node.value
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*path, position), document) for position, item in enumerate(node.value)]
    mapping: dict[str, Any] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise _RefusedError(None, None, "a key must be a word", key_node.start_mark)
        line = key_node.start_mark.line + 1
        here = (*path, key_node.value)
        if key_node.value in mapping:
            what = f"the key is given twice, again in line {line}"
            document.repeated.append(ValidationIssue(here, what, remedy="keep one of them"))
            continue
        document.lines[here] = line
        mapping[key_node.value] = _value(value_node, here, document)
    return mapping
