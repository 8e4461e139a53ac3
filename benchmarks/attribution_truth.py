"""Attribution by the joint model beside the truth, with false links: ``python -m benchmarks attribution_truth``.

Invented drivers of two insurers are linked; of each sensitive variable the measures `modelled_attribution` and
`joint_attribution` are compared with what their intruders infer rightly of the people, whose values are known. In the
section *made* a stated share of the links is false on purpose, with link probabilities that are right, or that claim
a fifth as many or three times as many; in the section *linked* Carole's engine links files by little or by much. What
is printed is how often the truth lies in the 95 % interval, with the exact 95 % interval of that.
``--write`` puts the table into docs/assessment.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks import DOCS
from benchmarks._figures import share, write_between
from benchmarks._in_process import KEY as SEED
from benchmarks._in_process import signed
from gemel.carole.assessment.combined import Combined, combine
from gemel.carole.assessment.inferred_values import Drawn, known, sensitive_values
from gemel.carole.assessment.joint_model import inferences, joint_model
from gemel.carole.engine import Resources, link
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.extended_latent import BayesFactors, ExtendedSettings, Values, Variable, WeightedPairs
from gemel.carole.extended_latent.estimation import estimate
from gemel.common.documents.linkage_document import LinkageDocument
from gemel.common.parties import Side
from gemel.common.specification import Specification
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.demonstration.people.insured import ALICES, BOBS, KEY, driver_network, insured_specification
from gemel.custodian.encoding.categories import Relabelling
from gemel.risk.models.joint_distribution import JointDistribution, JointVariable

ROLES = {
    "SocioEcon": "key",
    "VehicleYear": "key",
    "DrivingSkill": "key",
    "Age": "key",
    "HomeBase": "key",
    "OtherCar": "sensitive",
    "MakeModel": "sensitive",
    "RiskAversion": "sensitive",
    "SeniorTrain": "sensitive",
}
"""What an intruder may know of a driver, and what must not be learnt; keys and sensitive variables of both files."""

SPREAD = {"some": 2.0, "any": 200.0}
"""Which links may be false: the sum of the two parameters of the beta distribution of their probabilities."""


@dataclass(frozen=True)
class Attributed:
    """A combined output, its joint distribution, and the true values of the people behind each link.

    `true` is of the person behind Alice's half and behind Bob's, shape (n_links, n_variables), in the codes of
    `combined`; `right`: both are one person.
    """

    combined: Combined
    joint: JointDistribution
    true: tuple[NDArray[np.int32], NDArray[np.int32]]
    right: NDArray[np.bool_]


def specification(fields: str, doubt: float) -> Specification:
    """Two insurers who assess what they link; Alice receives the joint distribution.

    `fields`, what is compared: "little", as `insured_specification` has it; "more", with the day of birth; "much",
    with the surname too.
    """
    content = insured_specification("attributed").model_dump(mode="json", exclude_unset=True)
    for variable in content["variables"]:
        variable["role"] = ROLES.get(variable["name"], "other")
    for field in content["fields"]:
        if field["name"] == "born" and fields != "little":
            field["date"] = {"order": "ymd", "parts": ["month", "day"]}
    if fields == "much":
        content["fields"].append({"name": "surname", "kind": "name"})
    content["release"] = {"joint": "alice"}
    content["assessment"] = {
        "fractions": {"alice": 0.05, "bob": 0.05, "combined": 0.025},
        "limits": {"joint_attribution": 1.0},
        "doubt": doubt,
    }
    return Specification.model_validate(content)


def made(
    spec: Specification, n: int, false: float, claimed: float, doubtful: str, rng: np.random.Generator
) -> Attributed:
    """Links of which some are made false on purpose: Alice's half stays, Bob's is of a person whom only he has.

    The link probabilities by agreement have a mean, and with `claimed` that of `false` as many of those with each
    are right as it says. The joint distribution is estimated from them, and by its Bayes factors they become those
    by agreement and values, as in a run. `doubtful`: "some", agreement leaves most links in no doubt, and others in
    much; "any", all in about the same.
    """
    traits = _traits(3 * n // 2, rng)
    spread = SPREAD[doubtful]
    by_agreement = rng.beta(spread * (1 - false), spread * false, n) if false > 0 else np.ones(n)
    right = rng.random(n) < by_agreement
    if claimed != false:
        by_agreement = _with_odds(by_agreement, (1 - claimed) * false / (claimed * (1 - false)))
    row_a, row_b = np.arange(n), np.arange(n)
    row_b[~right] = rng.permutation(np.arange(n, 3 * n // 2))[: int((~right).sum())]
    names = [variable.name for variable in spec.variables]
    columns = [list(driver_network().names).index(name) for name in names]
    codes = traits[:, columns]
    alice, bob = (
        np.where([v.held_by(side) for v in spec.variables], codes if side is Side.BOB else codes[:n], -1)
        for side in Side
    )
    own = [q for q, variable in enumerate(spec.variables) if variable.holder != "both"]
    variables = tuple(Variable(names[q], spec.variables[q].holder, len(spec.variables[q].categories)) for q in own)
    values = Values(variables, alice[:, own].astype(np.int32), bob[:, own].astype(np.int32))
    assert spec.latent is not None
    weighted = WeightedPairs(row_a.astype(np.int32), row_b.astype(np.int32), by_agreement)
    fit = estimate(values, weighted, ExtendedSettings(precision=spec.latent.precision))
    assert fit.model.match is not None
    factor = np.exp(BayesFactors(fit.model, values).log(row_a, row_b))
    chance = _with_odds(by_agreement, factor)
    joint = JointDistribution(
        tuple(JointVariable(v.name, v.holder, v.levels) for v in variables), fit.model.match, fit.records, fit.precision
    )
    combined = Combined(
        tuple(spec.variables), alice.astype(np.int32), bob.astype(np.int32), row_a, row_b, chance, row_a, row_b, chance
    )
    return Attributed(combined, joint, (codes[row_a], codes[row_b]), right)


def linked(spec: Specification, n: int, rng: np.random.Generator) -> Attributed:
    """Links that Carole's engine makes of two files of `n` records, half of them in both, a fifth with errors."""
    frames = two_files(n, n, n // 2, 0.2, rng)
    people = pl.concat([frame[TRUTH] for frame in frames]).unique().sort()
    traits = _traits(people.len(), rng)
    of_person = {person: row for row, person in enumerate(people.to_list())}
    network = driver_network()
    sets, whose = [], []
    for side, frame, names in zip(Side, frames, ((*ALICES, KEY), (*BOBS, KEY)), strict=True):
        rows = np.array([of_person[person] for person in frame[TRUTH].to_list()])
        columns = []
        for name in names:
            column = list(network.names).index(name)
            codes = traits[rows, column]
            if name == KEY and side is Side.BOB:
                moved = rng.random(len(codes)) < 0.1
                codes = np.where(moved, rng.integers(0, len(network.categories[column]), len(codes)), codes)
            columns.append(pl.Series(name, np.array(network.categories[column])[codes].tolist()))
        part, persons_of = signed(frame.with_columns(columns), spec, side)
        sets.append(part)
        whose.append(np.array([of_person[person] for person in persons_of.tolist()]))
    linkage = link(sets[0], sets[1], plan_of(spec), Resources(2**31, 2), lambda stage, done: None)
    combined = combine(linkage, sets[0], sets[1], spec)
    assert linkage.latent is not None
    assert linkage.latent.joint is not None
    recoded = np.stack([_codes(spec, q, traits) for q in range(len(spec.variables))], axis=1)
    a, b = whose[0][combined.row_a], whose[1][combined.row_b]
    return Attributed(combined, linkage.latent.joint, (recoded[a], recoded[b]), a == b)


def _traits(n: int, rng: np.random.Generator) -> NDArray[np.int32]:
    return driver_network().sample(n, rng).astype(np.int32)


def _codes(spec: Specification, place: int, traits: NDArray[np.int32]) -> NDArray[np.int32]:
    """People's true values of a variable in the codes of the custodians."""
    variable = spec.variables[place]
    labels = Relabelling.of(spec, SEED, 1).labels(variable)
    network = driver_network()
    column = list(network.names).index(variable.name)
    code_of = np.array([labels.index(category) for category in network.categories[column]], dtype=np.int32)
    return code_of[traits[:, column]]


def _with_odds(probability: NDArray[np.float64], factor: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Probabilities with their odds multiplied."""
    return np.asarray(probability * factor / (probability * factor + 1 - probability)).clip(0.0, 1.0)


DOCUMENT = DOCS / "assessment.md"
CASES = (
    ("made, none false", 0.0, 0.0, "some"),
    ("made, some doubtful", 0.03, 0.03, "some"),
    ("made, some doubtful", 0.1, 0.1, "some"),
    ("made, all doubtful", 0.03, 0.03, "any"),
    ("made, all doubtful", 0.1, 0.1, "any"),
    ("made, too few claimed", 0.1, 0.02, "any"),
    ("made, too many claimed", 0.1, 0.3, "any"),
)
"""Links that are made: the share of false ones, the share that is claimed by agreement, and which may be false."""

FIELDS = {"much": "surname too", "more": "the day of birth too", "little": "little"}
"""What is compared, from much to little."""


@dataclass(frozen=True)
class Claim:
    """One measure of one sensitive variable in one replicate."""

    measure: str
    variable: str
    intruder: str
    value: float
    lower: float
    upper: float
    true: float

    @property
    def inside(self) -> bool:
        """Whether the truth lies in the interval."""
        return self.lower - 1e-9 <= self.true <= self.upper + 1e-9


def claims(found: Attributed, spec: Specification, linkage: LinkageDocument | None = None) -> Iterable[Claim]:
    """Every claim of the joint model's measures, beside the truth; `linkage`: with estimates of the links' quality."""
    combined, joint = found.combined, found.joint
    policy = spec.assessment
    assert policy is not None
    model = joint_model(combined, spec, joint, linkage)
    plain = joint.without_prior()
    for name, measure in model.by_variable["modelled_attribution"].items():
        drawn = inferences(combined, sensitive_values(combined, name, joint), combined.probability, policy.doubt)
        assert measure.lower is not None
        assert measure.upper is not None
        right = _right(drawn, found, name)
        yield Claim("modelled_attribution", name, "keys", measure.value, measure.lower, measure.upper, right)
    for entry in model.released:
        name, who = entry["variable"], entry["intruder"]
        people = found.true[0] if _of_alice(found, name) else found.true[1]
        knows = [v.name for v in spec.variables if (v.role == "key" if who == "keys" else v.held_by(Side(who)))]
        codes = known(combined, joint, people, knows)
        posterior = joint.conditional(name, codes)
        if entry["posterior"] == "with the prior taken away":
            assert plain is not None
            bare = plain.conditional(name, codes)
            posterior = np.where(bare.sum(axis=1, keepdims=True) > 0, bare, posterior)
        right = _right(Drawn.of(posterior, policy.doubt), found, name)
        yield Claim("joint_attribution", name, who, entry["inferred"], entry["lower"], entry["upper"], right)


def _of_alice(found: Attributed, name: str) -> bool:
    """Whether the person is the one behind Alice's half: whose value Bob has brought."""
    (column,) = found.combined.columns([name])
    return found.combined.variables[column].holder == "bob"


def _right(drawn: Drawn, found: Attributed, name: str) -> float:
    (column,) = found.combined.columns([name])
    people = found.true[0] if _of_alice(found, name) else found.true[1]
    return float((drawn.sure & (drawn.value == people[:, column])).mean())


def compared(
    make: Callable[[np.random.Generator], Attributed],
    spec: Specification,
    replicates: int,
    seed: int,
    linkage: LinkageDocument | None = None,
) -> tuple[list[list[Claim]], float, float]:
    """The claims by replicate, and the mean shares of false links: true and claimed."""
    every, false, claimed = [], [], []
    for r in range(replicates):
        found = make(np.random.default_rng([seed, r]))
        every.append(list(claims(found, spec, linkage)))
        false.append(1 - float(found.right.mean()))
        claimed.append(1 - float(found.combined.probability.mean()))
    return every, float(np.mean(false)), float(np.mean(claimed))


def rows(case: str, every: Sequence[Sequence[Claim]], false: float, claimed: float) -> list[str]:
    """Lines of the table: each measure over variables, intruders and replicates, without those that are always 0."""
    found = []
    by_claim = [of for of in zip(*every, strict=True) if any(claim.true or claim.value for claim in of)]
    for measure in ("modelled_attribution", "joint_attribution"):
        own = [of for of in by_claim if of[0].measure == measure]
        if not own:
            continue
        every_claim = [claim for of in own for claim in of]
        inside, n = sum(claim.inside for claim in every_claim), len(every_claim)
        worst = min(own, key=lambda of: sum(claim.inside for claim in of))
        seldom = sum(claim.inside for claim in worst)
        true, value = (float(np.mean([getattr(claim, what) for claim in every_claim])) for what in ("true", "value"))
        biases = [float(np.mean([claim.value - claim.true for claim in of])) for of in own]
        width = float(np.mean([claim.upper - claim.lower for claim in every_claim]))
        found.append(
            f"| {case} | {100 * false:.1f} | {100 * claimed:.1f} | `{measure}` | {true:.3f} | {value:.3f} |"
            f" {max(biases, key=abs):+.3f} | {width:.3f} | {inside} of {n} | {share(seldom, len(worst))},"
            f" {worst[0].variable}, {worst[0].intruder} |"
        )
    return found


def main(arguments: list[str]) -> int:
    """Compare, and print a table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks attribution_truth", description=__doc__)
    parser.add_argument("--replicates", type=int, default=40)
    parser.add_argument("--links", type=int, default=600, help="links that are made")
    parser.add_argument("--records", type=int, default=600, help="records of each file that is linked")
    parser.add_argument("--doubt", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=40)
    parser.add_argument("--sections", nargs="+", choices=("made", "linked"), default=("made", "linked"))
    parser.add_argument("--write", action="store_true", help="put the table into docs/assessment.md")
    options = parser.parse_args(arguments)
    lines = [
        f"{options.replicates} replicates, seed {options.seed}, doubt {options.doubt:g}.",
        "",
        "| links | false, % | claimed, % | measure | true | measured | largest bias of a variable | mean width of the"
        " interval | truth inside | least often |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    if "made" in options.sections:
        spec = specification("little", options.doubt)
        for case, false, stated, doubtful in CASES:

            def make(
                rng: np.random.Generator, false: float = false, stated: float = stated, doubtful: str = doubtful
            ) -> Attributed:
                return made(spec, options.links, false, stated, doubtful, rng)

            lines += rows(case, *compared(make, spec, options.replicates, options.seed))
    if "linked" in options.sections:
        for fields, words in FIELDS.items():
            spec = specification(fields, options.doubt)

            def make_linked(rng: np.random.Generator, spec: Specification = spec) -> Attributed:
                return linked(spec, options.records, rng)

            lines += rows(f"linked by {words}", *compared(make_linked, spec, options.replicates, options.seed))
    text = "\n".join(lines)
    print(text, flush=True)
    if options.write:
        write_between(DOCUMENT, "attribution truth", text)
    return 0
