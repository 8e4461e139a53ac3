"""A page: a package's template and style in the shell that all reports share, rendered and written.

Sentences that documents have in English, in the language of a report.

A document is signed, and English: its warnings, methods and reasons are whole sentences with figures in them. Of each
the form is known, such as ``{share:.0%} of the links``. A report recognises the form, translates it, and writes the
figures in its own language. What is not recognised, of a newer release for instance, stays as the document has it and
is marked as English.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Formatter
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from gemel.common.documents.warning_codes import WARNING_CODES
from gemel.common.durable import write_text
from gemel.common.language import clauses as joined
from gemel.common.language import current, decimals, gettext, listed, ngettext
from gemel.risk.report.drawing import colour_rules

_LONGEST, _DEEPEST = 1_500, 3
"""Characters of a sentence, and phrases inside of phrases, above which no form is looked for: none is so long."""
_NUMBER = re.compile(r"[-+]?[\d,]*\.?\d+(e[-+]?\d+)? ?%?")
_PHRASES = frozenset(
    (
        *("action", "direction", "distance", "effect", "end", "how", "item", "knows", "law", "laws", "method", "model"),
        *("reason", "run", "times", "unit"),
    )
)
"""Placeholders that stand for a phrase. Others stand for numbers and for names, which are the same in all languages."""
_LISTS = frozenset({"fields", "names", "parameters", "variables"})
_SEVERAL = _PHRASES | {"levels", "names"}
"""Placeholders whose text may have several clauses."""

_HERE = "gemel.risk.report"


def _text(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8")


WARNINGS = (
    *(
        text
        for known in WARNING_CODES.values()
        if known.subject not in ("contribution", "leakage")
        for text in (known.text, known.remedy)
        if text
    ),
    # What stands in the place of figures of warnings, and is no number and no name.
    *json.loads(_text(_HERE, "phrases.json")),
)
"""The sentences of the warnings that reports have; those on a custodian's file stay with the custodian."""


@dataclass(frozen=True)
class _Form:
    template: str
    literals: tuple[str, ...]
    """The text before each placeholder, and after the last."""
    names: tuple[str, ...]
    numeric: tuple[bool, ...]

    @classmethod
    def of(cls, template: str) -> _Form:
        parsed = list(Formatter().parse(template))
        literals = [literal for literal, name, _, _ in parsed]
        if parsed[-1][1] is not None:
            literals.append("")
        fields = [(name, form or "") for _, name, form, _ in parsed if name is not None]
        return cls(template, tuple(literals), tuple(n for n, _ in fields), tuple(bool(form) for _, form in fields))

    def figures(self, text: str) -> dict[str, str] | None:
        """What stands in the place of each placeholder; None if the text is not of this form. O(len(text))."""
        if not text.startswith(self.literals[0]):
            return None
        found: dict[str, str] = {}
        at = len(self.literals[0])
        for i, (name, numeric) in enumerate(zip(self.names, self.numeric, strict=True)):
            after = self.literals[i + 1]
            if i == len(self.names) - 1:
                end = len(text) - len(after) if text.endswith(after) else -1
            else:
                end = text.find(after, at + 1)
            if end <= at:
                return None
            value = text[at:end]
            if name not in _SEVERAL and "; " in value:
                return None
            if (numeric and not _NUMBER.fullmatch(value)) or found.get(name, value) != value:
                return None
            found[name], at = value, end + len(after)
        return found


