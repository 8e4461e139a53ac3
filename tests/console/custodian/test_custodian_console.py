"""A custodian's console: what its pages show and never show, what is decided by them, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Party, Side
from gemel.common.specification import load_specification, specification_digest
from gemel.console.custodian import leakage_pages
from gemel.console.custodian.project_pages import in_units, messages, seen_share
from gemel.console.custodian.project_words import described, rows
from gemel.console.web.listing import paged
from gemel.console.web.pages import Pages
from gemel.custodian.service import CustodianService
from gemel.custodian.steps.share import run_provenance
from gemel.protos.linkage.v1 import operator_pb2, project_pb2
from tests.console.coordinator.served import BASE
from tests.console.custodian.served import served
from tests.custodian.conftest import SPECIFICATION
from tests.custodian.test_attachment import REFUSING, leaky
from tests.custodian.test_flow import CONTRIBUTED, eventually, running, shown
from tests.typed import error_of

ALICE = Party(Side.ALICE, "Alice")
PROJECT = "/projects/people"
REASON = "our committee has not agreed to the field postcode"
SCRIPT = "<script>alert(1)</script>"
PAGES = ("live", "profile", "approve", "decline", "fetch-alone", "leakage", "leakage/live")
READING = ("/", "/live", "/checkpoints", "/certificates", PROJECT, *(f"{PROJECT}/{page}" for page in PAGES))
FORMS = ("approve", "decline", "override", "fetch-alone", "accept-restore", "leakage", "leakage/end")
NO_PAGES = ("/static/{name}", "/enter", "/live", "/projects/PROJECT/live", "/projects/PROJECT/leakage/live")
"""What pages load, the one-time link, and what changes by itself; all else is in `DOCUMENT`."""
DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "console.md"
DIGEST = specification_digest(load_specification(SPECIFICATION, "test")).hex()


def waiting(world) -> None:
    eventually(lambda: shown(world.alice).waits_for_operator)


@contextmanager
def entered(make_world) -> Iterator[tuple]:
    """A world in which Alice's service waits for its operator, her console, and the token of its forms."""
    world = make_world(approve=False)
    with running(world.alice), served(world.alice) as console:
        waiting(world)
        yield world, console, console.enter()


def test_what_is_approved_is_what_was_read_and_no_page_shows_a_record(make_world) -> None:
    with entered(make_world) as (world, console, token):
        records = pl.read_csv(world.alice.config.parent / "records.csv", infer_schema=False)
        assert "One project waits for you" in console.client.get("/").text
        for path in READING:
            answer = console.client.get(path)
            assert answer.status_code == 200, path
            page = answer.text.replace(token, "")
            long = set(re.findall(r"[0-9a-fA-F]{24,}|[A-Za-z0-9+_-]{40,}={0,2}", page))
            assert long <= {DIGEST}, path
            for column in ("rec_id", "surname", "postcode"):
                assert not {value for value in records[column] if re.search(rf"\b{value}\b", page)}, path
        page = console.client.get(f"{PROJECT}/approve").text
        assert f'name="read" value="{DIGEST} 1"' in page
        assert re.search(r"at most [\d.]+ KiB", page)
        for read in ("", f"{DIGEST} 2", f"{'0' * 64} 1"):
            status, page = console.post(f"{PROJECT}/approve", csrf=token, read=read)
            assert status == 409
            assert "another than the one you read" in page
        assert not world.carole.approved
        status, _ = console.post(f"{PROJECT}/approve", csrf=token, read=f"{DIGEST} 1")
        assert status == 303
        assert world.carole.approved == {Side.ALICE}
        page = console.client.get(PROJECT).text
        assert "Approved: Carole has the signature." in page
        assert "The coordinator and Bob</b>: approve the specification, whoever of them has not" in page
        assert "Withdraw" in page


def test_a_refusal_has_a_reason(make_world) -> None:
    with entered(make_world) as (world, console, token):
        status, page = console.post(f"{PROJECT}/decline", csrf=token, read=DIGEST, reason="no")
        assert status == 400
        assert "a decision needs a reason" in page
        assert console.post(f"{PROJECT}/decline", csrf=token, read="", reason=REASON)[0] == 409
        assert not world.carole.declined
        assert console.post(f"{PROJECT}/decline", csrf=token, read=DIGEST, reason=REASON)[0] == 303
        assert world.carole.declined == {Side.ALICE: REASON}
        page = console.client.get(PROJECT).text
        assert "Declined: Carole has the refusal and its reason" in page
        assert "amend the specification that you have declined" in page


