"""Who and what a console refuses, each by a request as it would be sent, and that nothing was changed by it."""

from __future__ import annotations

import re

import pytest

from gemel.common.configuration import ConsoleConfiguration, parse_configuration
from gemel.common.errors import ErrorCode, GemelError
from gemel.console.coordinator.member import member_of
from gemel.console.web.guard import OPEN_PATHS
from tests.console.coordinator.conftest import DRAFT
from tests.console.coordinator.served import BASE, COOKIE, Served, TestClient, served
from tests.e2e.deployment import STATE, Deployment, digest_of
from tests.typed import error_of

PROJECT = "/projects/births-2026"
READING = ("/", "/new", "/certificates", PROJECT, f"{PROJECT}/live", f"{PROJECT}/approve", f"{PROJECT}/amend")
ACTS = ("approve", "amend", "start", "resolve", "hand-over", "take-over", "new-epoch", "erase", "restored")
FORMS = ("/new", *(f"{PROJECT}/{act}" for act in ACTS), "/sign-out")
EVIL = "https://evil.example"


def unchanged(deployed: Deployment) -> None:
    status = deployed.status("births-2026")
    assert status.state == STATE.PROJECT_STATE_DRAFT
    assert not status.approvals
    assert status.specification_digest == digest_of(DRAFT)


@pytest.mark.parametrize("host", ["evil.example:8710", "localhost:8710", "127.0.0.1", "127.0.0.1:8711", ""])
def test_another_host_is_refused_for_whatever_is_requested(console: Served, host: str) -> None:
    """A name of the attacker's that resolves to this machine (DNS rebinding); also with the session's cookie."""
    console.enter()
    for path in (*READING, "/static/console.js", "/enter?token=x"):
        answer = console.client.get(path, headers={"host": host})
        assert answer.status_code == 421
        assert "births" not in answer.text


@pytest.mark.parametrize("path", READING)
def test_without_a_session_no_page_is_shown(console: Served, path: str) -> None:
    answer = console.client.get(path)
    assert answer.status_code == 401
    assert "This console is closed" in answer.text
    assert "births-2026" not in answer.text
    polled = console.client.get(path, headers={"x-live": "1"})
    assert (polled.status_code, polled.text, polled.headers["x-reload"]) == (401, "", "1")


@pytest.mark.parametrize("path", OPEN_PATHS)
def test_a_path_that_begins_as_an_open_one_needs_a_session(console: Served, path: str) -> None:
    """Only below a folder is everything open: a page that is added as /enterprises is none of /enter."""
    longer = [f"{path.rstrip('/')}s"] if path.endswith("/") else [f"{path}s", f"{path}/more", f"{path}-more"]
    for each in longer:
        assert console.client.get(each).status_code == 401, each


def test_a_link_opens_the_console_once_for_one_browser(console: Served) -> None:
    (link,) = console.links
    assert console.client.get("/enter?token=wrong").status_code == 403
    console.enter()
    (cookie,) = console.client.cookies.jar
    assert (cookie.name, cookie.path) == (COOKIE, "/")
    assert cookie.has_nonstandard_attr("HttpOnly")
    assert cookie.get_nonstandard_attr("SameSite") == "strict"
    assert cookie.value not in link
    other = TestClient(console.client.app, base_url=BASE)
    assert other.get(link).status_code == 403
    assert other.get("/").status_code == 401
    assert console.client.get("/").status_code == 200


def test_a_new_link_is_printed_on_request_and_not_again_at_once(console: Served) -> None:
    console.client.post("/new-link", headers={"origin": EVIL})
    console.client.post("/new-link", headers={"origin": BASE})
    # The first is a moment old: a page, even the console's own, cannot fill the terminal.
    assert len(console.links) == 1


@pytest.mark.parametrize("path", FORMS)
def test_a_forged_form_is_refused_and_changes_nothing(console: Served, deployed: Deployment, path: str) -> None:
    token = console.enter()
    fields = {"text": DRAFT.replace("births-2026", "forged"), "do": "propose", "read": digest_of(DRAFT).hex()}
    fields |= {"name": "births-2026", "successor": "coordinator", "reason": "forged by another page", "epoch": "2"}
    tries = {
        "no token": ({}, BASE),
        "an empty token": ({"csrf": ""}, BASE),
        "another token": ({"csrf": token[::-1]}, BASE),
        "a foreign page": ({"csrf": token}, EVIL),
        "a page without an origin": ({"csrf": token}, "null"),
        "no origin": ({"csrf": token}, None),
    }
    for name, (sent, origin) in tries.items():
        status, _ = console.post(path, origin, **fields, **sent)
        assert status == 403, name
    answer = console.client.post(
        path, data={"csrf": token, **fields}, headers={"origin": BASE, "sec-fetch-site": "cross-site"}
    )
    assert answer.status_code == 403
    assert console.client.get("/").status_code == 200  # not signed out either
    unchanged(deployed)
    assert [each.project for each in deployed.coordinator.projects()] == ["births-2026"]


