"""A headless Chromium, driven over a pipe by its DevTools protocol: what a page requests, logs and shows."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
    "--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe",
)  # fmt: skip


def installed() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@dataclass
class Visit:
    """What happened while a page was open."""

    requested: list[str] = field(default_factory=list)
    """Addresses that the page requested, its own first."""
    console: list[str] = field(default_factory=list)
    """Console messages, log entries and exceptions."""
    values: list[Any] = field(default_factory=list)
    """The values of the expressions."""
    screenshot: bytes = b""
    pdf: bytes = b""


def visit(page: Path, profile: Path, *expressions: str, width: int = 1100) -> Visit:
    """Open a page, evaluate expressions in it, take a picture of all of it, and print it."""
    browser = installed()
    assert browser is not None
    down, up = os.pipe(), os.pipe()

    def numbered() -> None:
        # The protocol is spoken on the descriptors 3 and 4; moved out of the way first, should one be the other's.
        reading, writing = os.dup(down[0]), os.dup(up[1])
        os.dup2(reading, 100)
        os.dup2(writing, 101)
        os.dup2(100, 3)
        os.dup2(101, 4)

    process = subprocess.Popen(
        [browser, *_FLAGS, f"--user-data-dir={profile}", f"--window-size={width},1000", "about:blank"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        close_fds=False, preexec_fn=numbered,
    )  # fmt: skip
    os.close(down[0])
    os.close(up[1])
    try:
        with os.fdopen(down[1], "wb", buffering=0) as to, os.fdopen(up[0], "rb") as back:
            return _Session(to, back).visit(page.absolute().as_uri(), expressions, width)
    finally:
        process.kill()
        process.wait()


class _Session:
    def __init__(self, to: Any, back: Any) -> None:
        self._to, self._back = to, back
        self._number = 0
        self._session: str | None = None
        self._rest = b""
        self._loaded = False
        self._visit = Visit()

    def visit(self, address: str, expressions: tuple[str, ...], width: int) -> Visit:
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self._call(f"{domain}.enable")
        self._call("Page.navigate", url=address)
        while not self._loaded:
            self._note(self._next())
        for expression in expressions:
            found = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
            self._visit.values.append(found["result"].get("value"))
        height = self._call("Page.getLayoutMetrics")["cssContentSize"]["height"]
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        picture = self._call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        self._visit.screenshot = base64.b64decode(picture["data"])
        self._visit.pdf = base64.b64decode(self._call("Page.printToPDF", preferCSSPageSize=True)["data"])
        return self._visit

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        self._to.write(json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self._note(answer)
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = self._back.read1(1 << 20)
            assert more, "the browser ended"
            self._rest += more
        text, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        return message

    def _note(self, event: dict[str, Any]) -> None:
        method, reported = event.get("method", ""), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self._visit.requested.append(reported["request"]["url"])
        elif method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self._visit.console.append(json.dumps(reported))
        elif method == "Page.loadEventFired":
            self._loaded = True
