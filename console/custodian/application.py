"""A custodian's console put together: its pages behind the guard, in the place where it listens."""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import ASGIApp

from gemel.common.configuration import ConsoleConfiguration
from gemel.common.language import marked
from gemel.common.parties import Side
from gemel.console.custodian.custodian import Custodian
from gemel.console.custodian.decision_pages import DecisionPages
from gemel.console.custodian.leakage_pages import LeakagePages
from gemel.console.custodian.project_pages import LINKS, ProjectPages
from gemel.console.web.application import opened
from gemel.console.web.guard import GuardRules
from gemel.console.web.pages import Pages

_TEMPLATES = "gemel.console.custodian.templates"
_TITLES = {Side.ALICE: marked("console of Alice, custodian"), Side.BOB: marked("console of Bob, custodian")}


def console_of(
    custodian: Custodian, settings: ConsoleConfiguration, rules: GuardRules, shown: Callable[[str], None]
) -> ASGIApp:
    """The console of a custodian; the other parameters as `opened` takes them."""
    pages = Pages(_TITLES[custodian.party.side], LINKS, (_TEMPLATES,))
    projects = ProjectPages(custodian, pages)
    parts = (projects, DecisionPages(custodian, pages, projects), LeakagePages(custodian, pages))
    routes = [route for part in parts for route in part.routes()]
    user, language = custodian.party.title, custodian.configuration.language
    return opened(routes, pages, settings, rules, shown, user=user, right="custodian", language=language)