def test_what_comes_without_session_token_or_from_elsewhere_changes_nothing(make_world) -> None:
    world = make_world(approve=False)
    with running(world.alice), served(world.alice) as console:
        waiting(world)
        for path in READING:
            answer = console.client.get(path)
            assert answer.status_code == 401
            assert "people" not in answer.text
        token = console.enter()
        fields = {"read": f"{DIGEST} 1", "reason": REASON, "decision": "accept", "restoration": "1"}
        for form in FORMS:
            for sent, origin in (({}, BASE), ({"csrf": token[::-1]}, BASE), ({"csrf": token}, "https://evil.example")):
                assert console.post(f"{PROJECT}/{form}", origin, **fields, **sent)[0] == 403
        routes = console.routes
        posting = {route.path for route in routes if "POST" in route.methods}
        assert posting == {"/sign-out", "/new-link", *(f"/projects/{{project}}/{form}" for form in FORMS)}
        known = {route.path.replace("{project}", "PROJECT") for route in routes if "GET" in route.methods}
        assert [path for path in sorted(known - set(NO_PAGES)) if f"`{path}`" not in DOCUMENT.read_text()] == []
        for path in ("/projects/..%2f..%2fnew", "/projects/%2e%2e", "/projects/none-such", f"/projects/{SCRIPT}"):
            answer = console.client.get(path)
            assert answer.status_code == 404
            assert SCRIPT not in answer.text
        assert not world.carole.approved
        assert not world.carole.declined
        # What cannot be decided now is refused by the service, whatever a form says.
        assert console.post(f"{PROJECT}/override", csrf=token, **fields)[0] == 404
        assert console.post(f"{PROJECT}/fetch-alone", csrf=token, **fields)[0] == 409
        status, page = console.post(f"{PROJECT}/accept-restore", csrf=token, decision="perhaps", restoration="1")
        assert status == 400
        assert "a decision is to accept or to refuse" in page
        status, page = console.post(f"{PROJECT}/accept-restore", csrf=token, decision="accept", restoration="x")
        assert status == 400
        assert "the form names no restored log" in page
    with served(world.alice) as console:
        assert console.client.get(console.links[-1]).status_code == 200
        answer = console.client.get("/")
        assert answer.status_code == 503
        assert "Start it with `gemel alice serve`" in answer.text


def test_the_limit_is_overridden_by_the_measurement_that_was_shown(make_world) -> None:
    world = make_world(text=REFUSING)
    service = CustodianService(world.alice.party, world.alice.configuration, leaky)
    service.start()
    try:
        with running(world.bob), served(world.alice) as console:
            eventually(lambda: "override" in shown(world.alice).decisions)
            token = console.enter()
            page = console.client.get(f"{PROJECT}/override").text
            assert "50.0% of the records" in page
            assert "above the limit of 5.0%" in page
            report = console.client.get(f"{PROJECT}/measured.html")
            assert "sandbox" in report.headers["content-security-policy"]
            assert "counts" in report.text
            assert "Measured by the custodian's service" in report.text
            assert console.post(f"{PROJECT}/override", csrf=token, read="", reason=REASON)[0] == 409
            assert ("BeginUpload", Side.ALICE) not in world.carole.calls
            read = re.search(r'name="read" value="([0-9a-f]{64})"', page)
            assert read is not None
            assert console.post(f"{PROJECT}/override", csrf=token, read=read[1], reason=REASON)[0] == 303
            world.carole.wait_for(lambda: world.carole.state == CONTRIBUTED)
            assert f"You have overridden the limit: “{REASON}”" in console.client.get(f"{PROJECT}/leakage").text
            eventually(lambda: shown(world.alice).upload_bytes > 0)
            sent = in_units(shown(world.alice).upload_bytes)
            assert sent in console.client.get(PROJECT).text
    finally:
        service.close()


def test_a_measurement_that_fails_says_why_and_one_is_made_at_a_time(make_world) -> None:
    with entered(make_world) as (world, console, token):
        (world.alice.config.parent / "records.csv").unlink()
        assert console.post(f"{PROJECT}/leakage", csrf=token)[0] == 303
        status, page = console.post(f"{PROJECT}/leakage", csrf=token)
        assert status == 503
        assert "another measurement is under way" in page
        eventually(lambda: "Measure it again" in console.client.get(f"{PROJECT}/leakage").text)
        page = console.client.get(f"{PROJECT}/leakage").text
        assert "records.csv" in page
        assert console.client.get(f"{PROJECT}/leakage.html").status_code == 404


def test_a_measurement_that_is_ended_is_gone(make_world, monkeypatch: pytest.MonkeyPatch) -> None:
    began = []
    begin = leakage_pages.Measurements.begin
    monkeypatch.setattr(
        leakage_pages.Measurements, "begin", lambda self, *given: (begin(self, *given), began.append(self))[0]
    )
    with entered(make_world) as (_, console, token):
        assert console.post(f"{PROJECT}/leakage", csrf=token)[0] == 303
        made = began[0].of("people", bytes.fromhex(DIGEST))
        assert console.post(f"{PROJECT}/leakage/end", csrf=token)[0] == 303
        # Waited for by another thread, which alone learns its status, and says so a moment later.
        eventually(lambda: made.process.exitcode is not None)
        assert made.process.exitcode != 0
        assert "Measure it</button>" in console.client.get(f"{PROJECT}/leakage").text


