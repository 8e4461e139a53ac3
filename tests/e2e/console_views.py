"""Pages of a console at every width in light and dark: judged by axe, and pictured for the documentation.

`CONSOLE_SCREENSHOTS=docs` in the environment writes the pictures that docs/console.md shows.
"""

from __future__ import annotations

import base64
import os
import re
from pathlib import Path

import pytest

from tests.e2e.console_browser import WIDTHS, Watched, overflow, serious

HEIGHTS = {390: 800, 1024: 800, 1600: 1000}
SCALES = {390: 1.0, 1024: 0.75, 1600: 0.5}
"""Of pictures: none is wider than a column of the documentation."""
QUALITY = 45
"""Of WebP, which Chromium writes itself."""


SHOWN = re.findall(
    r"\(console/([\w-]+)\.webp\)",
    (Path(__file__).resolve().parents[2] / "docs/console.md").read_text(encoding="utf-8"),
)
"""Names of the pictures on the page."""


def axe_script() -> str:
    """What judges accessibility in a page; skips the test where it is not installed."""
    script: str = pytest.importorskip("axe_playwright_python.sync_playwright").Axe().axe_script
    return script


def findings(person: Watched, path: str, name: str, script: str) -> list[str]:
    """What is wrong with a page at any width, in light or dark; its pictures are written if they are requested.

    Parameters
    ----------
    path
        Of the page.
    name
        Of its pictures.
    script
        `axe_script`.
    """
    person.go(path)
    found = []
    for width in WIDTHS:
        person.page.set_viewport_size({"width": width, "height": HEIGHTS[width]})
        for scheme in ("light", "dark"):
            # In the dark only the colours are others.
            person.page.emulate_media(color_scheme=scheme)
            issues = serious(person.page, script, colours=scheme == "dark")
            found += [f"{name}, {width} {scheme}: {each}" for each in issues]
            _picture(person, f"{name}-{width}-{scheme}", width)
        found += [f"{name}, {width}: {each}" for each in [overflow(person.page)] if each]
    return found


def pictures_from(person: Watched, name: str, at: str) -> None:
    """Write pictures of the page that is open from an element on, if they are requested."""
    for width in WIDTHS:
        person.page.set_viewport_size({"width": width, "height": HEIGHTS[width]})
        for scheme in ("light", "dark"):
            person.page.emulate_media(color_scheme=scheme)
            _picture(person, f"{name}-{width}-{scheme}", width, at)


def _picture(person: Watched, name: str, width: int, at: str = "html") -> None:
    requested = os.environ.get("CONSOLE_SCREENSHOTS")
    if requested is None or name not in SHOWN:
        return
    folder = Path(requested) / "console"
    folder.mkdir(exist_ok=True)
    person.page.wait_for_load_state("networkidle")
    session = person.context.new_cdp_session(person.page)
    person.page.evaluate("at => document.querySelector(at).scrollIntoView()", at)
    top = person.page.evaluate("window.scrollY")
    clip = {"x": 0, "y": top, "width": width, "height": HEIGHTS[width], "scale": SCALES[width]}
    taken = session.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY, "clip": clip})
    (folder / f"{name}.webp").write_bytes(base64.b64decode(taken["data"]))
