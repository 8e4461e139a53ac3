"""The table of names: that it decodes to what was compiled, and that draws have its skew."""

import lzma
import string
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.coordinator.demonstration.people.names import decode, name_tables
from tests.coordinator.demonstration.people.make_names import compile_table, front_code


@given(st.lists(st.text(string.ascii_lowercase, min_size=1, max_size=14), min_size=1, max_size=30, unique=True))
def test_decoding_undoes_front_coding(names: list[str]) -> None:
    table = decode(f"group,weight,names\nsurname,7,{front_code(sorted(names))}\n")["surname"]
    assert sorted(name.lower() for name in table.names) == sorted(names)
    assert set(table.weights.tolist()) == {7}


def test_the_shipped_table_is_what_the_sources_give(shared: Path) -> None:
    folder = shared / "data" / "names"
    made = compile_table(folder / "us-census-surnames-1990.txt", folder / "us-census-firstnames-1990.csv")
    shipped = files("gemel.coordinator.demonstration.people").joinpath("names.csv.xz").read_bytes()
    assert lzma.decompress(made) == lzma.decompress(shipped)


def test_table_size_and_known_shares() -> None:
    """Smith is 1.006 per cent of the people counted, Mary 2.629 and James 3.318 of their sex."""
    tables = name_tables()
    assert len(files("gemel.coordinator.demonstration.people").joinpath("names.csv.xz").read_bytes()) < 200_000
    assert [len(tables[group].names) for group in ("surname", "female", "male")] == [40_000, 4_275, 1_219]
    for group, name, weight in (("surname", "Smith", 100_600), ("female", "Mary", 262_900), ("male", "James", 331_800)):
        assert (tables[group].names[0], tables[group].weights[0]) == (name, weight)
        assert len(set(tables[group].names)) == len(tables[group].names)


def test_draws_follow_the_weights() -> None:
    """Counts of the 50 commonest among 200,000 draws lie within 5 standard deviations (chance 3e-5 of one not)."""
    table = name_tables()["surname"]
    n = 200_000
    drawn = table.draw(n, np.random.default_rng(20))
    share = table.weights[:50] / table.weights.sum()
    counts = np.array([(drawn == name).sum() for name in table.names[:50]])
    assert np.all(np.abs(counts - n * share) < 5 * np.sqrt(n * share))
    assert len(set(drawn)) > 20_000


@pytest.mark.parametrize("name", ["McDonald", "O"])
def test_capitals(name: str) -> None:
    assert decode(f"group,weight,names\nsurname,1,{front_code([name.lower()])}\n")["surname"].names.tolist() == [name]
