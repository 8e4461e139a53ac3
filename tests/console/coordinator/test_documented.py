"""docs/console.md has every page of coordinator's and steward's consoles, and every picture."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.console.coordinator.served import served
from tests.e2e.deployment import Deployment

DOCS = Path(__file__).resolve().parents[3] / "docs"
OWN = ("/static/{name}", "/enter", "/projects/{project}/live")
"""What is no page: what pages load, the one-time link, the part of a page that changes by itself."""


@pytest.mark.parametrize("party", ["coordinator", "steward"])
def test_every_page_is_in_the_documentation(deployed: Deployment, party: str) -> None:
    text = (DOCS / "console.md").read_text()
    config = deployed.coordinator_yaml if party == "coordinator" else deployed.client_yaml(party)
    with served(config) as found:
        routes = [route.path for route in found.routes if "GET" in route.methods]
    pages = {path.replace("{project}", "PROJECT") for path in routes if path not in OWN}
    assert len(pages) > 5
    assert [page for page in sorted(pages) if f"`{page}`" not in text] == []


def test_every_picture_is_shown() -> None:
    shown = re.findall(r"\(console/([\w-]+\.webp)\)", (DOCS / "console.md").read_text())
    assert sorted(shown) == sorted(path.name for path in (DOCS / "console").iterdir())
    assert 0 < len(shown) <= 12
