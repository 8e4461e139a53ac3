"""Attribution by the joint model: a record's own value as far as its link is probable, the joint model for the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.assessment.combined_assessment import AssessmentContext, assess
from gemel.carole.assessment.inferred_values import sensitive_values
from gemel.carole.assessment.joint_model import modelled_attribution
from gemel.common.errors import GemelErrors
from tests.carole.assessment.test_released_joint import (
    BY_AGE,
    TEXT,
    N,
    assessed,
    joint_of,
    output,
    people,
    specification,
)


def measures(codes: Any, probability: Any, joint: Any) -> dict[str, Any]:
    found: dict[str, Any] = assessed(output(codes, probability), joint)["measures"]
    return found


@given(st.data())
def test_it_agrees_with_the_formula_record_by_record(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 12))
    rows = [data.draw(st.lists(st.integers(-1, top), min_size=n, max_size=n)) for top in (2, 1, 1, 2)]
    codes = np.array(rows, dtype=np.int32).T
    chances = np.array(data.draw(st.lists(st.floats(0.05, 1.0), min_size=n, max_size=n)))
    joint = joint_of(people("age", 0.8), [*BY_AGE, ("age", "work")])
    table = joint.table(["age", "work", "illness"])

    def by_keys(age: int, work: int) -> Any:
        known = table.sum(axis=0) if age < 0 else table[age]
        known = known.sum(axis=0) if work < 0 else known[work]
        return known / known.sum()

    own = []
    for (age, _, work, illness), chance in zip(codes.tolist(), chances, strict=True):
        if illness < 0:
            own.append(by_keys(age, work))
        else:
            # Of the person behind Alice's record only her key is known if the link is false.
            own.append(chance * np.eye(3)[illness] + (1 - chance) * by_keys(age, -1))
    expected = 0.0
    doubtful = False
    for i in range(n):
        group = [j for j in range(n) if (codes[j, [0, 2]] == codes[i, [0, 2]]).all()]
        posterior = np.mean([own[j] for j in group], axis=0)
        best = int(posterior.argmax())
        doubtful |= abs(posterior[best] - 0.9) < 1e-9
        expected += own[i][best] * (posterior[best] >= 0.9) / n
    combined = output(codes, chances)
    sensitive = [sensitive_values(combined, "illness", joint)]
    found = modelled_attribution(combined, sensitive, [combined.probability], 0.1).measures["modelled_attribution"]
    if not doubtful:
        assert found.value == pytest.approx(expected)
    assert found.lower is not None
    assert found.upper is not None
    assert found.lower <= found.value <= found.upper


def test_a_doubtful_link_leaves_doubt_though_no_other_record_has_the_keys() -> None:
    """Expected counts by key group take a group's only record for certain; what is learnt is right if its link is."""
    codes = people()[:1]
    joint = joint_of(people(), [])
    for chance, modelled in ((0.7, 0.0), (0.95, pytest.approx(0.95 + 0.05 * joint.table(["illness"])[codes[0, 3]]))):
        found = measures(codes, chance, joint)
        assert found["probable_attribution"]["value"] == pytest.approx(chance)
        assert found["modelled_attribution"]["value"] == modelled


def test_what_the_joint_model_knows_anyway_needs_no_link() -> None:
    codes = people("age")
    found = measures(codes, 0.5, joint_of(codes, BY_AGE))
    assert found["modelled_attribution"]["value"] == pytest.approx(1.0, abs=0.01)
    assert measures(codes, 0.5, joint_of(people(), []))["modelled_attribution"]["value"] == 0.0


def test_a_value_beside_its_own_files_keys_does_not_hang_on_the_link() -> None:
    codes = people("work")
    text = TEXT.replace("name: age, holder: alice, categories: [a, b, c], role: key", "name: age, holder: alice,"
                        " categories: [a, b, c], role: other")  # fmt: skip
    combined = output(codes, 0.3)
    variables = tuple(specification(text=text).variables)
    combined = type(combined)(
        variables, combined.alice, combined.bob, combined.row_a, combined.row_b, combined.probability,
        combined.pair_a, combined.pair_b, combined.pair_probability,
    )  # fmt: skip
    (sensitive,) = (sensitive_values(combined, "illness", joint_of(codes, [("work", "illness")])),)
    assert not sensitive.hangs
    assert sensitive_values(output(codes, 0.3), "illness", None).hangs
    found = modelled_attribution(combined, [sensitive], [combined.probability], 0.1)
    assert found.measures["modelled_attribution"].value == 1.0


def test_without_a_joint_distribution_frequencies_stand_for_it() -> None:
    """Where all keys stand alone there is none, and a limit is judged all the same."""
    codes = people()
    codes[:, 3] = np.where(np.arange(N) % 20 == 0, 1, 0)
    combined = output(codes, 0.5)
    found = assessed(combined, None)["measures"]
    assert "joint_attribution" not in found
    assert found["modelled_attribution"]["value"] == pytest.approx(0.95, abs=0.03)


def test_options_say_what_is_left_without_the_variable() -> None:
    codes = people("age")
    document = assessed(output(codes), joint_of(codes, BY_AGE))
    effects = {option["action"]: option["effect"] for option in document["options"]}
    assert effects["leave out illness"]["modelled_attribution"] == 0.0
    assert effects["leave out illness"]["joint_attribution"] == 0.0
    (variable,) = document["attribution"]["variables"]
    assert variable["modelled_attribution"] == document["measures"]["modelled_attribution"]["value"]


def test_a_limit_needs_a_latent_step() -> None:
    text = TEXT.replace("joint_attribution: 0.1", "modelled_attribution: 0.5")
    spec = specification(text=text)
    found = assess(output(people("age")), spec, AssessmentContext("r" * 32), joint=joint_of(people("age"), BY_AGE))
    assert "modelled_attribution" in found.breaches
    bare = text.replace("latent: {precision: PRECISION}\nrelease: {joint: alice}\n", "")
    with pytest.raises(GemelErrors, match=r"limits\.modelled_attribution: there is no joint model"):
        specification(text=bare)
