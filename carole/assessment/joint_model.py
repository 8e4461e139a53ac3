"""The measures by the joint model of the extended latent step: of the linked records, and of its own release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gemel.carole.assessment.attribution import Groups
from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.inferred_values import (
    Drawn,
    SensitiveValues,
    expected_share,
    known,
    possible_probabilities,
    sensitive_values,
)
from gemel.carole.assessment.measures import Measure
from gemel.common.documents.linkage_document import LinkageDocument
from gemel.common.parties import Side
from gemel.common.specification import Specification
from gemel.risk.arrays import Codes, Floats, Integers
from gemel.risk.models.joint_distribution import JointDistribution

# The released joint distribution as a disclosure: what it tells of a person who is known to be among the linked.
#
# It is a statistic over the linked people, from which whoever has it computes the distribution of a sensitive value
# given what is known of a person. Two intruders are assumed: one who knows the key variables, and each recipient, who
# knows all that its own file says of its own people. Posterior means hide little from either: the prior is public, and
# taking it away leaves the relative frequencies, which are judged too.


def released_joint(
    combined: Combined,
    spec: Specification,
    joint: JointDistribution | None,
    sensitive: Sequence[SensitiveValues],
    probabilities: Sequence[Floats],
) -> tuple[dict[str, Measure], list[dict[str, Any]]]:
    """What the joint distribution tells of the linked people, as far as the specification releases it: by sensitive
    variable the worst of the intruders, and each intruder, ready for JSON."""
    policy = spec.assessment
    recipients = [side for side in Side if spec.release.joint_to(side)]
    if policy is None or spec.latent is None or joint is None or not recipients:
        return {}, []
    plain = joint.without_prior()
    document: list[dict[str, Any]] = []
    worst: dict[str, Measure] = {}
    for variable in sensitive:
        name = variable.name
        worst[name] = Measure(0.0, f"it does not have {name}", 0.0, 0.0)
        if name not in joint.names:
            continue
        row = joint.table([name])  # what follows for whoever knows the distribution and nothing of the person
        common = Drawn.of(np.broadcast_to(row, (combined.n_records, len(row))), policy.doubt)
        by_frequency = expected_share([common.of_people(variable, combined.probability)], "").value
        found = []
        for who, codes, about in _intruders(combined, joint, variable, recipients):
            shares = {}
            for form, posterior in _posteriors(joint, plain, name, codes).items():
                drawn = Drawn.of(posterior, policy.doubt)
                # A recipient has its own record of the person, whatever it is linked to.
                right = drawn.of_people if who == "keys" else drawn.of_records
                shares[form] = expected_share([right(about, probability) for probability in probabilities], "")
            form = max(shares, key=lambda form: shares[form].judged)
            share = shares[form]
            knows = "key variables" if who == "keys" else f"what {who.capitalize()}'s file says"
            how = (
                f"posterior {form}, at least {1 - policy.doubt:g}; links as far as they are probable; worst for {name}"
            )
            found.append(replace(share, method=f"{how}, given {knows}"))
            entry = {"variable": name, "intruder": who, "inferred": share.value, "lower": share.lower}
            document.append({**entry, "upper": share.upper, "by_frequency": by_frequency, "posterior": form})
        worst[name] = max(found, key=lambda measure: measure.judged)
    return worst, document


def _intruders(
    combined: Combined, joint: JointDistribution, sensitive: SensitiveValues, recipients: Sequence[Side]
) -> Iterator[tuple[str, Codes, SensitiveValues]]:
    """Who has the distribution, what they know of each linked record, and whose value they look for."""
    yield "keys", known(combined, joint, combined.codes, combined.with_role("key")), sensitive
    name = sensitive.name
    (column,) = combined.columns([name])
    for side in recipients:
        if combined.variables[column].held_by(side):
            continue
        file, rows, _ = combined.own(side)
        codes = known(combined, joint, file[rows], [v.name for v in combined.variables if v.held_by(side)])
        elsewhere = joint.conditional(name, codes)
        yield str(side), codes, SensitiveValues(name, sensitive.values, elsewhere, elsewhere, hangs=True)


def _posteriors(
    joint: JointDistribution, plain: JointDistribution | None, name: str, codes: Codes
) -> dict[str, Floats]:
    """What each form of the distribution says of the variable; without its prior as released where it says nothing."""
    forms = {"as released": joint.conditional(name, codes)}
    if plain is not None:
        bare = plain.conditional(name, codes)
        excluded = bare.sum(axis=1) == 0
        bare[excluded] = forms["as released"][excluded]
        forms["with the prior taken away"] = bare
    return forms


# What a linked record discloses of its person under the joint model, where its link may be false.
#
# .. math:: \Pr(t \mid i) = w_i [v_i = t] + (1 - w_i) P(t \mid \text{keys})
#
# for record i with the value v_i and the link probability w_i: the record speaks for its own value as far as its link
# is probable, and the joint distribution P fills the rest. An intruder who knows a person's keys cannot distinguish
# the records that have them, and takes their mean.


def modelled_attribution(
    combined: Combined, sensitive: Sequence[SensitiveValues], probabilities: Sequence[Floats], doubt: float
) -> dict[str, Measure]:
    """By variable the expected share of the linked records whose person's value is inferred rightly, in little doubt.

    O(records * levels) beside the passes through the junction tree.
    """
    found = {}
    for variable in sensitive:
        drawn = inferences(combined, variable, probabilities[0], doubt)
        how = f"link probabilities and joint distribution, posterior at least {1 - doubt:g}; worst for {variable.name}"
        found[variable.name] = expected_share([drawn.of_records(variable, each) for each in probabilities], how)
    return found


def inferences(combined: Combined, variable: SensitiveValues, probability: Floats, doubt: float) -> Drawn:
    """What the intruder infers of each linked record from all records with its keys."""
    keys = combined.codes[:, combined.columns(combined.with_role("key"))]
    return Drawn.of(_means(variable.own(probability), Groups.of(keys, keys[:0]).of_record), doubt)


def _means(own: Floats, group: Integers) -> Floats:
    size = np.bincount(group)
    sums = [np.bincount(group, own[:, level]) for level in range(own.shape[1])]
    means = np.stack(sums, axis=1) / np.maximum(size, 1)[:, None] if sums else np.zeros((len(size), 0))
    return np.asarray(means[group])


@dataclass(frozen=True)
class JointModel:
    """By measure, what the joint model discloses of each sensitive variable by itself, empty without a latent step or
    sensitive variables; and what the released distribution does, ready for JSON, empty where none is released."""

    by_variable: Mapping[str, Mapping[str, Measure]]
    released: list[dict[str, Any]]

    @property
    def measures(self) -> dict[str, Measure]:
        """Each measure: that of the worst sensitive variable."""
        return {name: max(of.values(), key=lambda one: one.judged) for name, of in self.by_variable.items()}

    def added_to(self, document: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The sensitive variables of the document, each with what the joint model adds."""
        modelled = self.by_variable.get("modelled_attribution", {})
        return [
            {**of, **({"modelled_attribution": modelled[of["variable"]].value} if of["variable"] in modelled else {})}
            for of in document
        ]

    def without(self, variable: str) -> dict[str, float]:
        """The judged measures if a sensitive variable were left out."""
        return {
            name: max((measure.judged for other, measure in found.items() if other != variable), default=0.0)
            for name, found in self.by_variable.items()
        }


def joint_model(
    combined: Combined, spec: Specification, joint: JointDistribution | None, linkage: LinkageDocument | None
) -> JointModel:
    names = combined.with_role("sensitive")
    if spec.latent is None or spec.assessment is None or not names:
        return JointModel({}, [])
    probabilities = possible_probabilities(combined, linkage)
    sensitive = [sensitive_values(combined, name, joint) for name in names]
    modelled = modelled_attribution(combined, sensitive, probabilities, spec.assessment.doubt)
    released, document = released_joint(combined, spec, joint, sensitive, probabilities)
    joined = {"joint_attribution": released} if released else {}
    return JointModel({"modelled_attribution": modelled, **joined}, document)
