"""A custodian's console put together: its pages behind the guard, in the place where it listens."""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import ASGIApp

from gemel.common.language import marked
from gemel.common.parties import Side
from gemel.common.web.console_configuration import ConsoleConfiguration
from gemel.common.web.guard import GuardRules
from gemel.common.web.opening import opened
from gemel.common.web.pages import Pages
from gemel.custodian.console.custodian import Custodian
from gemel.custodian.console.decision_pages import DecisionPages
from gemel.custodian.console.leakage_pages import LeakagePages
from gemel.custodian.console.project_pages import LINKS, ProjectPages

_TEMPLATES = "gemel.custodian.console.templates"
_TITLES = {Side.ALICE: marked("console of Alice, custodian"), Side.BOB: marked("console of Bob, custodian")}


def console_of(
    custodian: Custodian,
    settings: ConsoleConfiguration,
    base: str,
    rules: GuardRules,
    shown: Callable[[str], None],
) -> ASGIApp:
    """The console of a custodian; the other parameters as `opened` takes them."""
    pages = Pages(_TITLES[custodian.party.side], LINKS, (_TEMPLATES,))
    projects = ProjectPages(custodian, pages)
    parts = (projects, DecisionPages(custodian, pages, projects), LeakagePages(custodian, pages))
    routes = [route for part in parts for route in part.routes()]
    user, language = custodian.party.title, custodian.configuration.language
    return opened(routes, pages, settings, base, rules, shown, user=user, right="custodian", language=language)
