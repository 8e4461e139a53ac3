"""What a released joint distribution tells of the linked people, and what its form might hide from the assessment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.combined_assessment import AssessmentContext, assess
from gemel.carole.assessment.inferred_values import possible_probabilities, sensitive_values
from gemel.carole.assessment.joint_model import modelled_attribution
from gemel.common.documents.linkage_document import LinkageDocument
from gemel.common.errors import GemelErrors
from gemel.common.specification import Specification, load_specification, specification_notes
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.fitted import fit
from gemel.risk.models.graphs import Graph
from gemel.risk.models.joint_distribution import JointDistribution, JointVariable
from tests.carole.assessment.outputs import RUN, linkage
from tests.carole.assessment.outputs import output as output_of
from tests.specifications import heading

TEXT = (
    heading("joined")
    + """
fields:
  - {name: surname, kind: name}
variables:
  - {name: age, holder: alice, categories: [a, b, c], role: key}
  - {name: hobby, holder: alice, categories: [a, b], role: other}
  - {name: work, holder: bob, categories: [a, b], role: key}
  - {name: illness, holder: bob, categories: [none, some, grave], role: sensitive}
latent: {precision: PRECISION}
release: {joint: alice}
assessment:
  fractions: {alice: 0.5, bob: 0.5, combined: 0.5}
  limits: {joint_attribution: 0.1}
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
"""
)
NAMES, LEVELS = ("age", "hobby", "work", "illness"), (3, 2, 2, 3)
BY_AGE, BY_HOBBY = [("age", "illness")], [("hobby", "illness")]
N = 240


def specification(precision: float = 1.0, text: str = TEXT) -> Specification:
    return load_specification(text.replace("PRECISION", f"{precision:g}"), "t")


def people(by: str | None = None, chance: float = 1.0) -> NDArray[np.int32]:
    """People, whose illness follows from another variable in a share of them."""
    rng = np.random.default_rng(5)
    codes = np.stack([rng.integers(0, n, N) for n in LEVELS], axis=1).astype(np.int32)
    if by is not None:
        follows = rng.random(N) < chance
        codes[:, 3] = np.where(follows, codes[:, NAMES.index(by)], codes[:, 3])
    return codes


def output(codes: NDArray[np.int32], probability: float | NDArray[np.float64] = 1.0) -> Combined:
    return output_of(codes, specification(), probability)


def joint_of(codes: NDArray[np.int32], edges: list[tuple[str, str]], precision: float = 1.0) -> JointDistribution:
    counts = SparseCounts.from_records(codes, LEVELS, NAMES)
    model = fit(counts, Graph.from_edges(NAMES, edges), "posterior mean", precision)
    holders = ("alice", "alice", "bob", "bob")
    variables = tuple(JointVariable(n, h, k) for n, h, k in zip(NAMES, holders, LEVELS, strict=True))  # type: ignore[arg-type]
    return JointDistribution(variables, model, float(len(codes)), precision)


def assessed(
    combined: Combined, joint: JointDistribution | None, precision: float = 1.0, linkage: LinkageDocument | None = None
) -> dict[str, Any]:
    return assess(combined, specification(precision), AssessmentContext(RUN, linkage=linkage), joint=joint).document


def judged(combined: Combined, joint: JointDistribution | None, *more: Any, **beside: Any) -> dict[str, Any]:
    """The measure of the released distribution."""
    measure: dict[str, Any] = assessed(combined, joint, *more, **beside)["measures"]["joint_attribution"]
    return measure


def test_whoever_knows_the_keys_infers_what_follows_from_them() -> None:
    codes = people("age", 0.95)
    measure = judged(output(codes), joint_of(codes, BY_AGE))
    right = float((codes[:, 0] == codes[:, 3]).mean())
    assert 0.93 < right < 1
    assert measure["value"] == pytest.approx(right)
    assert measure["breached"]
    assert measure["method"].endswith("worst for illness, given key variables")
    plain = judged(output(people()), joint_of(people(), []))
    assert (plain["value"], plain["breached"]) == (0.0, False)


def test_a_recipient_knows_more_of_its_own_people_than_the_keys() -> None:
    codes = people("hobby")
    document = assessed(output(codes), joint_of(codes, BY_HOBBY))
    found = {entry["intruder"]: entry for entry in document["released_joint"]}
    assert (found["keys"]["inferred"], found["alice"]["inferred"]) == (0.0, 1.0)
    assert document["measures"]["joint_attribution"]["value"] == 1.0
    assert "given what Alice's file says" in document["measures"]["joint_attribution"]["method"]


def test_what_is_common_is_known_without_it() -> None:
    codes = people()
    codes[:, 3] = np.where(np.arange(N) % 20 == 0, 1, 0)
    document = assessed(output(codes), joint_of(codes, []))
    assert document["measures"]["joint_attribution"]["value"] == pytest.approx(0.95)
    assert [entry["by_frequency"] for entry in document["released_joint"]] == [pytest.approx(0.95)] * 2


@pytest.mark.parametrize("precision", [1.0, 64.0, 1000.0, 20_000.0])
def test_a_prior_that_hides_every_certain_value_hides_none_from_the_assessment(precision: float) -> None:
    """The released posterior leaves doubt of everybody; who takes the known prior away has none."""
    codes = people("age")
    joint = JointDistribution.from_json(joint_of(codes, BY_AGE, precision).to_json())
    released = joint.conditional("illness", np.where(np.arange(4) == 3, -1, codes).astype(np.int32))
    assert (released.max() < 0.9) == (precision >= 64)
    measure = judged(output(codes), joint, precision)
    assert measure["value"] == 1.0
    if precision >= 64:
        assert "with the prior taken away" in measure["method"]


@pytest.mark.parametrize("edges", [BY_AGE, [("age", "work"), ("work", "illness")], [*BY_AGE, ("age", "work")]])
def test_without_its_prior_it_is_what_was_counted(edges: list[tuple[str, str]]) -> None:
    codes = people("age", 0.8)
    bare = joint_of(codes, edges, 50.0).without_prior()
    assert bare is not None
    counts = SparseCounts.from_records(codes, LEVELS, NAMES)
    counted = fit(counts, Graph.from_edges(NAMES, edges), "maximum likelihood")
    np.testing.assert_allclose(bare.table(NAMES), counted.marginal(NAMES), atol=1e-12)
    assert bare.without_prior() is None, "nothing is left to take away"


def test_six_people_in_a_corner_are_a_small_share_and_pass() -> None:
    """The measure is a share: what is certain of a few of many stays below a limit. The page says so."""
    codes = people()
    codes[codes[:, 0] == 2, 0] = 1
    codes[:6, 0], codes[:6, 3] = 2, 2
    measure = judged(output(codes), joint_of(codes, BY_AGE))
    assert measure["value"] == pytest.approx(6 / N)
    assert not measure["breached"]


def test_a_missing_value_is_inferred_too() -> None:
    """The files lack it, the person has it, and the distribution tells it."""
    codes = people("age")
    joint = joint_of(codes, BY_AGE)
    codes[: N // 2, 3] = -1
    assert judged(output(codes), joint)["value"] == pytest.approx(1.0, abs=0.01)


def test_behind_a_false_link_the_person_has_a_value_of_his_own() -> None:
    """Of a false link the record's value counts for nothing, and Alice's age tells the person's own."""
    codes = people("age")
    joint = joint_of(codes, BY_AGE)
    # A third of the links take Bob's half of another person.
    false = np.arange(N) % 3 == 0
    mixed = codes.copy()
    mixed[false, 2:] = np.roll(codes[false], 7, axis=0)[:, 2:]
    links = output(mixed, np.where(false, 0.05, 1.0))
    believed, trusted = judged(links, joint), judged(output(mixed), joint)
    wrong = float((mixed[:, 3] != codes[:, 3]).mean())
    assert wrong > 0.15
    assert trusted["value"] == pytest.approx(1 - wrong)
    assert believed["value"] == pytest.approx(1.0, abs=0.02)


