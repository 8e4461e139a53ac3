"""The catalogues of translations: ``python -m tests.common.language.catalogues`` makes them again.

Messages are read from the code and the templates where they are marked, and from the registries of measures, warnings,
phrases and states. What is new stands in the ``.po`` files without a translation, and what is gone is left out. The
``.mo`` files are compiled from them. The reports and the consoles have catalogues of their own: ``de.po`` and
``console.de.po``. One that is not there yet is begun by its name: ``python -m tests.common.language.catalogues
console.de``. With ``--check`` nothing is written: what is not collected, not translated, or in no code any more is
printed, a line each, and the status is 1 if there is any. No test demands it: what is not translated is shown in
English.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from gemel.common.documents.disclosure_measures import MEASURES, QUESTIONS
from gemel.common.wire.project_states import STATE_WORDS
from gemel.coordinator.client.run_progress import DOERS, STAGE_WORDS
from gemel.coordinator.reports.disclosure.wording import PHRASES as ASSESSMENT
from gemel.coordinator.reports.linkage.statistics_phrases import PHRASES as STATISTICS

REPOSITORY = Path(__file__).resolve().parents[3]
FOLDER = REPOSITORY / "common/language"
PLURALS = {"de": "nplurals=2; plural=(n != 1);", "fr": "nplurals=2; plural=(n > 1);"}
CODES = tuple(PLURALS)
CONSOLE = "console."
"""What the names of the consoles' catalogues begin with."""
REPORTS = ("common/documents", "common/language", "risk/report", "coordinator/reports")
CONSOLES = ("common/documents", "common/language", "console/web", "console/custodian", "console/coordinator")
TITLES = {"": "Reports", CONSOLE: "Consoles"}
_KEYWORDS = {"gettext": None, "ngettext": (1, 2), "marked": None, "_": None}
_TEMPLATE = {"trimmed": "true", "trim_blocks": "true", "lstrip_blocks": "true", "silent": "false"}
_BEGUN = datetime(2026, 11, 27, tzinfo=UTC)
"""No date of making: the same messages make the same bytes."""

Message = str | tuple[str, str]
"""One form, or that for one thing and that for several."""


def names() -> list[str]:
    """The catalogues that there are: those of the reports in each language, and those of the consoles as they come."""
    return [*CODES, *(f"{CONSOLE}{code}" for code in CODES if (FOLDER / f"{CONSOLE}{code}.po").exists())]


@cache
def messages(domain: str) -> dict[Message, list[str]]:
    """Every message of the reports, ``""``, or of the consoles, `CONSOLE`, with the files that have it."""
    found: dict[Message, list[str]] = {}
    for message, place in _of_consoles() if domain == CONSOLE else _of_reports():
        places = found.setdefault(message, [])
        if place not in places:
            places.append(place)
    # A message that also has a form for several is one entry.
    several = {message[0]: message for message in found if isinstance(message, tuple)}
    for one, both in several.items():
        found[both] += found.pop(one, [])
    return found


def _marked(folders: Iterable[str]) -> Iterator[tuple[Message, str]]:
    for folder in folders:
        for path in sorted((REPOSITORY / folder).rglob("*")):
            place = path.relative_to(REPOSITORY).as_posix()
            if path.suffix == ".py":
                found = extract_from_file("python", path, keywords=_KEYWORDS)
            elif path.suffix == ".j2":
                found = extract_from_file("jinja2.ext:babel_extract", path, keywords=_KEYWORDS, options=_TEMPLATE)
            else:
                continue
            for _, message, _, _ in found:
                yield message if isinstance(message, str) else (message[0], message[1]), place


def _of_consoles() -> Iterator[tuple[Message, str]]:
    yield from _marked(CONSOLES)
    tables: dict[str, Mapping[Any, str]] = {
        "common/wire/project_states.py": STATE_WORDS,
        "coordinator/client/run_progress.py": {**STAGE_WORDS, **DOERS},
    }
    for place, words in tables.items():
        for text in words.values():
            yield text, place


def _of_reports() -> Iterator[tuple[Message, str]]:
    yield from _marked(REPORTS)
    for question in QUESTIONS.values():
        yield question.title, "common/documents/disclosure_measures.toml"
        yield question.explanation, "common/documents/disclosure_measures.toml"
    for measure in MEASURES.values():
        yield measure.title, "common/documents/disclosure_measures.toml"
    for template in (*ASSESSMENT.templates, *STATISTICS.templates):
        yield template, "common/documents"


def catalogue(name: str) -> Catalog:
    """A catalogue as it is in its file; `name`: ``de``, or ``console.de``."""
    with (FOLDER / f"{name}.po").open("rb") as file:
        return read_po(file, locale=name.removeprefix(CONSOLE))


def renewed(name: str, former: Catalog) -> Catalog:
    """The catalogue of the messages that there are, with the translations that there were."""
    code, domain = name.removeprefix(CONSOLE), CONSOLE if name.startswith(CONSOLE) else ""
    made = Catalog(
        code,
        header_comment=f"# {TITLES[domain]} of Gemel: {code}. The terms are in docs/languages.md.",
        project="Gemel",
        version="",
        copyright_holder="",
        msgid_bugs_address="",
        creation_date=_BEGUN,
        revision_date=_BEGUN,
        last_translator="",
        language_team="",
        fuzzy=False,
    )
    made.mime_headers = [("Plural-Forms", PLURALS[code])]  # type: ignore[assignment]
    for message, places in sorted(messages(domain).items(), key=lambda entry: (entry[1][0], str(entry[0]))):
        known = former.get(message if isinstance(message, str) else message[0])
        kept = known is not None and known.id == message
        made.add(message, known.string if kept else None, locations=[(place, 0) for place in places])
    return made


def as_po(made: Catalog) -> bytes:
    """What a translator edits."""
    file = io.BytesIO()
    write_po(file, made, width=110, include_lineno=False)
    return file.getvalue()


def as_mo(made: Catalog) -> bytes:
    """What is read when a report is written."""
    file = io.BytesIO()
    write_mo(file, made)
    return file.getvalue()


def forms(text: object) -> tuple[str, ...]:
    """The form, or forms, of a message or of its translation."""
    return (text,) if isinstance(text, str) else tuple(text)  # type: ignore[arg-type]


def incomplete(name: str, now: Catalog) -> list[str]:
    """What a catalogue lacks or has too much, a line each."""
    there = {str(each.id): each for each in now if each.id}
    expected = {str(each.id): each for each in renewed(name, now) if each.id}
    found = [f"{name}: in no code any more: {text}" for text in sorted(there.keys() - expected.keys())]
    found += [f"{name}: not collected: {text}" for text in sorted(expected.keys() - there.keys())]
    untranslated = [text for text, each in there.items() if text in expected and not all(forms(each.string))]
    return found + [f"{name}: not translated: {text}" for text in sorted(untranslated)]


def check() -> int:
    """Print what is incomplete; the number of lines."""
    found = [line for name in names() for line in incomplete(name, catalogue(name))]
    print("\n".join(found) or "Every message is collected and translated.")
    return len(found)


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        raise SystemExit(min(check(), 1))
    for each in sorted({*names(), *sys.argv[1:]}):
        if each.removeprefix(CONSOLE) not in CODES:
            raise SystemExit(f"expected names such as de or console.de, of {', '.join(CODES)}; got {each}")
        path = FOLDER / f"{each}.po"
        made = renewed(each, catalogue(each) if path.exists() else Catalog(each.removeprefix(CONSOLE)))
        path.write_bytes(as_po(made))
        path.with_name(f"{each}.mo").write_bytes(as_mo(made))