class Phrases:
    """The forms of the sentences that a kind of document has: templates with figures in braces, as `str.format` has
    them, which are the catalogue's messages as they stand."""

    def __init__(self, templates: Iterable[str]) -> None:
        self.templates = tuple(dict.fromkeys(template for template in templates if template))
        forms = [_Form.of(template) for template in self.templates]
        self._plain = {form.literals[0] for form in forms if not form.names}
        # The more of a text a form has, the better it is known.
        self._forms = sorted((form for form in forms if form.names), key=lambda form: -sum(map(len, form.literals)))

    def found(self, text: str, depth: int = 0) -> str | None:
        """The sentence in the present language; None if it is of no form that is known."""
        if text in self._plain:
            return gettext(text)
        if len(text) > _LONGEST or depth > _DEEPEST:
            return None
        for form in self._forms:
            figures = form.figures(text)
            own = None if figures is None else self._own(figures, depth)
            if own is not None:
                return _filled(form.template, own)
        clauses = text.split("; ")
        if len(clauses) == 1:
            return None
        known = [self.found(clause, depth + 1) for clause in clauses]
        return None if None in known else joined(filter(None, known))

    def plain(self, text: str) -> str:
        """The sentence in the present language, or as it is."""
        return text if current().code == "en" else self.found(text) or text

    def shown(self, text: str, form: Callable[[str], str] = str) -> str:
        """The sentence in the present language, or as it is and marked as English; made a sentence by `form`."""
        found = text if current().code == "en" else self.found(text)
        return Markup('<span lang="en">{}</span>').format(form(text)) if found is None else form(found)

    def _own(self, figures: Mapping[str, str], depth: int) -> dict[str, str] | None:
        own: dict[str, str] = {}
        for name, value in figures.items():
            if name in _PHRASES and not _NUMBER.fullmatch(value):
                # A warning may be the reason of another, without its full stop.
                phrase = self.found(value, depth + 1) or (self.found(f"{value}.", depth + 1) or "").removesuffix(".")
                if not phrase:
                    return None
                own[name] = phrase
            elif name in _LISTS:
                own[name] = self._list(value, depth)
            elif name == "codes":
                own[name] = listed(value.replace("(missing)", gettext("(missing)")).split(" and "))
            elif name == "number":
                own[name] = self.found(value, depth + 1) or figure(value)
            else:
                own[name] = figure(value)
        return own

    def _list(self, value: str, depth: int) -> str:
        """Names, each perhaps with a number: ``age, sex and town``, ``age 0.8, sex 0.9``."""
        first, _, last = value.rpartition(" and ")
        items = [self._item(item, depth) for item in (first or last).split(", ")]
        return listed([*items, self._item(last, depth)]) if first else ", ".join(items)

    def _item(self, item: str, depth: int) -> str:
        name, _, number = item.rpartition(" ")
        known = self.found(item, depth + 1) if item.endswith(")") else None
        return known or (f"{name} {figure(number)}" if name else item)


def figure(value: str) -> str:
    """A number of a document in the present language; what is no number stays."""
    if current().code == "en" or not _NUMBER.fullmatch(value):
        return value
    return decimals(value.replace(" ", "")).replace("%", "\u00a0%")


def _filled(template: str, figures: Mapping[str, str]) -> str:
    """The translated template; its translation names each placeholder and no form of writing."""
    text = gettext(template)
    return re.sub(r"\{(\w+)[^{}]*\}", lambda place: figures[place[1]], text)


_WARNINGS = Phrases(WARNINGS)
_SHARED = ("shell.html.j2", "warnings.html.j2")


def rendered(
    package: str,
    template: str,
    shown: Mapping[str, Any],
    *,
    styles: tuple[str, ...] = (),
    parts: tuple[str, ...] = (),
    filters: Mapping[str, Callable[..., Any]],
) -> str:
    """A page as HTML: everything escaped, nothing undefined, no script, no network; in the present language.

    The package has the template, which extends ``shell.html.j2``, the `parts` that it includes, and the style sheets
    after the one that all pages share. The filters are how the template writes numbers.
    """
    own = {name: _text(package, name) for name in (template, *parts)}
    loader = DictLoader({**{name: _text(_HERE, name) for name in _SHARED}, **own})
    made = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    made.policies["ext.i18n.trimmed"] = True
    made.install_gettext_callables(gettext, ngettext, newstyle=True)  # type: ignore[attr-defined]
    made.filters |= {"phrase": _WARNINGS.shown, **filters}
    style = colour_rules() + _text(_HERE, "page.css") + "".join(_text(package, name) for name in styles)
    return made.get_template(template).render(style=Markup(style), language=current().code, **shown)  # noqa: S704 - the packages' own


def write_page(path: Path, page: str) -> None:
    """Write a page; it appears whole or not at all, and replaces an earlier one."""
    write_text(path, page)


def share(value: float | None) -> str:
    """Write a probability or share with three decimals, three figures where it is small."""
    if value is None:
        return "-"
    return f"{value:.3g}" if 0 < value < 1e-3 else f"{value:.3f}".rstrip("0").rstrip(".")


def number(value: float | None) -> str:
    """Write a number of things, in thousands."""
    return "none" if value is None else f"{value:,.0f}"
