"""The site of mkdocs.yml: built strictly, without a network; links lead somewhere, nothing is loaded from elsewhere."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt

from tests.docs.built_site import ROOT, build

ALIKE = ("h1", "h2", "h3", "h4", "img", "li", "ol", "pre", "table", "td", "ul")
"""Elements that a page has as often in the site as in a viewer of a checkout, which reads Markdown by other rules."""
PAGES = [
    *(page for pages in ("docs/**/*.md", "*.md", "research/*.md") for page in ROOT.glob(pages)),
    ROOT / "deploy/README.md",
]


class Elements(HTMLParser):
    """What a page loads, links to and has anchors for; of its article, how many elements of each kind."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self.anchors = {""}
        self.counted: Counter[str] = Counter()
        self.without_text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.counted[tag] += 1
        self.anchors.add(values.get("id") or "")
        if tag == "a":
            self.linked += [values["href"] or ""] if "href" in values else []
        else:
            self.loaded += [values[name] or "" for name in ("src", "href") if name in values]
        if tag == "img" and not values.get("alt"):
            self.without_text.append(values["src"] or "")


def place(page: Path) -> str:
    """Where the site has a page of the repository."""
    name = page.relative_to(ROOT).as_posix()
    name = name.removeprefix("docs/") if name.startswith("docs/") else f"repository/{name}"
    return name.replace("README.md", "index.md").removesuffix(".md") + ".html"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build(folder)
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Elements]:
    return {
        path: Elements(path.read_text(encoding="utf-8")) for path in site.rglob("*.html") if path.name != "404.html"
    }


def test_the_site_has_every_page(site: Path) -> None:
    assert [page.name for page in PAGES if not (site / place(page)).is_file()] == []


def test_nothing_is_loaded_from_elsewhere(pages: dict[Path, Elements], site: Path) -> None:
    for page, elements in pages.items():
        assert [address for address in elements.loaded if urlsplit(address).netloc] == [], page
        # The theme would fetch the program that draws these.
        assert 'class="mermaid"' not in page.read_text(encoding="utf-8"), page
    for sheet in site.rglob("*.css"):
        assert "@import" not in sheet.read_text(encoding="utf-8")
        assert "url(http" not in sheet.read_text(encoding="utf-8").replace('"', "").replace("'", "")


def test_every_link_leads_to_a_page_and_an_anchor(pages: dict[Path, Elements]) -> None:
    checked = 0
    for page, elements in pages.items():
        for address in (*elements.linked, *elements.loaded):
            parts = urlsplit(address)
            if not parts.scheme:
                leads = (page.parent / unquote(parts.path)).resolve() if parts.path else page
                leads = leads / "index.html" if leads.is_dir() else leads
                assert leads.is_file(), f"{page} links to {address}"
                if leads in pages:
                    assert unquote(parts.fragment) in pages[leads].anchors, f"{page} links to {address}"
                checked += 1
    assert checked > 1000


def test_pictures_have_a_text(pages: dict[Path, Elements]) -> None:
    assert [(page.name, elements.without_text) for page, elements in pages.items() if elements.without_text] == []


def test_the_site_reads_every_page_as_a_checkout_does(site: Path) -> None:
    different = {}
    for page in PAGES:
        built = (site / place(page)).read_text(encoding="utf-8")
        built = built[built.index("<article") : built.index("</article>")]
        viewed = MarkdownIt("commonmark").enable("table").render(page.read_text(encoding="utf-8"))
        of_site, of_checkout = Elements(built).counted, Elements(viewed).counted
        counts = {tag: (of_site[tag], of_checkout[tag]) for tag in ALIKE if of_site[tag] != of_checkout[tag]}
        different |= {str(page.relative_to(ROOT)): counts} if counts else {}
    assert different == {}
