"""Pages of the site in Chromium: no wider than the window, nothing requested elsewhere, no serious finding of axe."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.docs.built_site import build

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed")
def test_pages_are_read_by_everyone_and_load_nothing_from_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("playwright", reason="no playwright: rm .venv/dev, then make .venv/dev")
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import sync_playwright

    build(tmp_path)
    with served(tmp_path) as root, sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, scheme, width in (("how-it-works", "dark", 390), ("start", "light", 1280)):
            requested: list[str] = []
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page.on("request", lambda request, requested=requested: requested.append(request.url))
            messages: list[str] = []
            page.on("console", lambda message, messages=messages: messages.append(message.text))
            page.goto(f"{root}{name}.html", wait_until="networkidle")
            assert page.title() != ""
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert [
                image for image in page.locator("article img").all() if not image.evaluate("i => i.naturalWidth")
            ] == []
            assert [url for url in requested if not url.startswith((root, "data:", "blob:"))] == []
            assert messages == []
            violations = Axe().run(page).response["violations"]
            assert [(one["id"], one["nodes"]) for one in violations if one["impact"] in ("serious", "critical")] == []
        browser.close()
