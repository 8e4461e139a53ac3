"""In a language that puts each message between marks no word of a page is outside of them, but names and data."""

from __future__ import annotations

import re
from itertools import product

import pytest

from gemel.common.language import in_language
from gemel.common.parties import Side
from gemel.common.specification import load_specification, specification_notes
from gemel.common.specification.notes.modes import SENT
from gemel.console.custodian.project_pages import in_units, messages
from gemel.console.custodian.project_words import described, rows
from gemel.console.web import application
from gemel.protos.linkage.v1 import operator_pb2, project_pb2
from tests.common.language.pseudo import Marks, marking, unmarked, without
from tests.console.custodian.served import served
from tests.console.custodian.test_custodian_console import ALICE, READING, waiting
from tests.custodian.conftest import SPECIFICATION
from tests.custodian.test_flow import running

SPEC = load_specification(SPECIFICATION, "test")
NAMES = {"Gemel", "Alice", "Bob", "Carole", "UTC", "people", "E", "KiB", "MiB", "GiB", "alice"}
COLUMNS = {
    word for field in SPEC.fields for word in (field.name, *field.columns_of(Side.ALICE), *field.columns_of(Side.BOB))
}


def test_no_page_has_a_word_outside_of_messages(make_world, monkeypatch: pytest.MonkeyPatch) -> None:
    marks = Marks()
    monkeypatch.setattr(application, "console_language", {"de": marking(marks)}.__getitem__)
    world = make_world(approve=False)
    config = world.alice.config
    config.write_text(f"{config.read_text()}\nlanguage: de\n")
    with running(world.alice), served(world.alice) as console:
        waiting(world)
        console.enter()
        for path in READING:
            page = console.client.get(path).text
            if path.endswith(("/profile", "/approve")):
                # Warnings and counts are of the service, in the words of its command.
                page = re.sub(r'<div class="panel due">.*?</div>', "", page, flags=re.DOTALL)
                page = re.sub('(aria-label="«Profile of your source»">).*?</div>', r"\1</div>", page, flags=re.DOTALL)
            others = (*specification_notes(SPEC), *SENT.values())
            assert unmarked(without(page, others), NAMES | COLUMNS) == set(), path
    assert {"What would leave", "One project waits for you", "waits for you"} <= marks.messages


def test_no_state_has_a_word_outside_of_messages() -> None:
    decisions = ([], ["approve"], ["override"], ["accept-restore"], ["fetch-alone"])
    with in_language(marking(Marks())):
        for state, decided, error, stage in product(
            project_pb2.ProjectState.values(), decisions, ("", "E"), ("", "approved", "contributed", "declined")
        ):
            project = operator_pb2.CustodianProject(
                project="people", state=state, decisions=decided, blocking_error=error, stage=stage, epoch=2
            )
            shown, (line,) = described(project, ALICE), rows([project], ALICE)
            words = [shown["state"], line["waits"], *(text for wait in shown["waits"] for text in wait)]
            assert unmarked("\n".join(words), NAMES) == set(), project


@pytest.mark.parametrize("mode", ["open", "trusted", "block_keyed"])
def test_nothing_that_would_leave_is_named_outside_of_messages(mode: str) -> None:
    with in_language(marking(Marks())):
        found = messages(SPEC.model_copy(update={"mode": mode}), Side.ALICE, 300, 0)
        words = [text for each in found for text in (each.when, each.what, each.columns, each.size)]
        assert unmarked("\n".join([*words, in_units(1), in_units(5000)]), NAMES | COLUMNS) == set()
