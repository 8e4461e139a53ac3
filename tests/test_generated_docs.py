"""Generated parts of docs/ are what the program generates now."""

from __future__ import annotations

import pytest

from tests.drawn_docs import DRAWINGS
from tests.generated_docs import DOCS, STRETCHES, renewed


@pytest.mark.parametrize("page", sorted({page for page, _ in STRETCHES}))
def test_the_page_is_what_the_program_says(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    assert text == renewed(page, text), "run python -m tests.generated_docs"


@pytest.mark.parametrize("name", DRAWINGS)
def test_the_drawing_is_what_the_program_draws(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == DRAWINGS[name](), "run python -m tests.generated_docs"
