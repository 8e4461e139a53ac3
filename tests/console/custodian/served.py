"""A custodian's console in this process, before its real service: requests as a browser sends them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gemel.common.configuration import ConsoleConfiguration
from gemel.console.custodian.application import console_of
from gemel.console.custodian.custodian import Custodian
from gemel.console.web.guard import GuardRules
from gemel.custodian.leakage_report import Gate
from gemel.custodian.steps.leakage_gate import load_gate
from tests.console.coordinator.served import BASE, COOKIE, Served, TestClient


@contextmanager
def served(folder, measure: Callable[[], Gate] = load_gate) -> Iterator[Served]:
    """The console of a custodian, of whose folder party and configuration are taken."""
    links: list[str] = []
    rules = GuardRules(BASE, COOKIE)
    custodian = Custodian(folder.party, folder.config, measure)
    app = console_of(custodian, ConsoleConfiguration(), rules, links.append)
    yield Served(TestClient(app, base_url=BASE, raise_server_exceptions=False), links)
