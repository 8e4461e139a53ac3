"""Rows are what their descriptions say, are judged as worlds are, and are printed beside another label's."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from benchmarks import rows as program
from benchmarks._row_populations import rows
from benchmarks.rows import judge
from benchmarks.worlds.kept import Kept
from gemel.coordinator.demonstration.people import TRUTH


def relatives(name: str, *same: str) -> int:
    """Pairs of two people, one in each file of a row, who agree in some columns."""
    alice, bob = rows()[name](1)
    both = alice.join(bob, on=list(same), suffix="_b")
    return both.filter(pl.col(TRUTH) != pl.col(f"{TRUTH}_b")).height


def test_a_seed_gives_one_pair_of_files() -> None:
    for name in ("siblings-and-twins", "foreigners", "placeholders-10", "three-61-times"):
        made = rows(small=True)[name]
        assert all(once.equals(again) for once, again in zip(made(1), made(1), strict=True)), name


def test_the_truth_is_beside_every_row() -> None:
    for name, made in rows(small=True).items():
        tables = made(1)
        assert all(TRUTH in table.columns and 50 <= table.height <= 3_000 for table in tables), name
        if len(tables) == 1:
            assert tables[0][TRUTH].is_duplicated().any(), name
        else:
            assert set(tables[0][TRUTH]) & set(tables[1][TRUTH]), name


def test_relatives_are_in_the_other_file() -> None:
    # Of 240, 900 and 300; a fifth of the records have errors.
    assert 150 <= relatives("fathers-and-sons", "given_name", "surname", "house_number", "street") <= 240
    assert 500 <= relatives("siblings-and-twins", "surname", "house_number", "street") <= 900
    assert 200 <= relatives("twins-apart", "surname", "date_of_birth") <= 330


@pytest.mark.parametrize("name", ["parts-of-dates", "duplicates"])
def test_a_small_row_is_judged_and_printed(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = Kept(tmp_path / "now", name)
    judge(kept, name, 1, small=True)
    found = kept.judged(1)
    assert found is not None
    own = found.own
    assert not own.incident
    assert own.links >= own.true_links > 0
    assert 0 < (own.true["sum"] or 0) <= own.matches == 100
    assert own.claims["precision"][0] is not None
    given = ["--only", name, "--keep", str(tmp_path), "--label", "now", "--against", "now"]
    assert program.main(given) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 4
    assert printed[2] == printed[3]
    assert printed[3].startswith(f"| {name} | 1 | now | ")


def test_an_unknown_row_is_refused() -> None:
    with pytest.raises(SystemExit):
        program.main(["--only", "nothing"])
