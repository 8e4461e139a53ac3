"""Attribution: what an intruder who knows a person's key values learns about a sensitive value, matched or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gemel.carole.assessment.attribution_gain import (
    DRAWS,
    ExpectedCells,
    PossibleMatches,
    greatest_rise,
    possible_matches,
)
from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.expected_matches import Supposed
from gemel.carole.assessment.inferred_values import expected_share
from gemel.carole.assessment.measures import Disclosure, Measure
from gemel.common.parties import Side
from gemel.common.specification.model.assessment import AssessmentSpec
from gemel.risk.arrays import Codes, Floats, Integers, Mask
from gemel.risk.models.counts import distinct_rows

_OWN = "counted: the value and the keys are of one file, so that they are one person's, whoever is linked"


@dataclass(frozen=True)
class Groups:
    """The key group of each linked record, as decided, and of each pair that may be a link, as expected."""

    of_record: Integers = field(repr=False)
    of_pair: Integers = field(repr=False)

    @classmethod
    def of(cls, records: Codes, pairs: Codes) -> Groups:
        """Groups of rows that agree in all columns; without columns one group. A missing value is a separate value."""
        if not records.shape[1]:
            return cls(np.zeros(len(records), dtype=np.int64), np.zeros(len(pairs), dtype=np.int64))
        both = np.concatenate([records, pairs]) + 1
        _, which = distinct_rows(both, (both.max(axis=0, initial=0) + 1).tolist())
        return cls(which[: len(records)], which[len(records) :])


@dataclass(frozen=True)
class Learnt:
    """What key groups disclose about one sensitive variable: `SENSITIVE_MEASURES`, records of groups that lack a value,
    as a share, and the fewest values of a group."""

    measures: Mapping[str, Measure]
    excluded: float
    diversity: int


SENSITIVE_MEASURES = {
    "certain_attribution": "key groups of one value, links as decided; expected number of true links in them",
    "probable_attribution": "posterior of the record's own value at least {sure:g}, from expected counts by key group;"
    " expected number of true links among these",
    "attribution_gain": "posterior less prior, from expected counts by key group; interval by drawing matches, missed"
    " people and the population's frequencies {draws} times",
    "few_values": "key groups of fewer than {fewest} different values, links as decided; expected number of true links"
    " in them",
}
"""The measures decided by the worst sensitive variable, with their methods in words; known after a recoding of the
keys."""


def attribution(combined: Combined, spec: AssessmentSpec, found: Mapping[str, Learnt]) -> Disclosure:
    """By each measure the worst of the sensitive variables, and each variable; nothing where there is none."""
    names = combined.with_role("sensitive")
    if not names:
        return Disclosure({}, [])
    holders = {variable.name: variable.holder for variable in combined.variables}
    document = [
        {
            "variable": name,
            "holder": holders[name],
            **_values(found[name]),
            "negative_attribution": found[name].excluded,
            "l_diversity": found[name].diversity,
            "own_file": {
                str(side): _alone(combined, name, side, spec) for side in Side if holders[name] in ("both", str(side))
            },
        }
        for name in names
    ]
    measures = {}
    for measure, words in SENSITIVE_MEASURES.items():
        worst = max(names, key=lambda name: found[name].measures[measure].judged)
        method = words.format(sure=1 - spec.doubt, draws=DRAWS, fewest=spec.min_values)
        measures[measure] = replace(found[worst].measures[measure], method=f"{method}; worst for {worst}")
    return Disclosure(measures, document)


def by_variable(
    combined: Combined, spec: AssessmentSpec, cases: Sequence[Supposed], groups: Groups | None = None
) -> dict[str, Learnt]:
    """What each sensitive variable's values by key groups disclose, by default by the groups of the key variables."""
    pairs = combined.pair_codes
    if groups is None:
        columns = combined.columns(combined.with_role("key"))
        groups = Groups.of(combined.codes[:, columns], pairs[:, columns])
    true = [probability for case in cases for probability in case.probabilities]
    possible = possible_matches(combined, cases, spec.fractions.of("combined"))
    found = {}
    for name in combined.with_role("sensitive"):
        (column,) = combined.columns([name])
        levels = len(combined.variables[column].categories)
        values, pair_values = combined.codes[:, column], pairs[:, column]
        # Beside keys of its own file alone a value is its person's, whoever is linked.
        hangs, weight = combined.hangs(name), combined.pair_probability
        found[name] = learnt(groups, values, pair_values, weight, levels, spec, true if hangs else (), possible)
    return found


def learnt(
    groups: Groups,
    values: Codes,
    pair_values: Codes,
    weight: Floats,
    levels: int,
    spec: AssessmentSpec,
    true: Sequence[Floats] = (),
    possible: Sequence[PossibleMatches] = (),
) -> Learnt:
    """What key groups disclose about one sensitive variable.

    Its values are codes of the linked records and of the pairs; missing ones, -1, carry no information. Behind a false
    link there are two people, of whom nothing is learnt rightly: records count as far as they are true. Certainty,
    exclusion and diversity use the links as decided; the posterior uses expected counts, so that a doubtful link
    discloses less. The prior is the expected distribution over all groups. O(n log n).
    """
    there = values >= 0
    n = len(values)
    if not there.any():
        nothing = Measure(0.0, "", no_interval="no linked record has a value")
        return Learnt(dict.fromkeys(SENSITIVE_MEASURES, nothing), 0.0, 0)
    right = [each[there] for each in true] or [np.ones(int(there.sum()))]

    def share(which: Mask) -> Measure:
        if not true:
            return Measure(float(which.sum()) / n, "", no_interval=_OWN)
        return expected_share([np.concatenate([each * which, np.zeros(n - len(each))]) for each in right], "")

    group, value = groups.of_record[there], values[there].astype(np.int64)
    number = int(max(group.max(), groups.of_pair.max(initial=0))) + 1
    own = np.unique(group * levels + value)
    different = np.bincount(own // levels, minlength=number)
    sizes = np.bincount(group, minlength=number)
    inside = sizes > 0
    occurring = len(np.unique(value))
    counted = ExpectedCells.of(groups.of_pair, pair_values, weight, levels, number)
    cells = counted.cells
    _, prior, posterior = counted.posterior(weight)
    at = np.minimum(np.searchsorted(cells, group * levels + value), max(len(cells) - 1, 0))
    # A record's own pair may have weight 0; its group then discloses no more than the prior.
    chance = np.where(cells[at] == group * levels + value, posterior[at], prior[value]) if len(cells) else prior[value]
    measures = {
        "certain_attribution": share(different[group] == 1),
        "probable_attribution": share(chance >= 1.0 - spec.doubt),
        "attribution_gain": greatest_rise(counted, weight, inside, possible),
        "few_values": share(different[group] < spec.min_values),
    }
    return Learnt(measures, float(sizes[different < occurring].sum()) / n, int(different[inside].min()))


def _values(found: Learnt) -> dict[str, float]:
    return {name: measure.value for name, measure in found.measures.items()}


def _alone(combined: Combined, name: str, side: Side, spec: AssessmentSpec) -> dict[str, float]:
    """The same in the file of a custodian that has the variable, for an intruder who knows the keys in that file."""
    codes, _, _ = combined.own(side)
    keys = codes[:, combined.columns(combined.with_role("key", side))]
    (column,) = combined.columns([name])
    levels = len(combined.variables[column].categories)
    values = codes[:, column]
    return _values(learnt(Groups.of(keys, keys), values, values, np.ones(len(codes)), levels, spec))
