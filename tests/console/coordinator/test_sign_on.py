"""Single sign-on at a real provider, a process of its own: who comes in, what for, and which answers are not taken."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from gemel.common.configuration import ConsoleConfiguration, parse_configuration
from tests.console.coordinator.oidc_provider import CLIENT
from tests.console.coordinator.served import BASE, COOKIE, Served, TestClient, forms, served
from tests.e2e.deployment import Deployment
from tests.ports import free_port

SECONDS = 60.0
SUBJECTS = "{ann: coordinator, rita: reader, stella: steward}"


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    address = f"http://127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "tests.console.coordinator.oidc_provider", address.rpartition(":")[2]]
    process = subprocess.Popen(command, cwd=Path(__file__).resolve().parents[3])
    try:
        end = time.monotonic() + SECONDS
        while True:
            try:
                httpx.get(f"{address}/keys", trust_env=False)
                break
            except httpx.TransportError:
                assert time.monotonic() < end
                assert process.poll() is None
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture
def shared(deployed: Deployment, issuer: str) -> Iterator[Served]:
    text = f'sign_on: {{issuer: "{issuer}", client_id: {CLIENT}, subjects: {SUBJECTS}}}\n'
    settings = parse_configuration(text, ConsoleConfiguration, folder=deployed.root, where="console")
    with served(deployed.coordinator_yaml, settings) as made:
        yield made


def begun(client: TestClient, person: str, spoil: str = "") -> str:
    """Begin to sign on, and be sent back by the provider; the address to which it sends the browser."""
    there = client.get("/sign-on", follow_redirects=False)
    assert there.status_code == 302
    back = httpx.get(f"{there.headers['location']}&as={person}&spoil={spoil}", trust_env=False)
    assert back.status_code == 302
    assert back.headers["location"].startswith(f"{BASE}/sign-on/back?")
    return str(back.headers["location"])


def test_who_is_named_comes_in_and_acts(shared: Served) -> None:
    assert shared.links == []  # no link opens a shared console
    page = shared.client.get("/")
    assert page.status_code == 401
    assert 'href="/sign-on"' in page.text
    answer = shared.client.get(begun(shared.client, "ann"))
    assert answer.status_code == 200
    assert COOKIE in shared.client.cookies
    page = shared.client.get("/")
    assert "<span>ann</span>" in page.text
    _, page = shared.post("/new", csrf=shared.token(), do="check", text="version: 1")
    assert "to be corrected" in page


def test_a_reader_reads_and_does_not_act(shared: Served) -> None:
    shared.client.get(begun(shared.client, "rita"))
    for path in ("/", "/certificates", "/projects/births-2026"):
        page = shared.client.get(path).text
        assert "rita, reading only" in page
        assert forms(page) == set()
        assert "/new" not in page
    for act in ("approve", "amend", "hand-over", "take-over", "new-epoch", "erase", "restored"):
        answer = shared.client.get(f"/projects/births-2026/{act}")
        assert (answer.status_code, "you may read here, and not act" in answer.text) == (403, True)
    assert shared.client.get("/new").status_code == 403
    for path in ("/new", "/projects/births-2026/start", "/projects/births-2026/approve"):
        status, page = shared.post(path, csrf=shared.token())
        assert status == 403
        assert "you may read here, and not act" in page
    assert shared.post("/sign-out", csrf=shared.token())[0] == 200


@pytest.mark.parametrize("person", ["stella", "mallory"])
def test_who_is_not_named_for_this_console_does_not_come_in(shared: Served, person: str) -> None:
    answer = shared.client.get(begun(shared.client, person))
    assert answer.status_code == 403
    assert "may not use the console of the coordinator" in answer.text
    assert COOKIE not in shared.client.cookies
    assert shared.client.get("/").status_code == 401


@pytest.mark.parametrize("spoil", ["issuer", "audience", "nonce", "key", "time"])
def test_a_token_that_is_not_the_providers_for_this_request_is_not_taken(shared: Served, spoil: str) -> None:
    answer = shared.client.get(begun(shared.client, "ann", spoil))
    assert answer.status_code == 403
    assert COOKIE not in shared.client.cookies


def test_an_answer_belongs_to_one_browser_and_is_good_once(shared: Served) -> None:
    """Else an attacker's own sign-on could be put upon another person's browser, or an answer used again."""
    address = begun(shared.client, "ann")
    other = TestClient(shared.client.app, base_url=BASE)
    assert other.get(address).status_code == 403
    pending = shared.client.cookies["gemel-sign-on"]
    assert shared.client.get(address).status_code == 200
    other.cookies.set("gemel-sign-on", pending)
    assert other.get(address).status_code == 403
    state = parse_qs(urlsplit(begun(other, "ann")).query)["state"][0]
    assert other.get(f"/sign-on/back?code=guessed&state={state}").status_code == 403
    assert other.get("/").status_code == 401
