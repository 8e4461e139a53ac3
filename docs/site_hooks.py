"""What mkdocs.yml needs beside docs/: pages and files outside docs/ that a page links to are part of the site.

A file of the repository has one place in the site: docs/x at x, any other at repository/x. So a page is written once,
and its links work in a checkout and in the site.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

REPOSITORY = Path(__file__).resolve().parent.parent
LINK = re.compile(r"(?<=\]\()([^)\s#]+)(?=[)#])")


def site_path(of: str) -> str:
    """Where a file of the repository is in the site's sources."""
    return of.removeprefix("docs/") if of.startswith("docs/") else f"repository/{of}"


def repository_path(uri: str) -> str:
    """The file of the repository that is at a place of the site."""
    return uri.removeprefix("repository/") if uri.startswith("repository/") else f"docs/{uri}"


def target(page: str, link: str) -> str | None:
    """The file of the repository that a page's link leads to; none if it leads elsewhere, or nowhere."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
    inside = not re.match(r"[a-z]+:|/", link) and not path.startswith("..")
    return path if inside and (REPOSITORY / path).is_file() else None


def outside(page: str) -> Iterator[str]:
    """Files outside docs/ that a page links to."""
    for link in LINK.findall((REPOSITORY / page).read_text(encoding="utf-8")):
        path = target(page, link)
        if path is not None and not path.startswith("docs/"):
            yield path


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is reached from a page of docs/, directly or by a page that is added."""
    waiting = [repository_path(file.src_uri) for file in files.documentation_pages()]
    added: set[str] = set()
    while waiting:
        for path in set(outside(waiting.pop())) - added:
            added.add(path)
            files.append(File.generated(config, site_path(path), abs_src_path=str(REPOSITORY / path)))
            if path.endswith(".md"):
                waiting.append(path)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links between a page of docs/ and what is outside lead to the places that both have in the site."""
    here = repository_path(page.file.src_uri)

    def moved(found: re.Match[str]) -> str:
        path = target(here, found[0])
        return found[0] if path is None else posixpath.relpath(site_path(path), posixpath.dirname(page.file.src_uri))

    return LINK.sub(moved, markdown)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """The theme's search gets the name that a screen reader calls it by."""
    return output.replace(
        'data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"'
    )
