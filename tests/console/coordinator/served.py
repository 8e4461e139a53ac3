"""Consoles in this process, before a real Carole: requests as a browser sends them, and as an attacker would."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from starlette.routing import Route

from gemel.common.configuration import ConsoleConfiguration
from gemel.console.coordinator.application import console_of
from gemel.console.coordinator.member import member_of
from gemel.console.web.guard import GuardRules
from gemel.coordinator.client.client_configuration import template
from tests.carole.deployment import Deployment

with warnings.catch_warnings():
    # It prefers a successor of httpx, and works with it.
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

BASE = "http://127.0.0.1:8710"
COOKIE = "gemel-console-8710"


@dataclass
class Served:
    """A console, and the links that it has shown."""

    client: TestClient
    links: list[str]

    @property
    def routes(self) -> list[Route]:
        return self.client.app._guarded._app.routes

    def enter(self) -> str:
        """Open a session by the newest link; its token for forms."""
        answer = self.client.get(self.links[-1])
        assert answer.status_code == 200
        return self.token()

    def token(self, path: str = "/") -> str:
        found = re.search(r'name="csrf" value="([^"]+)"', self.client.get(path).text)
        assert found is not None
        return found[1]

    def read(self, path: str) -> str:
        """What stands for what a page showed, in its form."""
        found = re.search(r'name="read" value="([0-9a-f]+)"', self.client.get(path).text)
        assert found is not None
        return found[1]

    def post(self, path: str, origin: str | None = BASE, **fields: str) -> tuple[int, str]:
        headers = {} if origin is None else {"origin": origin}
        answer = self.client.post(path, data=fields, headers=headers, follow_redirects=False)
        return answer.status_code, answer.text


def forms(page: str) -> set[str]:
    """Where the forms and the links of a page lead that are for acting on a project."""
    posted = set(re.findall(r'<form[^>]* method="post" action="([^"]+)"', page))
    linked = {
        link for link in re.findall(r'<a class="button[^"]*" href="([^"]+)"', page) if link.startswith("/projects/")
    }
    return {each.rpartition("/")[2] for each in (posted | linked) - {"/sign-out"}}


@contextmanager
def served_to(made: Deployment, party: str) -> Iterator[Served]:
    """The console of a coordinator or steward of a Carole for tests, which has been entered."""
    folder = made.root / f"{party}-console"
    folder.mkdir(exist_ok=True)
    config = folder / f"{party}.yaml"
    config.write_text(template(made.address, keys=str(made.parties.parties[party].path), state=str(folder)))
    with served(config) as console:
        console.enter()
        yield console


@contextmanager
def served(config: Path, settings: ConsoleConfiguration | None = None) -> Iterator[Served]:
    """The console of a configuration, in this process."""
    links: list[str] = []
    rules = GuardRules(BASE, COOKIE)
    with member_of(config) as member:
        app = console_of(member, settings or ConsoleConfiguration(), rules, links.append)
        yield Served(TestClient(app, base_url=BASE, raise_server_exceptions=False), links)
