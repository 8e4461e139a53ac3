"""A console put together as its settings say: opened by a one-time link, or by single sign-on where it is shared."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from gemel.common.configuration import ConsoleConfiguration, Right
from gemel.common.language import LanguageCode, console_language
from gemel.console.web.application import console_application
from gemel.console.web.entrance import Entrance
from gemel.console.web.guard import GuardRules
from gemel.console.web.pages import Pages
from gemel.console.web.sessions import Sessions


def opened(
    routes: Sequence[BaseRoute],
    pages: Pages,
    settings: ConsoleConfiguration,
    base: str,
    rules: GuardRules,
    shown: Callable[[str], None],
    *,
    user: str,
    right: Right,
    language: LanguageCode,
) -> ASGIApp:
    """A console.

    Parameters
    ----------
    routes, pages, rules
        As `console_application` takes them.
    settings
        Of the console.
    base
        Its address, as browsers know it.
    shown
        Shows a one-time link to whoever has started it; not called where people sign on.
    user
        The member as which it acts.
    right
        What a subject of the single sign-on must be allowed to act.
    language
        Of the member's configuration; the pages are English where the consoles have no catalogue of it.
    """
    spoken = console_language(language)
    sessions = Sessions(settings.idle_minutes * 60, settings.longest_hours * 3600)
    if settings.sign_on is None:
        entrance = Entrance(base, shown)
        entrance.show()
        return console_application(routes, pages, rules, sessions, user=user, entered_by=entrance, language=spoken)
    from gemel.console.web.sign_on import SignOn

    sign_on = SignOn(settings.sign_on, base, right)
    return console_application(routes, pages, rules, sessions, user=user, entered_by=sign_on, language=spoken)