def test_words_of_other_parties_are_shown_as_text() -> None:
    project = operator_pb2.CustodianProject(project="people", stage=SCRIPT, blocking_error=SCRIPT)
    pages = Pages("test", (), ("gemel.console.custodian.templates",))
    live = pages._made.get_template("custodian_live.html.j2").render(**described(project, ALICE))
    assert SCRIPT not in live
    assert live.count("&lt;script&gt;") >= 2
    assert all("| safe" not in each.read_text() or each.name == "leakage_report.html.j2" for each in _templates())


def _templates() -> list:
    folder = files("gemel.console.custodian.templates")
    return [each for each in folder.iterdir() if each.name.endswith(".j2")]


def test_two_hundred_projects_have_those_first_that_wait_for_the_operator() -> None:
    states = [project_pb2.PROJECT_STATE_RELEASED, project_pb2.PROJECT_STATE_DRAFT, project_pb2.PROJECT_STATE_HELD]
    projects = [
        operator_pb2.CustodianProject(project=f"p-{n:03}", state=states[n % 3], waits_for_operator=n % 3 == 1)
        for n in range(200)
    ]
    first = paged(rows(projects, ALICE), {})  # type: ignore[arg-type]
    assert (first["first"], first["last"], first["found"], first["pages"]) == (1, 25, 200, 8)
    assert {row["state"] for row in first["rows"]} == {"waits for you"}


@pytest.mark.parametrize(
    ("state", "more", "who"),
    [
        ("DRAFT", {}, "Your service"),
        ("DRAFT", {"waits_for_operator": True, "decisions": ["approve", "decline"]}, "You"),
        ("DRAFT", {"stage": "approved"}, "The coordinator and Bob"),
        ("DRAFT", {"blocking_error": "declined by the operator: why"}, "The coordinator"),
        ("APPROVED", {}, "Your service and Bob's"),
        ("KEYED", {}, "Your service"),
        ("KEYED", {"decisions": ["override"]}, "You"),
        ("KEYED", {"stage": "contributed"}, "Bob"),
        ("CONTRIBUTED", {}, "The coordinator"),
        ("CONTRIBUTED", {"decisions": ["decline", "accept-restore"]}, "You"),
        ("RUN", {}, "Carole"),
        ("ASSESSED", {}, "The coordinator"),
        ("HELD", {}, "A steward"),
        ("RELEASED", {}, "Your service"),
        ("RELEASED", {"decisions": ["fetch-alone"]}, "Bob"),
        ("RELEASED", {"results": "results/people/run"}, ""),
        ("ERASED", {}, ""),
    ],
)
def test_each_state_names_who_is_awaited(state: str, more: dict, who: str) -> None:
    number = project_pb2.ProjectState.Value(f"PROJECT_STATE_{state}")
    found = described(operator_pb2.CustodianProject(state=number, **more), ALICE)["waits"]
    assert [each for each, _ in found] == ([who] if who else [])


def test_what_would_leave_is_bounded_by_what_is_sent(make_world) -> None:
    """The bound shown before is never below what the service has then signed."""
    world = make_world()
    with running(world.alice, world.bob):
        world.carole.wait_for(lambda: world.carole.state == CONTRIBUTED)
        eventually(lambda: shown(world.alice).upload_bytes > 0)
        sent = shown(world.alice).upload_bytes
    spec = load_specification(SPECIFICATION, "test")
    (message,) = [each for each in messages(spec, Side.ALICE, world.people, 0) if each.columns]
    assert message.columns == "surname, born and postcode"
    number, unit = message.size.removeprefix("at most ").split()
    bound = float(number) * {"KiB": 1 << 10, "MiB": 1 << 20}[unit]
    assert 0.3 * bound < sent <= 1.005 * bound


def test_a_share_is_shown_in_counts(tmp_path) -> None:
    frame = pl.DataFrame({"identifier": ["a7", "a9"], "link_id": ["ab" * 8, "cd" * 8], "link_probability": [1.0, 0.5]})
    provenance = run_provenance(load_specification(SPECIFICATION, "test"), "a run", "links", [Side.ALICE], exact=False)
    frame.write_parquet(tmp_path / "links.parquet", metadata=provenance.metadata())
    (tmp_path / "statistics.json").write_text("{}")
    found = seen_share(tmp_path)
    assert [(each.name, each.rows) for each in found.tables] == [("links.parquet", 2)]
    assert [name for name, _ in found.others] == ["statistics.json"]
    assert found.provenance == provenance
    with pytest.raises(GemelError, match="no longer where your service has written it"):
        seen_share(tmp_path / "none")


def test_it_listens_on_loopback_only_and_with_the_own_keys(make_world) -> None:
    world = make_world(approve=False)
    command = ("alice", "console", "--config")
    assert error_of(*command, world.bob.config).code is ErrorCode.CERTIFICATE
    assert "listens on loopback only" in str(error_of(*command, world.alice.config, "--listen", "0.0.0.0:0"))


def test_sizes_are_in_units() -> None:
    assert [in_units(size) for size in (999, 1024, 1023 << 10, 5 << 30)] == ["999 bytes", "1 KiB", "1,023 KiB", "5 GiB"]
