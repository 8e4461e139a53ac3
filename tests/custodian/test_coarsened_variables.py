"""What a result says of coarsened variables is believed only as far as the approved specification allows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.derivation import Seed
from gemel.common.parties import Side
from gemel.common.records.sources import CsvSource, Source
from gemel.common.specification import load_specification
from gemel.common.specification.model.granted_variables import Transfer, VariableGrant
from gemel.custodian.encoding.categories import labels_by_code
from gemel.custodian.steps.coarsened_variables import coarsened_variables, coarsening_table
from gemel.custodian.steps.own_share import OwnShare
from gemel.custodian.steps.result_fetch import labelled
from gemel.custodian.steps.share import Share
from gemel.custodian.steps.variable_sending import granted_values
from tests.specifications import heading

SPEC = load_specification(
    heading("p")
    + """
fields:
  - {name: surname, kind: name}
variables:
  - {name: home, holder: bob, categories: [City, suburb, rural], role: key}
  - {name: work, holder: alice, categories: [none, some], role: key}
assessment:
  fractions: {alice: 0.1, bob: 0.1, combined: 0.05}
  limits: {correct_matches: 0.1}
  protect:
    home: [{name: wide, groups: {town: [city, suburb], country: [rural]}}, drop]
    work: [drop]
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
""",
    "p",
)
KEYS = Seed(bytes(range(32))), bytes(32), 1


def stated(*changes: tuple[str, str]) -> dict[str, Any]:
    return {"coarsened": [{"variable": name, "coarsening": step} for name, step in changes]}


def test_every_category_is_listed_with_what_it_is_released_as() -> None:
    steps = coarsened_variables(stated(("home", "wide"), ("work", "drop")), SPEC)
    assert coarsening_table(steps, SPEC).rows() == [
        ("home", "City", "town"),
        ("home", "suburb", "town"),
        ("home", "rural", "country"),
        ("work", "none", None),
        ("work", "some", None),
    ]
    assert coarsened_variables({"model": {}}, SPEC) == {}


@pytest.mark.parametrize(
    "statistics",
    [
        stated(("home", "wider")),
        stated(("work", "wide")),
        stated(("age", "drop")),
        stated(("home", "wide"), ("home", "drop")),
        {"coarsened": "home"},
        {"coarsened": ["home"]},
        {"coarsened": [{"variable": ["home"], "coarsening": "drop"}]},
    ],
)
def test_another_coarsening_than_was_approved_is_refused(statistics: dict[str, Any]) -> None:
    with pytest.raises(GemelError, match="the approved specification does not allow") as caught:
        coarsened_variables(statistics, SPEC)
    assert caught.value.code is ErrorCode.SEALED


def test_a_coarsened_joint_distribution_has_the_groups_as_labels() -> None:
    steps = coarsened_variables(stated(("home", "wide")), SPEC)
    document = {"variables": [{"name": "home", "levels": 2, "coded": True, "holder": "bob"}]}
    (home,) = labelled(document, SPEC, *KEYS, steps)["variables"]
    fine = labels_by_code(SPEC.variable("home"), "p", *KEYS, steps=SPEC.coarsenings("home"))
    # The two codes of the town are neighbours: its group comes first exactly where a category of it does.
    assert home["labels"][0] == ("town" if fine[0] != "rural" else "country")
    assert set(home["labels"]) == {"town", "country"}
    for levels, wrong in ((3, steps), (2, {}), (2, coarsened_variables(stated(("home", "drop")), SPEC))):
        with pytest.raises(GemelError, match="does not fit this specification"):
            labelled({"variables": [{**document["variables"][0], "levels": levels}]}, SPEC, *KEYS, wrong)


def test_granted_columns_are_sent_as_the_result_was_released(tmp_path: Path) -> None:
    (tmp_path / "bob.csv").write_text("id,home,age\n1,City,40\n2,rural,\n3,SUBURB ,60\n4,n/a,70\n")
    grants = {"variables": (VariableGrant(to="alice", bob=("home", "age")),)}
    spec = SPEC.model_copy(update={"release": SPEC.release.model_copy(update=grants)})
    ids = pl.DataFrame({"identifier": ["2", "1", "3", "4"], "id": ["b", "a", "c", "d"]})
    source = Source(csv=CsvSource(path=tmp_path / "bob.csv"))

    def sent(statistics: dict[str, Any]) -> list[tuple[str, ...]]:
        own = OwnShare(b"", Share({}, statistics), {})
        found = granted_values(source, spec, own, Transfer(Side.BOB, "alice"), "id", ids)
        return found.select("id", "home", "age").rows()

    assert sent({}) == [("b", "rural", None), ("a", "City", "40"), ("c", "SUBURB", "60"), ("d", "n/a", "70")]
    wide = sent(stated(("home", "wide"), ("work", "drop")))
    assert wide == [("b", "country", None), ("a", "town", "40"), ("c", "town", "60"), ("d", None, "70")]
    assert [row[1] for row in sent(stated(("home", "drop")))] == [None] * 4
