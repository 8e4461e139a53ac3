"""What pages show: text of others as text, a specification's errors by place, and no number that no person reads."""

from __future__ import annotations

import re
from importlib.resources import files

from starlette.datastructures import QueryParams

from gemel.console.coordinator.project_words import described, project_list
from gemel.console.coordinator.waiting import waits
from gemel.console.web.pages import Pages
from gemel.console.web.sessions import Sessions
from gemel.protos.linkage.v1 import project_pb2
from gemel.risk.report.drawing import COLOURS
from tests.console.coordinator.conftest import DRAFT
from tests.console.coordinator.served import Served, served
from tests.e2e.deployment import Deployment, digest_of

SCRIPT = "<script>alert(1)</script>"
PROJECT = "/projects/births-2026"


def test_a_script_in_a_name_is_refused_where_it_is_typed_and_shown_as_text(console: Served) -> None:
    token = console.enter()
    status, page = console.post("/new", csrf=token, do="propose", text=DRAFT.replace("births-2026", f'"{SCRIPT}"'))
    assert status == 422
    assert "line 2, project" in page
    assert SCRIPT not in page
    assert "&lt;script&gt;alert(1)" in page
    found = console.client.get("/", params={"q": SCRIPT, "state": SCRIPT}).text
    assert SCRIPT not in found
    assert "None of 1 matches" in found


def test_words_of_other_parties_are_shown_as_text(console: Served) -> None:
    console.enter()
    status = project_pb2.ProjectStatus(
        project="births-2026", state=project_pb2.PROJECT_STATE_DRAFT, owner=SCRIPT, blocking_error=SCRIPT
    )
    status.sides.add(side=project_pb2.SIDE_ALICE, declined=True, decline_reason=SCRIPT)
    status.run.CopyFrom(project_pb2.RunStatus(run="1", state=project_pb2.RUN_STATE_FAILED, error=SCRIPT))
    pages = Pages("test", (), ("gemel.console.coordinator.templates",))
    shown = pages._made.get_template("live.html.j2").render(**described(status))
    assert SCRIPT not in shown
    assert shown.count("&lt;script&gt;") >= 4


def test_a_specification_is_checked_by_place_before_anything_is_sent(console: Served, deployed: Deployment) -> None:
    token = console.enter()
    broken = DRAFT.replace("kind: date", "kind: day").replace("uploads_days: 7", "uploads_days: 0")
    _, page = console.post("/new", csrf=token, do="propose", text=broken)
    assert "2 things are to be corrected" in page
    assert "fields[3].kind" in page
    assert "retention.uploads_days" in page
    _, page = console.post("/new", csrf=token, do="check", text=DRAFT + "".join(f"k{n}: 1\n" for n in range(130)))
    assert "130 things are to be corrected" in page
    assert (page.count("unknown key"), "<li>+ 30</li>" in page) == (100, True)
    _, page = console.post("/new", csrf=token, do="check", text=DRAFT.replace("births-2026", "deaths"))
    assert "The specification is in order" in page
    assert "With public counts of names she could guess common ones" in page
    assert [each.project for each in deployed.coordinator.projects()] == ["births-2026"]


def test_what_is_approved_is_what_was_read(console: Served, deployed: Deployment) -> None:
    token = console.enter()
    page = console.client.get(f"{PROJECT}/approve").text
    assert f'name="read" value="{digest_of(DRAFT).hex()}"' in page
    status, page = console.post(f"{PROJECT}/approve", csrf=token, read="00" * 32)
    assert status == 409
    assert "the specification has changed since you read it" in page
    assert not deployed.status("births-2026").approvals


def test_no_page_shows_keys_or_signatures(console: Served, deployed: Deployment) -> None:
    """A long number on a page is the digest of the specification, or the token of its forms."""
    token = console.enter()
    for path in ("/", "/certificates", PROJECT, f"{PROJECT}/approve"):
        page = console.client.get(path).text.replace(token, "")
        long = set(re.findall(r"[0-9a-fA-F]{24,}|[A-Za-z0-9+_-]{40,}={0,2}", page))
        assert long <= {digest_of(DRAFT).hex()}
    with served(deployed.client_yaml("steward")) as steward:
        token = steward.enter()
        page = steward.client.get("/audit").text.replace(token, "")
    assert "create" in page
    assert not re.search(r"[0-9a-fA-F]{24,}", page)


