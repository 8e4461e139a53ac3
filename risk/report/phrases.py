"""Sentences that documents have in English, in the language of a report.

A document is signed, and English: its warnings, methods and reasons are whole sentences with figures in them. Of each
the form is known, such as ``{share:.0%} of the links``. A report recognises the form, translates it, and writes the
figures in its own language. What is not recognised, of a newer release for instance, stays as the document has it and
is marked as English.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from string import Formatter

from markupsafe import Markup

from gemel.common.documents.warning_codes import BY_SUBJECT, CONTRIBUTION, LEAKAGE
from gemel.common.language import clauses as joined
from gemel.common.language import current, decimals, gettext, listed

_LONGEST, _DEEPEST = 1_500, 3
"""Characters of a sentence, and phrases inside of phrases, above which no form is looked for: none is so long."""
_NUMBER = re.compile(r"[-+]?[\d,]*\.?\d+(e[-+]?\d+)? ?%?")
_PHRASES = frozenset(
    (
        *("action", "direction", "distance", "effect", "end", "how", "item", "knows", "law", "laws", "method", "model"),
        *("of", "reason", "run", "times", "unit"),
    )
)
"""Placeholders that stand for a phrase. Others stand for numbers and for names, which are the same in all languages."""
_LISTS = frozenset({"fields", "names", "parameters", "variables"})
_SEVERAL = _PHRASES | {"levels", "names"}
"""Placeholders whose text may have several clauses."""

_FIGURES = (
    "{name} {value:.2f} (believed {belief:.2f})",
    "{number} times",
    "Up to {number}",
    "a file has no values of it, or it has only one",
    "about {value:.1g} from its fixed point",
    "decoys",
    "fields agree independently of each other among matches",
    "a rule finds a match only if its fields agree exactly: keys of prefixes or parts find more",
    "modelled matching",
    "no record has a category of it",
    "not identifiable from one binary field ({name}): only the mixture p m + (1 - p) u is, and any split of it fits as"
    " well",
    "not identifiable from one field ({name}): only the mixture p m + (1 - p) u is, and any split of it fits as well",
    "not identifiable from two fields ({fields}) when u is estimated from the same pairs: p and m trade off against u",
    "not identifiable: no field takes two levels, so nothing distinguishes matches from other pairs",
    "only a class of kin makes up for it",
    "precision",
    "recall",
    "records",
    "records wrong in many fields at once are missed by all rules together: recall is then below the estimate",
    "rows",
    "rules without a common field find matches independently of each other",
    "rules without a common field find matches independently of each other: {names}",
    "still moving away",
    "the bootstrap",
    "the check field",
    "the log-linear model",
    "the rules share fields, or none finds what another found",
    "the second counts as evidence of its own, and too many matches are claimed",
    "there is only one rule",
    "too high",
    "too low",
    "{number} other pair of fields too",
    "{number} other pairs of fields too",
    "{reason}; add a rule on other fields to have it estimated",
)
"""What stands in the place of figures of warnings, and is no number and no name."""

WARNINGS = (
    *(
        text
        for subject in BY_SUBJECT.values()
        if subject not in (CONTRIBUTION, LEAKAGE)
        for known in subject
        for text in (known.text, known.remedy)
        if text
    ),
    *_FIGURES,
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
    """The forms of the sentences that a kind of document has.

    Parameters
    ----------
    templates
        Each with its figures in braces, as `str.format` has them. They are the catalogue's messages as they stand.
    """

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
            if figures is not None:
                own = self._own(figures, depth)
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
