"""Near-copies in one file: as a plain definition counts them, for honest files none, for probing ones all.

Mode block_keyed: tests/carole/service/test_invented_records.py.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from benchmarks._leakage_invented import COPIES, PROBED, RECORDS, counted, honest, probed, short
from benchmarks.modes import PEOPLE
from gemel.carole.engine.linkage import near_copies as module
from gemel.carole.engine.linkage.near_copies import PARTNERS, first_alike
from gemel.carole.engine.run.plan import FieldPlan
from gemel.common.parties import Side
from gemel.common.specification import LEVELS, load_specification
from gemel.common.specification.model.assessment import NEAR_COPIES
from gemel.common.specification.model.defaults import Describes

SEED = 11


def test_copies_that_differ_in_one_attribute_are_all_counted() -> None:
    probe = probed(honest(SEED), "postcode", SEED)
    own, his = counted(probe.files, "open")
    assert (own.rows, own.records) == (0, probe.files[Side.ALICE].height)
    assert (his.rows, his.standard_error) == (PROBED * COPIES, 0.0)
    assert his.share == PROBED * COPIES / probe.files[Side.BOB].height > 100 * NEAR_COPIES


@pytest.mark.parametrize("sampled", [0.05, 1.0])
def test_duplicates_households_and_namesakes_are_not(sampled: float) -> None:
    assert [found.share for found in counted(honest(SEED, sampled), "open")] == [0.0, 0.0], SEED


def test_without_keyed_rules_rows_are_brought_together_by_values() -> None:
    spec = load_specification(PEOPLE).model_copy(update={"blocking": ()})
    _, his = counted(probed(honest(SEED), "postcode", SEED).files, "open", spec)
    assert his.rows == PROBED * COPIES


def test_equal_records_are_one() -> None:
    files = honest(SEED, duplicates=0.0)
    many = pl.concat([files[Side.BOB], *(files[Side.BOB].head(3) for _ in range(50))])
    assert counted({**files, Side.BOB: many}, "open")[1].rows == 0


def test_misspelling_every_copy_hides_nothing() -> None:
    probe = probed(honest(SEED), "postcode", SEED)
    bob = probe.files[Side.BOB].with_row_index()
    spelt = pl.col("surname") + pl.lit("aeiou").str.slice(pl.col("index") % 5, 1)
    bob = bob.with_columns(pl.when(pl.col("index") >= probe.first).then(spelt).otherwise("surname").alias("surname"))
    _, his = counted({**probe.files, Side.BOB: bob.drop("index")}, "open")
    assert his.rows >= 0.95 * PROBED * COPIES


def test_a_sample_of_rows_estimates_the_number_within_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    files = probed(honest(SEED), "postcode", SEED).files
    monkeypatch.setattr(module, "PAIRS", 1_500)
    his = counted(files, "open")[1]
    assert 20 < his.compared < 400
    assert 0 < his.standard_error < 0.2 * his.rows
    assert abs(his.rows - PROBED * COPIES) <= 4 * his.standard_error


def test_fields_that_hardly_distinguish_people_show_nothing() -> None:
    spec = load_specification(PEOPLE)
    few = spec.model_copy(
        update={"fields": tuple(f for f in spec.fields if f.name in ("sex", "given_name")), "blocking": ()}
    )
    found = counted(probed(honest(SEED), "given_name", SEED).files, "open", few)
    assert [(each.distinguishing, each.rows) for each in found] == [(False, 0.0), (False, 0.0)]


def test_among_dummies_nothing_is_counted() -> None:
    padded = short().model_copy(update={"padding": "powers_of_two"})
    small = {side: frame.head(100) for side, frame in honest(SEED).items()}
    found = counted(small, "block_keyed", padded)
    assert [(each.distinguishing, each.rows, each.records) for each in found] == [(False, 0.0, 100)] * 2


def test_the_lowest_level_of_values_with_errors() -> None:
    assert first_alike(FieldPlan("name", 1024, LEVELS["em8"])) == 2
    assert first_alike(FieldPlan("sex", 64, LEVELS["exact"])) == 1
    assert first_alike(FieldPlan("x", 64, (0.3, 1.0))) == 1


def test_as_a_plain_definition_counts() -> None:
    """Random levels of pairs, judged one by one as the module's docstring says it."""
    rng = np.random.default_rng(SEED)
    described: dict[str, Describes] = {"given": "name", "surname": "family", "born": "birth", "postcode": "household"}
    plan = module.LinkagePlan(tuple(FieldPlan(n, 1024, LEVELS["em8"], describes=d) for n, d in described.items()))
    bits = [np.cumsum(rng.uniform(0, 2.5, 8)) for _ in plan.fields]
    for kept in (plan, replace(plan, fields=tuple(replace(f, describes="household") for f in plan.fields))):
        gamma = rng.choice(np.array([-1, 0, 1, 2, 5, 7], dtype=np.int8), (4_000, 4), p=[0.1, 0.15, 0.1, 0.1, 0.15, 0.4])
        found = module.Evidence(kept, bits).near(gamma, 500)
        personal = [field.personal for field in kept.fields]
        assert 0.02 < found.mean() < 0.9
        for levels, near in zip(gamma.tolist(), found.tolist(), strict=True):
            assert near == _near(levels, personal, bits), levels


def _near(levels: list[int], personal: list[bool], bits: list[np.ndarray[tuple[int], np.dtype[np.float64]]]) -> bool:
    alike = [q for q, level in enumerate(levels) if level >= 2]
    differ = [q for q, level in enumerate(levels) if 0 <= level < 2]
    one_of_the_personal = any(personal[q] for q in differ)
    if len(differ) > 2 or (len(differ) == 2 and one_of_the_personal):
        return False
    if any(personal) and not any(personal[q] for q in alike) and not (len(differ) == 1 and one_of_the_personal):
        return False
    evidence = sum(float(bits[q][levels[q]]) for q in alike) - module.DISAGREEMENT * len(differ)
    return evidence >= math.log2(500) + module.MARGIN


def test_a_row_counts_from_four_partners() -> None:
    files = honest(SEED, duplicates=0.0)
    four = probed(files, "postcode", SEED, people=10, copies=PARTNERS)
    assert counted(four.files, "open")[1].rows == 0
    five = probed(files, "postcode", SEED, people=10, copies=PARTNERS + 1)
    # People whose date of birth is an error have no personal field.
    assert counted(five.files, "open")[1].rows in (40, 45, 50), RECORDS
