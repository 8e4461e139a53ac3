"""A page: a package's template and style in the shell that all reports share, rendered and written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from gemel.common.durable import write_text
from gemel.common.language import current, gettext, ngettext
from gemel.risk.report.palette import colour_rules
from gemel.risk.report.phrases import WARNINGS, Phrases

_HERE = "gemel.risk.report"
_WARNINGS = Phrases(WARNINGS)
_SHARED = ("shell.html.j2", "warnings.html.j2")


def rendered(
    package: str,
    template: str,
    shown: Mapping[str, Any],
    *,
    styles: tuple[str, ...] = (),
    parts: tuple[str, ...] = (),
    filters: Mapping[str, Callable[..., Any]],
) -> str:
    """A page as HTML: everything escaped, nothing undefined, no script, no network; in the present language.

    Parameters
    ----------
    package : str
        Whose template and style sheets.
    template : str
        A template that extends ``shell.html.j2``.
    shown : mapping
        What the template places.
    styles : tuple of str
        Style sheets of the package, after the one that all pages share.
    parts : tuple of str
        Templates of the package that the first one includes.
    filters : mapping
        How the template writes numbers.
    """
    own = {name: _text(package, name) for name in (template, *parts)}
    loader = DictLoader({**{name: _text(_HERE, name) for name in _SHARED}, **own})
    made = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    made.policies["ext.i18n.trimmed"] = True
    made.install_gettext_callables(gettext, ngettext, newstyle=True)  # type: ignore[attr-defined]
    made.filters |= {"phrase": _WARNINGS.shown, **filters}
    style = colour_rules() + _text(_HERE, "page.css") + "".join(_text(package, name) for name in styles)
    return made.get_template(template).render(style=Markup(style), language=current().code, **shown)  # noqa: S704 - the packages' own


def write_page(path: Path, page: str) -> None:
    """Write a page; it appears whole or not at all, and replaces an earlier one."""
    write_text(path, page)


def share(value: float | None) -> str:
    """Write a probability or share with three decimals, three figures where it is small."""
    if value is None:
        return "-"
    return f"{value:.3g}" if 0 < value < 1e-3 else f"{value:.3f}".rstrip("0").rstrip(".")


def number(value: float | None) -> str:
    """Write a number of things, in thousands."""
    return "none" if value is None else f"{value:,.0f}"


def _text(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8")
