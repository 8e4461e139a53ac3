"""`gemel join` beside its plain definition; what it refuses; what the file carries of where it comes from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gemel
from gemel.common.documents.document import CLASSES, EXACT, Provenance, read_provenance
from gemel.common.errors import ErrorCode
from gemel.common.parties import Side
from gemel.coordinator.analysis.linked_file import JoinedShare, joined, numbers_of, with_variables
from tests.carole.refusals import refusal
from tests.typed import error_of, printed


def provenance(side: str, run: str = "run-1", *, exact: bool = False, assignment: str = "one_to_one") -> Provenance:
    return Provenance(
        project="people",
        run=run,
        table="links",
        sides=[side],  # type: ignore[list-item]
        specification_digest="ab" * 32,
        encoding_digest="cd" * 32,
        assignment=assignment,
        exact=exact,
        probabilities=EXACT if exact else CLASSES,
        created="2026-01-05T10:00:00+00:00",
        version="0.1.0",
    )


@pytest.fixture
def shares(tmp_path: Path) -> Path:
    """Two services' results of 30 links among 40 and 50 records, and the files, Bob's with codes that begin with 0."""
    rng = np.random.default_rng(3)
    a, b = rng.permutation(40)[:30], rng.permutation(50)[:30]
    ids = [f"{k:016x}" for k in range(30)]
    for side, rows in (("alice", a), ("bob", b)):
        folder = tmp_path / side / "results" / "people" / "run-1"
        folder.mkdir(parents=True)
        table = pl.DataFrame({"identifier": rows.astype(str), "link_id": ids, "link_probability": [0.9] * 30})
        table = table.sample(fraction=1.0, shuffle=True, seed=5)
        table.write_parquet(folder / "links.parquet", metadata=provenance(side).metadata())
    pl.DataFrame({"id": range(40), "income": rng.normal(size=40), "sex": ["f", "m"] * 20}).write_csv(
        tmp_path / "alice.csv"
    )
    pl.DataFrame({"id": range(50), "score": range(50), "sex": ["m", "f"] * 25, "area": ["007"] * 50}).write_csv(
        tmp_path / "bob.csv"
    )
    return tmp_path


def options(folder: Path, *more: str) -> list[str]:
    found = ["join", "--out", str(folder / "linked.parquet"), *more]
    for side in ("alice", "bob"):
        found += [f"--{side}", str(folder / side / "results/people/run-1")]
    return found


def refused(*arguments: str) -> str:
    return str(error_of(*arguments))


def test_both_shares_and_both_files(shares: Path) -> None:
    files = [f"--alice-file={shares / 'alice.csv'}", f"--bob-file={shares / 'bob.csv'}"]
    shown = printed(*options(shares, *files))
    assert "30 rows, 30 of them links" in shown
    assert "of project people, run run-1" in shown
    found = pl.read_parquet(shares / "linked.parquet")
    assert found.columns == [
        "link_id", "link_probability", "alice", "bob", "income", "sex_alice", "score", "sex_bob", "area"
    ]  # fmt: skip
    assert found.schema["score"] == pl.Int64
    assert found["area"].unique().to_list() == ["007"]
    # Of Bob's file a record's score is its identifier; of either file its sex follows from it.
    assert (found["score"].cast(pl.String) == found["bob"]).all()
    assert (found["sex_alice"] == pl.Series(["f" if int(a) % 2 == 0 else "m" for a in found["alice"]])).all()
    carried = read_provenance(shares / "linked.parquet")
    assert carried is not None
    assert (carried.run, carried.sides, carried.probabilities) == ("run-1", ["alice", "bob"], CLASSES)
    assert "the file exists" in refused(*options(shares))


def test_each_custodian_alone_and_then_a_third_party(shares: Path) -> None:
    """What two custodians pass on without identifiers joins to what both shares give."""
    whole = options(shares, f"--alice-file={shares / 'alice.csv'}", f"--bob-file={shares / 'bob.csv'}")
    printed(*whole, "--no-identifiers")
    passed = {}
    for side in ("alice", "bob"):
        passed[side] = shares / f"{side}-linked.parquet"
        own = [f"--{side}-file={shares / f'{side}.csv'}", "--no-identifiers", "--out", str(passed[side])]
        printed("join", f"--{side}", str(shares / side / "results/people/run-1"), *own)
        assert "identifier" not in pl.read_parquet(passed[side]).columns
    again = gemel.join(dict(passed))
    assert again.frame.equals(pl.read_parquet(shares / "linked.parquet"))
    assert again.provenance is not None
    assert again.provenance.sides == ["alice", "bob"]


def test_records_without_a_link_stay_where_it_is_requested(shares: Path) -> None:
    files = [f"--alice-file={shares / 'alice.csv'}", f"--bob-file={shares / 'bob.csv'}"]
    for whose, rows in (("alice", 40), ("bob", 50), ("both", 60)):
        printed(*options(shares, *files, "--unlinked", whose, "--force"))
        found = pl.read_parquet(shares / "linked.parquet")
        assert found.height == rows
        assert found["link_probability"].is_not_null().sum() == 30
        assert found["income"].is_not_null().sum() == {"alice": 40, "bob": 30, "both": 40}[whose]
    assert "give --alice-file" in refused(*options(shares, "--unlinked", "alice", "--force"))


def test_shares_of_two_runs_are_refused(shares: Path) -> None:
    path = shares / "bob/results/people/run-1/links.parquet"
    table = pl.read_parquet(path)
    table.write_parquet(path, metadata=provenance("bob", "run-2").metadata())
    assert "not of one run" in refused(*options(shares))
    assert "run run-1 and run-2" in refused(*options(shares))
    # A table that says it is of this run and is not: the ids show it.
    same = provenance("bob").metadata()
    table.with_columns(pl.col("link_id").str.replace("^0", "f")).write_parquet(path, metadata=same)
    assert "no id that both have" in refused(*options(shares))
    table.head(29).write_parquet(path, metadata=same)
    assert "29 ids that both have, of 30 and 29" in refused(*options(shares))
    table.write_parquet(path)
    assert "has its provenance in its metadata" in refused(*options(shares))


def test_a_file_that_does_not_fit_is_refused(shares: Path) -> None:
    own = pl.read_csv(shares / "alice.csv")
    option = f"--alice-file={shares / 'alice.csv'}"
    own.head(20).write_csv(shares / "alice.csv")
    message = refused(*options(shares, option))
    assert "names records that the file does not have" in message
    assert "of 30 identifiers" in message
    pl.concat([own, own.head(1)]).write_csv(shares / "alice.csv")
    assert "2 rows with one that another row has" in refused(*options(shares, option))
    assert "no column person" in refused(*options(shares, option, "--alice-identifier", "person"))
    assert "no column height" in refused(*options(shares, option, "--alice-variables", "income,height"))


def test_an_id_on_two_rows_is_refused_except_of_persons(shares: Path) -> None:
    path = shares / "alice/results/people/run-1/links.parquet"
    table = pl.read_parquet(path)
    twice = pl.concat([table, table.head(1).with_columns(identifier=pl.lit("39999"))])
    twice.write_parquet(path, metadata=provenance("alice").metadata())
    assert "1 rows with an id that another row has" in refused(*options(shares))
    for side in ("alice", "bob"):
        at = shares / side / "results/people/run-1/links.parquet"
        pl.read_parquet(at).write_parquet(at, metadata=provenance(side, assignment="clusters").metadata())
    printed(*options(shares))
    assert pl.read_parquet(shares / "linked.parquet").height == 31


def test_a_table_that_was_not_granted(shares: Path) -> None:
    assert "Alice's share has no draws" in refused(*options(shares, "--table", "draws"))


def test_a_coarsened_variable_is_joined_as_it_was_released(shares: Path) -> None:
    folder = shares / "alice/results/people/run-1"
    (folder / "coarsening.csv").write_text("variable,category,released_as\nsex,F,any\nsex,M,any\n")
    printed(*options(shares, f"--alice-file={shares / 'alice.csv'}"))
    assert pl.read_parquet(shares / "linked.parquet")["sex"].unique().to_list() == ["any"]
    (folder / "coarsening.csv").write_text("variable,category,released_as\ngender,F,any\n")
    assert "no column of its name" in refused(*options(shares, f"--alice-file={shares / 'alice.csv'}", "--force"))


def test_the_exact_probability_is_taken_where_one_custodian_has_it() -> None:
    table = pl.DataFrame({"identifier": ["1"], "link_id": ["a"], "link_probability": [0.9]})
    exact = table.with_columns(link_probability=pl.lit(0.97))
    a = JoinedShare(table, provenance("alice"), "alice")
    b = JoinedShare(exact, provenance("bob", exact=True), "bob")
    found = joined({Side.ALICE: a, Side.BOB: b})
    assert found.row(0, named=True) == {"link_id": "a", "link_probability": 0.97, "alice": "1", "bob": "1"}


@given(st.data())
def test_it_is_the_plain_definition(data: st.DataObject) -> None:
    """Row by row: each id's two records, and their variables."""
    n = data.draw(st.integers(1, 8))
    order = [data.draw(st.permutations(range(n))) for _ in range(2)]
    ids = [f"id{k}" for k in range(n)]
    parts = {}
    for side, rows in zip(Side, order, strict=True):
        share = pl.DataFrame(
            {"identifier": [f"{side}{r}" for r in rows], "link_id": ids, "link_probability": [0.5] * n}
        )
        shuffled = share[data.draw(st.permutations(range(n)))]
        own = pl.DataFrame({"id": [f"{side}{r}" for r in range(n)], f"x_{side}": range(n)})
        parts[side] = with_variables(JoinedShare(shuffled, provenance(str(side)), str(side)), own, "id", None)
    plain = [
        (ids[k], 0.5, f"alice{order[0][k]}", f"bob{order[1][k]}", order[0][k], order[1][k])
        for k in sorted(range(n), key=lambda k: ids[k])
    ]
    assert joined(parts).rows() == plain


def test_numbers_are_those_that_are_written_as_numbers() -> None:
    texts = {"whole": ["1", None, "-20"], "real": ["1.5", "2", "1e3"], "code": ["007", "8", "9"], "none": [None] * 3}
    kinds = {name: numbers_of(pl.Series(name, values, dtype=pl.String)).dtype for name, values in texts.items()}
    assert kinds == {"whole": pl.Int64, "real": pl.Float64, "code": pl.String, "none": pl.String}


def test_a_file_that_is_no_parquet(tmp_path: Path) -> None:
    (tmp_path / "links.parquet").write_text("no")
    with refusal(ErrorCode.SOURCE, "cannot be read as a Parquet file"):
        gemel.join({"alice": tmp_path})
