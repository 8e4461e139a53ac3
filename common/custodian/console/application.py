"""A custodian's console put together: its pages behind the guard, in the place where it listens."""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import ASGIApp

from tryst.common.custodian.console.custodian import Custodian
from tryst.common.custodian.console.decision_pages import DecisionPages
from tryst.common.custodian.console.leakage_pages import LeakagePages
from tryst.common.custodian.console.project_pages import LINKS, ProjectPages
from tryst.common.web.console_configuration import ConsoleConfiguration
from tryst.common.web.guard import GuardRules
from tryst.common.web.opening import opened
from tryst.common.web.pages import Pages

_TEMPLATES = "tryst.common.custodian.console.templates"


def console_of(
    custodian: Custodian,
    settings: ConsoleConfiguration,
    base: str,
    rules: GuardRules,
    shown: Callable[[str], None],
) -> ASGIApp:
    """The console of a custodian; the other parameters as `opened` takes them."""
    pages = Pages(f"console of {custodian.party.title}, custodian", LINKS, (_TEMPLATES,))
    projects = ProjectPages(custodian, pages)
    parts = (projects, DecisionPages(custodian, pages, projects), LeakagePages(custodian, pages))
    routes = [route for part in parts for route in part.routes()]
    return opened(routes, pages, settings, base, rules, shown, user=custodian.party.title, right="custodian")
