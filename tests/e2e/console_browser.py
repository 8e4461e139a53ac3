"""Consoles as processes and a real browser before them, for tests: pages watched for errors and foreign requests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

SECONDS = 300.0
WIDTHS = (390, 1024, 1600)


def chromium() -> str:
    """The distribution's browser; skips the test where there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no chromium is installed")
    return found


@contextmanager
def browser() -> Iterator[Browser]:
    path = chromium()
    pytest.importorskip("playwright", reason="no playwright: rm .venv/dev, then make .venv/dev")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield opened
        finally:
            opened.close()


class ConsoleProcess:
    """``gemel console`` as a process, or a custodian's, ``gemel alice console``."""

    def __init__(self, config: Path, folder: Path, custodian: str = "") -> None:
        self._out = folder / f"console-{config.stem}.log"
        with self._out.open("wb") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "gemel", *filter(None, [custodian]), "console", "--config", str(config)],
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )

    @property
    def base(self) -> str:
        return self.link(1).partition("/enter")[0]

    def link(self, number: int = 1) -> str:
        """A link that it has printed, by its place among them; it is waited for."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            found = re.findall(r"https?://\S+/enter\?token=\S+", self.printed)
            if len(found) >= number:
                return str(found[number - 1])
            assert self._process.poll() is None, self.printed
            time.sleep(0.05)
        raise AssertionError(f"no link was printed: {self.printed}")

    @property
    def printed(self) -> str:
        return self._out.read_text()

    def stop(self) -> int:
        self._process.terminate()
        return self._process.wait(20)


@dataclass
class Watched:
    """A person's browser, with what went wrong in it."""

    context: BrowserContext
    page: Page
    base: str
    errors: list[str] = field(default_factory=list)

    @classmethod
    def enter(cls, opened: Browser, console: ConsoleProcess, **settings: Any) -> Watched:
        context = opened.new_context(**settings)
        context.set_default_timeout(SECONDS * 1000)
        watched = cls(context, context.new_page(), console.base)
        watched.page.on("console", watched._printed)
        watched.page.on("pageerror", lambda error: watched.errors.append(f"script: {error}"))
        watched.page.on("request", watched._requested)
        watched.page.goto(console.link())
        watched.page.wait_for_url(f"{console.base}/")
        return watched

    def _printed(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(f"{message.type}: {message.text} at {self.page.url}")

    def _requested(self, request: Any) -> None:
        if not request.url.startswith(self.base) and urlsplit(request.url).scheme in ("http", "https", "ws", "wss"):
            self.errors.append(f"requested {request.url}")

    def go(self, path: str) -> None:
        self.page.goto(self.base + path)

    def picture(
        self, name: str, *, scheme: str = "light", width: int = 1120, height: int = 760, at: str = "header"
    ) -> None:
        """Write a picture of the page for the documentation, if that is requested by `CONSOLE_SCREENSHOTS`.

        `at`: the element that it begins with.
        """
        folder = os.environ.get("CONSOLE_SCREENSHOTS")
        if folder is None:
            return
        self.page.emulate_media(color_scheme=scheme)
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.locator(at).first.evaluate("found => found.scrollIntoView()")
        self.page.screenshot(path=Path(folder) / f"{name}.png")

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def follow(self, name: str) -> None:
        self.page.get_by_role("link", name=name, exact=True).first.click()

    def report(self, path: str) -> Page:
        """A report by itself on a page of its own, which has no policy, so that it can be looked into."""
        opened = self.context.new_page()
        opened.set_content(self.context.request.get(self.base + path).text())
        return opened

    def text(self) -> str:
        return " ".join(self.page.inner_text("main").split())

    def wait_for_text(self, words: str) -> None:
        """Wait until the page shows these words, which it does by itself."""
        self.page.wait_for_function(
            "words => document.querySelector('main')?.innerText.replace(/\\s+/g, ' ').includes(words) ?? false",
            arg=words,
        )


def serious(page: Page, script: str, *, colours: bool = False) -> list[str]:
    """What axe finds on a page that is serious or worse, each with the element; `colours`: of contrast only."""
    if not page.evaluate("typeof window.axe === 'object'"):
        # By the debugger, as the page's own policy lets no script in.
        page.evaluate(script)
    only = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}} if colours else {}
    # Reports, in frames without script, have tests of their own.
    options = {"iframes": False, "resultTypes": ["violations"], **only}
    found = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{page.url}: {each['id']}: {each['help']}: {node['html'][:200]} {node['failureSummary'][:300]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


def overflow(page: Page) -> str:
    """Whether a page is wider than the window, which a person would have to move sideways."""
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return f"{page.url} is {wide} pixels too wide" if wide > 0 else ""
