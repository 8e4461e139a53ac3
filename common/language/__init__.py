"""The language in which reports and consoles are written: words, numbers and dates.

Words stand in the code in English and are marked where they stand: `gettext` and `ngettext` in code, ``_`` in
templates. `in_language` chooses the language for what is rendered inside of it; without it everything is English. The
catalogues are beside this file: ``de.po`` is what a translator edits, ``de.mo`` is made from it
(``python -m tests.common.language.catalogues``) and is what is read. The consoles have catalogues of their own,
``console.de.po``: a report is translated whole whether or not the consoles are.

A report's language is a decision of whoever has it written: it is never taken from the environment, so that the same
command writes the same report everywhere. Documents, logs, errors and signed texts are English.
"""

from gemel.common.language.language import (
    LANGUAGES,
    Language,
    LanguageCode,
    console_language,
    current,
    gettext,
    in_language,
    marked,
    ngettext,
)
from gemel.common.language.numbers import clauses, day, decimals, listed, moment, named, share, written

__all__ = [
    "LANGUAGES", "Language", "LanguageCode", "clauses", "console_language", "current", "day", "decimals", "gettext",
    "in_language", "listed", "marked", "moment", "named", "ngettext", "share", "written",
]  # fmt: skip
