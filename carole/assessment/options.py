"""Options that would lower the risk: each way of releasing less, with the resulting measures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gemel.carole.assessment.attribution import SENSITIVE_MEASURES, Groups, Learnt, by_variable
from gemel.carole.assessment.cell_risk import CellRisk
from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.expected_matches import Believed
from gemel.carole.assessment.identification import KEY_MEASURES, KeyedRecords
from gemel.carole.assessment.joint_model import JointModel
from gemel.carole.assessment.measures import Accumulated, excess
from gemel.carole.assessment.publication import recovery
from gemel.carole.assessment.true_links import Rows
from gemel.common.specification.model.assessment import AssessmentSpec, PublishedTable
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.matching.recoding import Recoding
from gemel.risk.identification.matching.recoding_search import minimal_recoding

_Option = tuple[str, Mapping[str, float]]
"""What is done, and the measures that it changes as they would be judged."""

_FEW = 0.05
"""Share of the records under which a category is rare."""

_BASE = 3

_EXACT = 200
"""Recodings up to which the search is exact."""

_SEARCHES = 4

SEARCHED = 2_000_000
"""Combinations times merges that may be examined in each step of the search for the smallest recoding."""


def options(
    combined: Combined,
    model: CellRisk | None,
    believed: Believed | None,
    spec: AssessmentSpec,
    measures: Mapping[str, float],
    learnt: Mapping[str, Learnt],
    members: Mapping[str, Any],
    earlier: Accumulated,
    by_joint: JointModel,
) -> list[dict[str, Any]]:
    """Ways of releasing less, each with the measures that it changes, as they would be assessed.

    Nothing lowers the risk of what earlier releases have disclosed.

    Leaving out a key variable; joining its rare categories; leaving out the records that are unique; leaving out key
    variables one after the other until the limits on identification hold; leaving out a sensitive variable; rounding
    the tables.
    """
    found: list[_Option] = []
    past = earlier.largest
    if model is not None and believed is not None:
        keys = Recodable(combined, model, believed, spec)
        ways = dict(recodings(model.file))
        effects = {recoding: keys.effect(recoding) for recoding in ways.values()}
        found += [(words, effects[recoding]) for words, recoding in ways.items()]
        found += _without_uniques(keys.records(Recoding.none(model.file)))
        limits = {name: limit for name, limit in spec.limits.given.items() if not excess(past.get(name, 0.0), limit)}
        found += _until_within(keys, measures, limits, effects)
        if "correct_matches" in limits:
            found += _minimal_merges(keys, measures)
    found += _without_sensitive(learnt, by_joint)
    found += _rounded(combined, spec, earlier.tables)
    found += _without_links(members)
    if "joint_attribution" in by_joint.by_variable:  # kept from its recipients, none infers anything by it
        found.append(("release no joint distribution", {"joint_attribution": 0.0}))
    return [
        {"action": action, "effect": {name: max(value, past.get(name, 0.0)) for name, value in effect.items()}}
        for action, effect in found
    ]


def recodings(file: KeyFile) -> Iterator[tuple[str, Recoding]]:
    """Each recoding of one key variable that is an option, with what is done in words."""
    none = Recoding.none(file)
    for q in file.varying:
        name = file.names[q]
        yield f"leave out {name}", none.without(q)
        if (joined := _rare_joined(file, q)) is not None:
            number, recoding = joined
            yield f"join the {number} rarest categories of {name}", recoding


def _rare_joined(file: KeyFile, variable: int) -> tuple[int, Recoding] | None:
    """The rare categories joined into one; None where fewer than two are rare, or no other category would be left.

    Codes have no order here, so that neighbours cannot be joined: only the custodians know which are similar.
    """
    numbers = np.bincount(file.codes[:, variable], minlength=file.levels[variable])
    order = np.argsort(numbers, kind="stable")
    rare = [int(k) for k in order if numbers[k] < _FEW * file.n_records]
    if len(rare) < 2:
        rare = [int(k) for k in order[:2]]
    if len(rare) >= file.levels[variable]:
        return None
    groups = [rare[0] if k in rare else k for k in range(file.levels[variable])]
    order_of = list(dict.fromkeys(groups))
    own = tuple(order_of.index(g) for g in groups)
    others = Recoding.none(file).groups
    return len(rare), Recoding((*others[:variable], own, *others[variable + 1 :]))


@dataclass(frozen=True)
class Recodable:
    """A combined output whose key values can be recoded without a new fit."""

    combined: Combined
    model: CellRisk
    believed: Believed
    spec: AssessmentSpec

    def effect(self, recoding: Recoding) -> dict[str, float]:
        """The judged measures after a recoding."""
        records = self.records(recoding)
        found = _judged(records)
        if self.combined.with_role("sensitive"):
            columns = self.combined.columns(list(self.model.file.names))
            pairs = self._rows_recoded(recoding)(self.combined.pair_codes[:, columns])
            groups = Groups.of(recoding.applied(self.model.file.codes), pairs)
            found |= _worst(by_variable(self.combined, self.spec, records.cases, groups).values())
        return found

    def records(self, recoding: Recoding) -> KeyedRecords:
        """The linked records after a recoding; which links are true follows from the recoded values."""
        cases = self.believed.cases(self._rows_recoded(recoding))
        fraction = self.spec.fractions.of("combined").value
        return KeyedRecords(self.model.after(recoding), cases, fraction, self.model.method)

    def _rows_recoded(self, recoding: Recoding) -> Callable[[Rows], Rows]:
        """Recodes rows of key values as the records are; a value that no record has stays separate."""
        file, combined = self.model.file, self.combined
        records = recoding.applied(file.codes)
        tables = []
        for q, column in enumerate(combined.columns(list(file.names))):
            levels = len(combined.variables[column].categories)
            group = np.full(levels + 1, -1, dtype=np.int32)  # the last entry is that of a missing value, -1
            group[combined.codes[:, column]] = records[:, q]
            strange = np.flatnonzero(group < 0)
            group[strange] = recoding.sizes[q] + np.arange(len(strange)) if recoding.sizes[q] > 1 else 0
            tables.append(group)
        return lambda rows: np.stack([table[rows[:, q]] for q, table in enumerate(tables)], axis=1)


def _judged(records: KeyedRecords) -> dict[str, float]:
    return {name: compute(records).judged for name, compute in KEY_MEASURES.items()}


def _worst(learnt: Iterable[Learnt]) -> dict[str, float]:
    """The judged measures of the worst sensitive variable; 0 without any."""
    of_each = [one.measures for one in learnt]
    return {name: max((of[name].judged for of in of_each), default=0.0) for name in SENSITIVE_MEASURES}


def _without_uniques(records: KeyedRecords) -> Iterator[_Option]:
    if dropped := int(records.cells.unique.sum()):
        yield f"leave out the {dropped} records that are unique", _judged(records.without_uniques)


def _until_within(
    keys: Recodable, judged: Mapping[str, float], given: Mapping[str, float], known: Mapping[Recoding, dict[str, float]]
) -> Iterator[_Option]:
    """Leave out key variables, each time the one with the best ratio of effect to loss, until the limits hold."""
    known_after = judged.keys() & (KEY_MEASURES.keys() | SENSITIVE_MEASURES.keys())
    limits = {name: limit for name, limit in given.items() if name in known_after}
    over = _excess(judged, limits)
    if not limits or over <= 0:
        return
    file = keys.model.file
    recoding = Recoding.none(file)
    left = list(file.varying)
    dropped: list[str] = []
    effect: dict[str, float] = {}
    while over > 0 and left:
        tried = {}
        for q in left:
            further = recoding.without(q)
            tried[q] = known[further] if further in known else keys.effect(further)
        best = min(left, key=lambda q: (_excess(tried[q], limits), -file.levels[q], q))
        recoding, effect = recoding.without(best), tried[best]
        over = _excess(effect, limits)
        dropped.append(file.names[best])
        left.remove(best)
    if len(dropped) >= 2:
        breached = "no key variable is left, and a limit is still breached"
        end = breached if over > 0 else "the limits on what recoding changes hold"
        yield f"leave out {', '.join(dropped)}: then {end}", effect


def _minimal_merges(keys: Recodable, measures: Mapping[str, float]) -> Iterator[_Option]:
    """The merges of categories that bring `correct_matches` down to its limit with the least loss of information."""
    limit, matching = keys.spec.limits.given.get("correct_matches"), keys.model.matching
    if limit is None or measures["correct_matches"] <= limit or matching is None:
        return
    file = keys.model.file
    pairs = sum(n * (n - 1) // 2 for n in file.levels)
    if pairs * len(file.cells) > SEARCHED:
        return
    # The search knows the model and not what is judged: where that is larger, it has to go further.
    selected = limit
    for _ in range(_SEARCHES):
        unordered = [False] * file.n_keys
        search = minimal_recoding(matching, min(1.0, selected), "cm", ordered=unordered, exact_to=_EXACT, models=1)
        words = "; ".join(  # by numbers of codes, which the custodians can interpret and Carole cannot
            f"join codes {' and '.join('+'.join(group) for group in groups)} of {name}"
            if groups
            else f"leave out {name}"
            for name, groups in search.recoding.changes(file)
        )
        if not search.reached or not words:
            return
        effect = keys.effect(search.recoding)
        if effect["correct_matches"] <= limit:
            break
        selected *= 0.95 * limit / effect["correct_matches"]
    yield f"with least loss of information: {words}", effect


def _excess(measures: Mapping[str, float], limits: Mapping[str, float]) -> float:
    """By how much limits are exceeded, summed."""
    return sum(excess(measures[m], limit) for m, limit in limits.items() if m in measures)


def _without_sensitive(learnt: Mapping[str, Learnt], by_joint: JointModel) -> Iterator[_Option]:
    for name in learnt:
        effect = _worst(one for other, one in learnt.items() if other != name)
        yield f"leave out {name}", {**effect, **by_joint.without(name)}


def _without_links(members: Mapping[str, Any]) -> Iterator[_Option]:
    """Keep the links from a custodian, which then learns nothing of the other's file."""
    reported = {side: float(found["upper"]) for side, found in members.items()}
    learning = [side for side, share in reported.items() if share > 0]
    for side in learning:
        rest = max((share for other, share in reported.items() if other != side), default=0.0)
        yield f"give {side.capitalize()} statistics only", {"members_disclosed": rest}
    if len(learning) > 1:
        yield "give both custodians statistics only", {"members_disclosed": 0.0}


def _rounded(combined: Combined, spec: AssessmentSpec, earlier: Sequence[PublishedTable]) -> Iterator[_Option]:
    """Round the tables that are rounded less, at two bases in turn."""
    tables = [*spec.tables, *(table for table in earlier if table not in spec.tables)]
    if not spec.tables or not combined.n_records:
        return
    for base in (_BASE, 5):
        changed = [
            PublishedTable(variables=t.variables, protection="conventional", base=base)
            if t in spec.tables and (t.base or 0) < base
            else t
            for t in tables
        ]
        if changed != tables:
            after = recovery(combined, changed, spec.known_people)
            yield f"round the tables to multiples of {base}", {"subtraction": after.draws[1]}