def test_a_list_of_two_hundred_has_those_first_that_wait_for_a_steward() -> None:
    states = [project_pb2.PROJECT_STATE_RELEASED, project_pb2.PROJECT_STATE_DRAFT, project_pb2.PROJECT_STATE_HELD]
    projects = [project_pb2.ProjectStatus(project=f"p-{n:03}", state=states[n % 3], signatures=1) for n in range(200)]
    first = project_list(projects, QueryParams(""))
    assert (first["first"], first["last"], first["found"], first["pages"]) == (1, 25, 200, 8)
    assert {row["state"] for row in first["rows"]} == {"held for a steward"}
    last = project_list(projects, QueryParams("page=99"))
    assert (last["page"], last["last"], last["next"]) == (8, 200, "")
    held = project_list(projects, QueryParams({"state": "released", "q": "P-19"}))
    assert [row["project"] for row in held["rows"]] == ["p-192", "p-195", "p-198"]
    for page in ("0", "-1", "x", "²", "9" * 30):
        assert project_list(projects, QueryParams({"page": page}))["page"] == 1


def test_each_state_names_who_is_awaited() -> None:
    S, R = project_pb2.ProjectState, project_pb2.RunState
    sides = [project_pb2.SideStatus(side=side) for side in (project_pb2.SIDE_ALICE, project_pb2.SIDE_BOB)]

    def who(state: int, **more: object) -> list[str]:
        return [
            each.who for each in waits(project_pb2.ProjectStatus(state=state, owner="registry", sides=sides, **more))
        ]

    assert who(S.PROJECT_STATE_DRAFT) == ["registry", "Alice", "Bob"]
    approvals = [project_pb2.Approval(member="registry")]
    assert who(S.PROJECT_STATE_DRAFT, approvals=approvals) == ["Alice", "Bob"]
    assert who(S.PROJECT_STATE_KEYED) == ["Alice", "Bob"]
    assert who(S.PROJECT_STATE_CONTRIBUTED) == ["registry"]
    running = project_pb2.RunStatus(run="1", state=R.RUN_STATE_RUNNING, stage="model")
    assert who(S.PROJECT_STATE_CONTRIBUTED, run=running) == ["Carole"]
    resolving = project_pb2.RunStatus(run="1", state=R.RUN_STATE_RESOLVING, stage="resolve")
    assert who(S.PROJECT_STATE_CONTRIBUTED, run=resolving) == ["registry"]
    handles = project_pb2.RunStatus(run="1", state=R.RUN_STATE_RESOLVING, stage="handles")
    assert who(S.PROJECT_STATE_CONTRIBUTED, run=handles) == ["Alice and Bob"]
    assert who(S.PROJECT_STATE_HELD, signatures=2, signers=["ann", "ben"]) == ["ann or ben"]
    assert who(S.PROJECT_STATE_RELEASED) == ["Alice", "Bob"]
    assert who(S.PROJECT_STATE_ERASED) == []
    assert who(S.PROJECT_STATE_RELEASED, restore_awaits=["bob"]) == ["bob"]


def test_a_session_ends_when_idle_when_old_and_not_by_what_a_page_does_itself() -> None:
    clock = [0.0]
    sessions = Sessions(900.0, 28_800.0, lambda: clock[0])

    def lasts(cookie: str, seconds: float, pause: float, *, used: bool) -> bool:
        end = clock[0] + seconds
        while clock[0] + pause <= end:
            clock[0] += pause
            if sessions.find(cookie, used=used) is None:
                return False
        return True

    cookie = sessions.begin("registry", acts=True)
    assert lasts(cookie, 898.0, 2.0, used=False)  # a page renews itself every two seconds
    assert not lasts(cookie, 4.0, 2.0, used=False)
    cookie = sessions.begin("registry", acts=True)
    assert lasts(cookie, 28_800.0, 600.0, used=True)
    assert not lasts(cookie, 600.0, 600.0, used=True)


def test_the_console_has_the_colours_of_the_reports() -> None:
    style = files("gemel.console.web").joinpath("console.css").read_text()
    light, dark = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    for name, colours in COLOURS.items():
        for text, colour in zip((light, dark), colours, strict=True):
            assert f"--{name}: {colour};" in text