def test_an_estimate_of_false_links_widens_the_interval() -> None:
    # Keys of both files, so that what follows from Bob's is another person's if the link is false.
    codes = people("work", 0.95)
    links = output(codes, np.where(codes[:, 3] == codes[:, 2], 0.98, 0.9))
    document = linkage(N, decoys={"value": 0.9, "lower": 0.8, "upper": 0.99})
    means = [float(p.mean()) for p in possible_probabilities(links, document)]
    assert means == pytest.approx([float(links.probability.mean()), 0.8, 0.99])
    claim = {"value": 0.95, "lower": 0.9, "upper": 0.97}
    claimed = linkage(N, {"precision": claim, "recall": claim})
    assert [float(found.mean()) for found in possible_probabilities(links, claimed)][1:] == pytest.approx([0.9, 0.97])
    assert len(possible_probabilities(links, linkage(N))) == 1
    joint = joint_of(codes, [("work", "illness")])
    alone, wide = (judged(links, joint, linkage=of) for of in (None, document))
    assert wide["value"] == alone["value"]
    assert wide["lower"] <= alone["lower"] < alone["upper"] <= wide["upper"]
    assert (wide["lower"], wide["upper"]) != (alone["lower"], alone["upper"])


def test_without_a_released_distribution_nothing_is_measured() -> None:
    codes = people("age")
    assert "joint_attribution" not in assessed(output(codes), None)["measures"]
    kept = specification(text=TEXT.replace("release: {joint: alice}\n", "").replace("joint_attr", "certain_attr"))
    found = assess(output(codes), kept, AssessmentContext(RUN), joint=joint_of(codes, BY_AGE)).document
    assert "joint_attribution" not in found["measures"]
    assert "released_joint" not in found


