"""In a language that puts each message between marks no word of a page is outside of them, but names and data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import pytest

from gemel.common.language import in_language
from gemel.common.parties import Side
from gemel.common.specification import load_specification, specification_notes
from gemel.common.specification.notes.modes import SENT
from gemel.console.coordinator.ending_pages import erasure_kept, erasure_lost
from gemel.console.coordinator.project_words import described, row
from gemel.console.web import application
from gemel.console.web.specification_words import specification_shown
from gemel.coordinator.client.run_progress import STAGE_WORDS
from gemel.protos.linkage.v1 import project_pb2
from tests.common.language.pseudo import Marks, marking, unmarked, without
from tests.console.coordinator.conftest import DRAFT
from tests.console.coordinator.served import Served, served
from tests.e2e.deployment import Deployment

PROJECT = "/projects/births-2026"
SPEC = load_specification(DRAFT, "test")
OTHERS = (*specification_notes(SPEC), *SENT.values(), "there is no such page")
"""What other modules say of a specification, and errors: they stay English."""
NAMES = {"Gemel", "Alice", "Bob", "Carole", "UTC", "births-2026", "deaths", "test", "coordinator", "steward"}
FIELDS = {word for field in SPEC.fields for side in Side for word in (field.name, *field.columns_of(side))}


@pytest.fixture
def marks(monkeypatch: pytest.MonkeyPatch) -> Marks:
    catalogue = Marks()
    monkeypatch.setattr(application, "console_language", {"de": marking(catalogue)}.__getitem__)
    return catalogue


@contextmanager
def in_german(config: Path) -> Iterator[Served]:
    """The console of a configuration that names German."""
    german = config.with_name(f"{config.stem}-german.yaml")
    german.write_text(f"{config.read_text()}\nlanguage: de\n")
    with served(german) as made:
        yield made


def test_no_page_of_a_coordinator_has_a_word_outside_of_messages(marks: Marks, deployed: Deployment) -> None:
    with in_german(deployed.coordinator_yaml) as console:
        pages = _read(console)
    assert [path for path, page in pages.items() if '<html lang="qps">' not in page] == [f"{PROJECT}/live"]
    assert {path: found for path, page in pages.items() if (found := outside(page))} == {}
    assert {"The specification", "This console is closed", "waits for approvals"} <= marks.messages


def test_no_page_of_a_steward_has_a_word_outside_of_messages(marks: Marks, deployed: Deployment) -> None:
    paths = ("/", "/audit", "/audit?project=../x", "/hand-over", "/certificates")
    with in_german(deployed.client_yaml("steward")) as steward:
        steward.enter()
        pages = {path: steward.client.get(path).text for path in paths}
    for path, page in pages.items():
        if path.startswith("/audit"):
            # What entries have is the log's own.
            page = re.sub("<tbody>.*?</tbody>", "", page, flags=re.DOTALL)
        assert outside(page) == set(), path


def _read(console: Served) -> dict[str, str]:
    pages = {"closed": console.client.get("/").text}
    token = console.enter()
    acts = [f"{PROJECT}{act}" for act in ("", "/live", "/approve", "/amend", "/erase", "/hand-over")]
    for path in ("/", "/?q=none", "/new", "/certificates", "/nowhere", *acts):
        pages[path] = console.client.get(path).text
    pages["checked"] = console.post("/new", csrf=token, do="check", text=DRAFT.replace("births-2026", "deaths"))[1]
    pages["left"] = console.post("/sign-out", csrf=token)[1]
    return pages


def outside(page: str) -> set[str]:
    return unmarked(without(page, OTHERS), NAMES | FIELDS)


def test_no_state_of_a_project_has_a_word_outside_of_messages() -> None:
    S, R = project_pb2.ProjectState, project_pb2.RunState
    runs = [project_pb2.RunStatus()]
    runs += [project_pb2.RunStatus(run="1", state=each, attempt=2, links=7, error="E") for each in R.values()]
    runs += [
        project_pb2.RunStatus(run="1", state=state, stage=stage)
        for state, stage in product((R.RUN_STATE_RUNNING, R.RUN_STATE_RESOLVING), STAGE_WORDS)
    ]
    with in_language(marking(Marks())):
        for state, run in product(S.values(), runs):
            for status in _statuses(state, run):
                words = [row(status)["waits"], row(status)["state"], *erasure_lost(status), *erasure_kept(status, SPEC)]
                shown = described(status)
                words += [f"{party['name']}: {party['steps']}" for party in shown["parties"]]
                words += [str(each) for each in shown["waits"]] + [shown["run"]["words"] if shown["run"] else ""]
                assert unmarked("\n".join(words), {*NAMES, "True", "False", "registry", "ann", "ben"}) == set(), status


def _statuses(state: int, run: project_pb2.RunStatus) -> Iterator[project_pb2.ProjectStatus]:
    plain = project_pb2.ProjectStatus(state=state, run=run, epoch=2)
    plain.sides.add(side=project_pb2.SIDE_ALICE, declined=True, decline_reason="E")
    plain.sides.add(side=project_pb2.SIDE_BOB, approved=True, keyed=True, contributed=True, result_acknowledged=True)
    yield plain
    later = project_pb2.ProjectStatus(owner="registry", signatures=2, signers=["ann", "ben"], signed=["ann"])
    later.MergeFrom(plain)
    later.contributions.add(side=project_pb2.SIDE_ALICE, rows=1, bytes_expected=2, bytes_received=1)
    later.contributions.add(side=project_pb2.SIDE_BOB, rows=9, committed=True)
    later.approvals.add(member="registry", at_unix_ms=1)
    later.run.links_withheld = True
    yield later


@pytest.mark.parametrize("mode", ["open", "trusted", "block_keyed"])
def test_no_specification_has_a_word_of_the_console_outside_of_messages(mode: str) -> None:
    spec = SPEC.model_copy(update={"mode": mode})
    own = ("fields", "receives", "retention")
    with in_language(marking(Marks())):
        shown = specification_shown(spec, "")
    texts = [text for part in own for each in shown[part] for text in _texts(each)]
    assert unmarked("\n".join(texts), NAMES | FIELDS) == set()


def _texts(shown: object) -> list[str]:
    if isinstance(shown, str):
        return [shown]
    return list(shown.values()) if isinstance(shown, dict) else list(shown)  # type: ignore[call-overload]
