"""docs/live-linkage.md carried out: five machines, twelve commands, links at both custodians."""

from __future__ import annotations

import polars as pl
import pytest

from benchmarks.ceremony import ceremony, typed_lines


def test_the_page_has_twelve_commands() -> None:
    lines = typed_lines()
    assert len(lines) == 12
    assert [words[:2] for words in lines].count(["party", "join"]) == 4


@pytest.mark.long
def test_the_page_leads_to_links_at_both_custodians() -> None:
    with ceremony() as made:
        made.join()
        made.serve()
        made.link()
        assert made.count == 12
        shares = {
            party: pl.read_parquet(next((made.root / party).glob("linkage/results/births/*/links.parquet")))
            for party in ("alice", "bob")
        }
        # Of 60 people a side 40 are in both files.
        assert 30 <= len(shares["alice"].join(shares["bob"], on="link_id")) <= 45
        assert (made.root / "coordinator/results/report.html").is_file()