def test_no_link_tells_nothing() -> None:
    codes = people("age")
    measure = judged(output(codes[:0]), joint_of(codes, BY_AGE))
    assert (measure["value"], measure["upper"]) == (0.0, 0.0)


def test_what_a_person_has_follows_by_bayes_rule() -> None:
    """Against the table over all variables; with nothing known the frequencies, with the impossible nothing."""
    joint = joint_of(people("age", 0.7), [*BY_AGE, ("age", "work")])
    table = joint.table(NAMES)
    codes = np.array([[0, 1, 1, 2], [2, -1, -1, -1], [-1, -1, -1, 0]], dtype=np.int32)
    found = joint.conditional("illness", codes)
    np.testing.assert_allclose(found[0], table[0, 1, 1] / table[0, 1, 1].sum())
    np.testing.assert_allclose(found[1], table[2].sum(axis=(0, 1)) / table[2].sum())
    np.testing.assert_allclose(found[2], table.sum(axis=(0, 1, 2)))
    people_of_two = people()
    people_of_two[people_of_two[:, 0] == 1, 0] = 0
    bare = joint_of(people_of_two, BY_AGE).without_prior()
    assert bare is not None
    assert bare.conditional("illness", np.array([[1, -1, -1, -1]], dtype=np.int32)).sum() == 0
    assert joint.conditional("illness", codes[:0]).shape == (0, 3)


@pytest.mark.parametrize("change", [("release: {joint: alice}\n", ""), ("role: sensitive", "role: other")])
def test_a_limit_needs_what_it_judges(change: tuple[str, str]) -> None:
    with pytest.raises(GemelErrors, match=r"limits\.joint_attribution: no joint distribution is released"):
        specification(text=TEXT.replace(*change))


def test_the_notes_say_what_judges_it() -> None:
    def words(text: str) -> str:
        return " ".join(specification_notes(specification(text=text)))

    assert "joint_attribution, at most 0.1, judges that" in words(TEXT)
    assert "measures that for sensitive variables, without a limit" in words(TEXT.replace("joint_attr", "certain_attr"))


def test_the_interval_is_wider_the_less_the_links_are_certain() -> None:
    codes = people("age", 0.95)
    joint = joint_of(codes, BY_AGE)
    found = [judged(output(codes, chance), joint) for chance in (1.0, 0.9, 0.5)]
    widths = [measure["upper"] - measure["lower"] for measure in found]
    assert sorted(widths) == widths
    assert widths[0] < 5 / N < widths[2]
    assert [measure["value"] for measure in found] == pytest.approx([found[0]["value"]] * 3)


# Attribution by the joint model: a record's own value as far as its link is probable, the joint model for the rest.


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
    found = modelled_attribution(combined, sensitive, [combined.probability], 0.1)["illness"]
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
    combined = output_of(codes, specification(text=text), 0.3)
    sensitive = sensitive_values(combined, "illness", joint_of(codes, [("work", "illness")]))
    assert not sensitive.hangs
    assert sensitive_values(output(codes, 0.3), "illness", None).hangs
    assert modelled_attribution(combined, [sensitive], [combined.probability], 0.1)["illness"].value == 1.0


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
    found = assess(output(people("age")), spec, AssessmentContext(RUN), joint=joint_of(people("age"), BY_AGE))
    assert "modelled_attribution" in found.breaches
    bare = text.replace("latent: {precision: PRECISION}\nrelease: {joint: alice}\n", "")
    with pytest.raises(GemelErrors, match=r"limits\.modelled_attribution: there is no joint model"):
        specification(text=bare)
