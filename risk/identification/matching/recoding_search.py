"""The least recoding that reaches a target risk (T11 chapter 8 names the search as a possibility).

Least is in bits: the information that each variable loses among the records, summed over variables. Where there are few
recodings the search is exact: they are looked at in order of loss, and the first that reaches the risk is the least.
Elsewhere it is greedy: always the merge that lowers the risk most for its loss, or a variable left out; then every
variable that turns out not to be needed is given back. It is done with and without leaving variables out, and the
lesser loss is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from gemel.common.errors import parameter
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.matching.bayesian_matching import BayesianMatching, ModelMeasures
from gemel.risk.identification.matching.recoding import (
    KnownProbabilities,
    Recoded,
    Recoding,
    candidate_pairs,
    merges,
    ordered_variables,
    recoded,
)
from gemel.risk.lattice_search import cheapest_first, stepwise

Measure = Literal["matches", "cm", "greatest", "cm_given_um", "cm_given_su"]

MEASURES: tuple[Measure, ...] = ("matches", "cm", "greatest", "cm_given_um", "cm_given_su")

_BELL = (1, 1, 2, 5, 15, 52, 203, 877, 4140, 21147)


@dataclass(frozen=True)
class RecodingFound:
    recoding: Recoding
    reached: bool
    exact: bool
    risk_before: float
    risk: float
    loss: tuple[float, ...]
    information: tuple[float, ...]


def minimal_recoding(
    matching: BayesianMatching,
    selected: float,
    measure: Measure = "matches",
    *,
    ordered: Sequence[bool] | None = None,
    exact_to: int = 2_000,
    models: int = 3,
    merging: bool = True,
) -> RecodingFound:
    """Search for the recoding of least loss whose risk is at most `selected`.

    `measure`: ``matches``: expected correct matches with sample uniques, as a share of the records; ``cm``: Pr(cm) of a
    record at random; ``greatest``: Pr(cm) of the record of highest risk. These never rise when a file is coarsened.
    ``cm_given_um`` and ``cm_given_su`` are means over what is still unique and may rise. `ordered`: for each variable
    whether only neighbouring levels may be merged; by default `ordered_variables`. `exact_to`: most recodings that an
    exact search may look at. `models`: how many of the heaviest models are used during the search; the outcome is
    judged by all. `merging`: whether levels may be merged; otherwise whole variables are left out, one after another,
    which is soon found however many levels there are.
    """
    file = matching.file
    if measure not in MEASURES:
        raise parameter("measure", f"must be one of {', '.join(MEASURES)}", measure)
    if not 0.0 <= selected <= 1.0:
        raise parameter("target", "a risk lies in 0 to 1", f"{selected:g}")
    ordered = ordered_variables(file.labels) if ordered is None else tuple(ordered)
    search = _Search(replace(matching, models=matching.models.heaviest(models)), selected, measure, ordered, merging)
    exact = merging and search.recodings <= exact_to
    if not merging:
        last = search.greedily(leaving_out=True)
    elif exact:
        last = search.by_loss()
    else:
        courses = [search.greedily(leaving_out=True), search.greedily(leaving_out=False)]
        last = min(courses, key=lambda course: (not search.enough(course), search.loss(course.recoding)))
    found = last.recoding
    before = _risk(matching.measures, measure, file)
    risk = _risk(recoded(matching, found).measures, measure, file)
    whole = Recoding(tuple((0,) * n for n in file.levels)).loss(file)
    return RecodingFound(
        found, risk <= selected + 1e-12, exact, before, risk, tuple(found.loss(file).tolist()), tuple(whole.tolist())
    )


def _risk(measures: ModelMeasures, measure: Measure, file: KeyFile) -> float:
    if measure == "matches":
        return measures.expected_matches / file.n_records
    return float(getattr(measures, measure))


@dataclass(frozen=True)
class _Search:
    matching: BayesianMatching
    selected: float
    measure: Measure
    ordered: Sequence[bool]
    merging: bool

    @cached_property
    def known(self) -> KnownProbabilities:
        return KnownProbabilities(self.matching)

    @property
    def file(self) -> KeyFile:
        return self.matching.file

    @property
    def recodings(self) -> float:
        number = 1.0
        for q in self.file.varying:
            n = self.file.levels[q]
            number *= 2.0 ** (n - 1) if self.ordered[q] else (_BELL[n] if n < len(_BELL) else math.inf)
        return number

    def loss(self, recoding: Recoding) -> float:
        return float(sum(recoding.loss(self.file)))

    def risk(self, measures: ModelMeasures) -> float:
        return _risk(measures, self.measure, self.file)

    def recoded(self, recoding: Recoding) -> Recoded:
        return recoded(self.matching, recoding, self.known)

    def enough(self, now: Recoded) -> bool:
        return self.risk(now.measures) <= self.selected + 1e-12

    def by_loss(self) -> Recoded:
        """The recoding of least loss that reaches the target risk; where none does, the coarsest."""
        for recoding in cheapest_first(Recoding.none(self.file), self._neighbours, self.loss):
            last = self.recoded(recoding)
            if self.enough(last):
                break
        return last

    def _neighbours(self, recoding: Recoding) -> Iterator[Recoding]:
        for q in self.file.varying:
            for first, second in candidate_pairs(recoding.sizes, self.ordered, q):
                yield recoding.merged(q, first, second)

    def greedily(self, *, leaving_out: bool) -> Recoded:
        """The best merge for its loss, again and again, then what was not needed given back."""
        start = self.recoded(Recoding.none(self.file))
        *_, last = stepwise(start, lambda now: self._best(now, leaving_out), self.enough)
        return self._given_back(last)

    def _best(self, now: Recoded, leaving_out: bool) -> Recoded | None:
        """Greatest fall of the risk per bit; where nothing lowers it, of the expected matches; then least loss."""
        loss, risk, matches = self.loss(now.recoding), self.risk(now.measures), now.measures.expected_matches
        best, rank = None, (-math.inf, -math.inf, -math.inf)
        for recoding, measures in self._candidates(now, leaving_out):
            cost = max(self.loss(recoding) - loss, 1e-12)
            fall = risk - self.risk(measures)
            saved = matches - measures.expected_matches
            ranked = (fall / cost if fall > 1e-12 else 0.0, saved / cost if saved > 1e-12 else 0.0, -cost)
            if ranked > rank:
                best, rank = recoding, ranked
        return None if best is None else self.recoded(best)

    def _candidates(self, now: Recoded, leaving_out: bool) -> Iterator[tuple[Recoding, ModelMeasures]]:
        free = self.file.varying
        for merge in merges(self.matching, now, self.ordered, free, self.known) if self.merging else ():
            yield now.recoding.merged(merge.variable, merge.first, merge.second), merge.measures
        for q in free if leaving_out else ():
            if now.recoding.sizes[q] > (2 if self.merging else 1):
                dropped = now.recoding.without(q)
                yield dropped, self.recoded(dropped).measures

    def _given_back(self, last: Recoded) -> Recoded:
        """Undo a variable's recoding, the costliest first, wherever the risk stays reached without it."""
        none = Recoding.none(self.file)
        lost = last.recoding.loss(self.file)
        for q in sorted(self.file.varying, key=lambda q: -lost[q]):
            if lost[q] and self.enough(last):
                groups = last.recoding.groups
                fewer = self.recoded(Recoding((*groups[:q], none.groups[q], *groups[q + 1 :])))
                last = fewer if self.enough(fewer) else last
        return last
