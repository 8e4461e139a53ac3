"""The consoles' templates have no word of their own outside of a message, and their pages follow a catalogue."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from jinja2 import Environment, nodes

from gemel.common.language import console_language, gettext, in_language, language
from tests.common.language.catalogues import CONSOLE, REPOSITORY, as_mo, renewed
from tests.common.language.pseudo import unmarked

FOLDERS = ("console/web", "console/coordinator/templates", "console/custodian/templates")
TEMPLATES = sorted(path for folder in FOLDERS for path in (REPOSITORY / folder).glob("*.j2"))
NAMES = {"Gemel"}
_ENVIRONMENT = Environment(extensions=["jinja2.ext.i18n"], autoescape=True)
_SENTENCE = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,}|^[A-Z][a-z]")


def written_out(source: str) -> str:
    """What a template has outside of expressions and statements."""
    return "".join(text if kind == "data" else " " for _, kind, text in _ENVIRONMENT.lex(source))


def literals(source: str) -> set[str]:
    """Texts of expressions that look like words for people and are in no message; class names do not."""
    tree = _ENVIRONMENT.parse(source)
    calls = [call for call in tree.find_all(nodes.Call) if getattr(call.node, "name", "") in ("_", "ngettext")]
    messages = {id(each) for call in calls for each in call.args}
    texts = {
        each.value for each in tree.find_all(nodes.Const) if isinstance(each.value, str) and id(each) not in messages
    }
    return {text for text in texts if _SENTENCE.search(text)}


def test_no_template_has_a_word_outside_of_messages() -> None:
    assert len(TEMPLATES) > 20
    for path in TEMPLATES:
        source = path.read_text(encoding="utf-8")
        assert unmarked(written_out(source), NAMES) == set(), path.name
        assert literals(source) == set(), path.name


def test_a_word_outside_of_messages_would_be_found() -> None:
    assert unmarked(written_out('<p{% if x %} class="wide"{% endif %}>Held {{ x }}</p>'), NAMES) == {"Held"}
    assert unmarked(written_out('<nav aria-label="Pages of {{ x }}">{{ _("All") }}</nav>'), NAMES) == {"Pages", "of"}
    assert literals('{{ "One is held" if x else _("None is held") }}{{ shown(x, "Reason") }}') == {
        "One is held",
        "Reason",
    }


def test_the_pages_follow_a_catalogue_of_the_consoles_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No such catalogue is delivered yet: one is begun, given one translation, compiled, and read."""
    assert console_language("de").code == "en"
    begun = renewed(f"{CONSOLE}de", Catalog("de"))
    begun.get("Projects").string = "Projekte"
    (tmp_path / f"{CONSOLE}de.mo").write_bytes(as_mo(begun))
    monkeypatch.setattr(language, "files", lambda _: tmp_path)
    assert console_language("fr").code == "en"
    found = console_language("de")
    assert (found.code, found.decimal) == ("de", ",")
    with in_language(found):
        # What it does not have is English.
        assert [gettext("Projects"), gettext("Checkpoints")] == ["Projekte", "Checkpoints"]
