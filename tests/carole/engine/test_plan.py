"""Plans and specifications that cannot be: refused before anything is read, by what is wrong with them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gemel.carole.engine import FieldPlan, LinkagePlan
from gemel.carole.engine.run.plan import LatentPlan
from gemel.carole.engine.run.specified import refuse_unidentified
from gemel.carole.fellegi_sunter.settings import MPrior
from gemel.common.errors import ErrorCode
from gemel.common.specification import Specification, load_specification
from tests.carole.refusals import refusal
from tests.specifications import heading

NAMES = ("given", "family", "born", "sex")
PLAN = LinkagePlan(tuple(FieldPlan(name, 64, (0.5, 1.0)) for name in NAMES))
CHECK = FieldPlan("eyes", 64, (0.5, 1.0))
LATENT = LatentPlan(keys=("given",))
REFUSED = [
    ({"fields": ()}, "at least one compared field"),
    ({"fields": (CHECK, CHECK)}, "each field may occur once"),
    ({"threshold": 0.0}, "a probability in"),
    ({"expected_matches": -1.0}, "a number above 0"),
    ({"m_prior": (("unknown", MPrior()),)}, r"model\.m_prior"),
    ({"dependence": "total"}, r"model\.dependence"),
    ({"scheme": "fuzzy"}, r"model\.scheme"),
    ({"scheme": "lr_weighted", "fields": (replace(CHECK, value_frequencies=True),)}, "ratios"),
    ({"swaps": (("given", "absent"),)}, "swaps"),
    ({"swaps": (("given", "family"), ("born", "given"))}, "swaps"),
    ({"swaps": (("given", "given"),)}, "swaps"),
    ({"latent": LatentPlan(keys=("absent",))}, "compared fields only"),
    ({"check_field": PLAN.fields[0]}, "a field that nothing else uses"),
    ({"check_field": CHECK, "latent": LATENT}, "no estimates with the extended latent step"),
    ({"decoys": 300, "latent": LATENT}, "no estimates with the extended latent step"),
    ({"decoys": 300, "assignment": "many_to_one"}, "links of one record to one"),
    ({"decoys": 300, "assignment": "none"}, "links of one record to one"),
    ({"latent": LATENT, "assignment": "clusters"}, "clusters without"),
    ({"check_field": CHECK, "assignment": "clusters"}, "clusters without"),
    ({"draws": 20, "assignment": "clusters"}, "clusters without"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=lambda case: None if isinstance(case, str) else str(case))
def test_plans_that_make_no_sense_are_refused(changes, message):
    with refusal(ErrorCode.PARAMETER, message):
        replace(PLAN, **changes)


@pytest.mark.parametrize("bounds", [(), (0.5,), (0.5, 0.9), (0.5, 0.2, 1.0), (0.5, 0.5, 1.0), (-0.1, 1.0)])
def test_bounds_that_are_no_levels_are_refused(bounds):
    with refusal(ErrorCode.PARAMETER, "bounds must ascend from at least 0 to 1"):
        FieldPlan("born", 64, bounds)


@pytest.mark.parametrize(("agreement", "weight"), [(0.0, 20.0), (1.0, 20.0), (0.9, 0.0), (0.9, float("inf"))])
def test_beliefs_out_of_range_are_refused(agreement, weight):
    with refusal(ErrorCode.PARAMETER, "m_prior"):
        MPrior(agreement, weight)


@pytest.mark.parametrize(("assignment", "possible"), [("one_to_one", "20"), ("many_to_one", "30"), ("none", "600")])
def test_more_expected_matches_than_the_records_can_have_are_refused(assignment, possible):
    with refusal(ErrorCode.PARAMETER, possible) as caught:
        replace(PLAN, assignment=assignment, expected_matches=601.0).check_expected_matches(30, 20)
    assert caught.value.where == "model.expected_matches"


def specification(names: str, more: str = "") -> Specification:
    listed = ", ".join(f"{{name: {name}, kind: name, key_domain: names{more}}}" for name in names)
    return load_specification(
        f"{heading('few')}fields: [{listed}]\nretention: {{uploads_days: 1, results_days: 1, maps_days: 1}}\n"
    )


@pytest.mark.parametrize(("names", "reason"), [("a", "from one field"), ("ab", "from two fields")])
def test_specifications_of_too_few_fields_are_refused(names: str, reason: str) -> None:
    with refusal(ErrorCode.NOT_IDENTIFIED, reason) as caught:
        refuse_unidentified(specification(names))
    assert "u to all_pairs" in caught.value.remedy


def test_specifications_of_enough_fields_are_not() -> None:
    refuse_unidentified(specification("abc"))
    two = specification("ab")
    refuse_unidentified(two.model_copy(update={"model": two.model.model_copy(update={"u": "all_pairs"})}))
    # Further comparisons count as fields: of exchanged values, and of presence.
    refuse_unidentified(two.model_copy(update={"swaps": (("a", "b"),)}))
    refuse_unidentified(specification("ab", ", missing_as: level"))


@pytest.mark.parametrize(
    ("assignment", "once", "several"),
    [
        ("one_to_one", (True, True), (False, False)),
        ("greedy", (True, True), (False, False)),
        ("many_to_one", (True, False), (True, False)),
        ("one_to_many", (False, True), (False, True)),
        ("clusters", (False, False), (False, False)),
        ("none", (False, False), (True, True)),
    ],
)
def test_a_record_has_one_link_where_the_other_file_has_nobody_twice(
    assignment: str, once: tuple[bool, bool], several: tuple[bool, bool]
) -> None:
    plan = replace(PLAN, assignment=assignment)
    assert plan.once == once
    assert plan.several == several
    assert plan.one_to_one is all(once)
