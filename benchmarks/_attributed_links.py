"""Links of invented drivers whose values are known: made with false ones among them, or by a linkage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks._in_process import KEY as SEED
from benchmarks._in_process import signed
from gemel.carole.assessment.combined import Combined, combine
from gemel.carole.engine import Resources, link
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.extended_latent import BayesFactors, ExtendedSettings, Values, Variable, WeightedPairs
from gemel.carole.extended_latent.estimation import estimate
from gemel.common.parties import Side
from gemel.common.specification import Specification, encoding_digest
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.demonstration.people.drivers import driver_network
from gemel.coordinator.demonstration.people.insured import ALICES, BOBS, KEY, insured_specification
from gemel.custodian.encoding.categories import labels_by_code
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

    Attributes
    ----------
    true : tuple of ndarray of int32, shape (n_links, n_variables)
        Of the person behind Alice's half and behind Bob's, in the codes of `combined`.
    right : ndarray of bool, shape (n_links,)
        Whether both are one person.
    """

    combined: Combined
    joint: JointDistribution
    true: tuple[NDArray[np.int32], NDArray[np.int32]]
    right: NDArray[np.bool_]


def specification(fields: str, doubt: float) -> Specification:
    """Two insurers who assess what they link; Alice receives the joint distribution.

    Parameters
    ----------
    fields
        What is compared: "little", as `insured_specification` has it; "more", with the day of birth; "much", with the
        surname too.
    doubt
        Of the assessment.
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

    The link probabilities by agreement have a mean, and with `claimed` that of `false` as many of those with each are
    right as it says. The joint distribution is estimated from them, and by its Bayes factors they become those by
    agreement and values, as in a run.

    Parameters
    ----------
    n
        Links.
    false, claimed
        The share of links that are false, and the one by which link probabilities are made.
    doubtful
        "some": agreement leaves most links in no doubt, and others in much; "any": all in about the same.
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
        tuple(JointVariable(v.name, v.holder, v.levels) for v in variables),
        fit.model.match,
        fit.records,
        fit.precision,
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
    labels = labels_by_code(variable, spec.project, SEED, encoding_digest(spec), 1, spec.suite)
    network = driver_network()
    column = list(network.names).index(variable.name)
    code_of = np.array([labels.index(category) for category in network.categories[column]], dtype=np.int32)
    return code_of[traits[:, column]]


def _with_odds(probability: NDArray[np.float64], factor: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Probabilities with their odds multiplied."""
    return np.asarray(probability * factor / (probability * factor + 1 - probability)).clip(0.0, 1.0)