def test_a_token_of_another_session_is_refused(console: Served, deployed: Deployment) -> None:
    token = console.enter()
    with served(deployed.coordinator_yaml) as other:
        other.enter()
        status, page = other.post(f"{PROJECT}/approve", csrf=token, read=digest_of(DRAFT).hex())
    assert status == 403
    assert "the form is not of this session" in page
    unchanged(deployed)


def test_every_form_of_the_application_is_among_those_that_were_tried(console: Served) -> None:
    console.enter()
    routes = console.routes
    posting = {route.path.replace("{project}", "births-2026") for route in routes if "POST" in route.methods}
    assert posting == {*FORMS, "/new-link"}  # which has no session yet


@pytest.mark.parametrize("path", [*READING, "/static/console.css", "/nothing", "/enter?token=x"])
def test_every_answer_forbids_what_a_page_does_not_need(console: Served, path: str) -> None:
    console.enter()
    headers = console.client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert "server" not in headers
    page = console.client.get(path).text
    assert not re.search(r"<script(?! src)|<style|\sstyle=|\son[a-z]+=|javascript:", page)


TRAVERSALS = (
    "/static/../sessions.py",
    "/static/%2e%2e%2fsessions.py",
    "/static/..%2f..%2f..%2fetc%2fpasswd",
    "/static/%5c..%5csessions.py",
    "/projects/..%2f..%2fnew",
    "/projects/%2e%2e",
    "/projects/births-2026%00",
    "/projects/BIRTHS-2026",
    "/projects/<script>",
)


@pytest.mark.parametrize("path", TRAVERSALS)
def test_a_path_leads_to_no_file_and_to_no_other_page(console: Served, path: str) -> None:
    console.enter()
    answer = console.client.get(path)
    assert answer.status_code == 404
    assert "class Session" not in answer.text
    assert "root:" not in answer.text
    assert "<script>" not in answer.text


def test_a_request_that_is_too_large_is_not_read(console: Served) -> None:
    token = console.enter()
    status, _ = console.post("/new", csrf=token, text="x" * (2 << 20))
    assert status == 413
    boundless = console.client.post(
        "/new",
        content=(b"x" * 65536 for _ in range(40)),
        headers={"origin": BASE, "content-type": "application/x-www-form-urlencoded"},
    )
    assert boundless.status_code >= 400
    assert console.client.put("/new", headers={"origin": BASE}).status_code == 405


def test_signing_out_ends_the_session_and_not_only_the_cookie(console: Served) -> None:
    token = console.enter()
    cookie = console.client.cookies[COOKIE]
    assert console.post("/sign-out", csrf=token)[0] == 200
    console.client.cookies.set(COOKIE, cookie)
    assert console.client.get("/").status_code == 401


def test_who_is_neither_coordinator_nor_steward_has_no_console_here(deployed: Deployment) -> None:
    for party in ("alice", "carole"):
        config = deployed.folders[party] / f"{party}.yaml"
        with pytest.raises(GemelError) as caught, member_of(config):
            raise AssertionError
        assert caught.value.code is ErrorCode.NOT_ADMITTED
        assert "coordinators and stewards" in str(caught.value)


def test_a_coordinator_does_not_have_a_stewards_pages(console: Served, deployed: Deployment) -> None:
    token = console.enter()
    assert console.client.get("/audit").status_code == 404
    assert console.post(f"{PROJECT}/decide", csrf=token, decision="release")[0] == 404
    with served(deployed.client_yaml("steward")) as steward:
        token = steward.enter()
        assert steward.client.get("/new").status_code == 404
        assert steward.post(f"{PROJECT}/approve", csrf=token)[0] == 404


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "192.0.2.1:8710", "console.example.org:443"])
def test_another_address_than_loopback_needs_single_sign_on(deployed: Deployment, listen: str) -> None:
    command = ("console", "--config", deployed.coordinator_yaml, "--listen")
    assert "listens on loopback only" in str(error_of(*command, listen))
    assert "give one such as 127.0.0.1:8710" in str(error_of(*command, "[::1]:99999"))
    for text in (f'listen: "{listen}"', 'url: "https://console.example.org"', 'url: "http://console.example.org"'):
        with pytest.raises(GemelError):
            parse_configuration(text, ConsoleConfiguration, folder=deployed.root, where="console")
