"""A Fellegi-Sunter intruder and an extended latent one: a probability for each pair of a person and a record.

The first uses which keys agree. The second also uses how common the agreed values are and whether what he knows of a
person fits the record's other variables (SE17); he may have records of other people to estimate that from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gemel.carole.comparison.counting import PatternCounter, summed
from gemel.carole.extended_latent import Values, Variable, fit_extended
from gemel.carole.extended_latent.variables import MAX_MODEL_KEYS, Holder, Result, Visit
from gemel.carole.fellegi_sunter.kinds.estimation import fit_joint
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.carole.fellegi_sunter.model import MISSING, PatternCounts
from gemel.carole.fellegi_sunter.model import probability as logistic
from gemel.carole.fellegi_sunter.schemes import FittedScheme, fit_scheme
from gemel.carole.fellegi_sunter.settings import Estimation, U
from gemel.carole.intruder.files import AttackedFiles
from gemel.common.arrays import F64, I32, I64, Ints
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.progress import StageProgress
from gemel.common.specification.model.schemes import DEFAULT_SCHEME
from gemel.risk.models.counts import distinct_rows

MAX_PAIRS = 400_000_000
_PART = 1 << 20
_MAX_KEYS = 18
BOUNDS = (0.5, 1.0)
"""Levels of a key: differs, agrees."""


class AllPairs:
    """The product of both files.

    O(distinct combinations of the one times those of the other) to count patterns, and O(pairs) to visit them.
    """

    def __init__(self, files: AttackedFiles) -> None:
        keys = list(files.keys)
        self._n_b = len(files.released)
        self.n_pairs = len(files.known) * self._n_b
        if self.n_pairs > MAX_PAIRS:
            what, got = f"more than {MAX_PAIRS:,} pairs", f"{self.n_pairs:,}"
            remedy = "attack a sample of the known people: the risk per person does not depend on their number"
            raise GemelError(ErrorCode.MEMORY, what, where="files", got=got, remedy=remedy)
        if len(keys) > _MAX_KEYS:
            raise parameter("keys", f"at most {_MAX_KEYS} keys", str(len(keys)))
        levels = [files.levels[q] + 1 for q in keys]
        a, b = files.known[:, keys], files.released[:, keys]
        first_a, self._of_a = distinct_rows(a + 1, levels)
        first_b, self._of_b = distinct_rows(b + 1, levels)
        self._distinct_a, self._distinct_b = a[first_a], b[first_b]
        weight_a, weight_b = np.bincount(self._of_a), np.bincount(self._of_b)
        table = PatternCounter(3 ** len(keys))
        step = max(1, _PART // len(first_b))
        no_rules = np.zeros(step * len(first_b), dtype=np.uint32)
        for start in range(0, len(first_a), step):
            code = self._pattern_codes(slice(start, start + step))
            weight = weight_a[start : start + step, None] * weight_b
            table.add(code.ravel(), no_rules, weight.ravel(), code.size)
        self._codes, masks, counts = summed([table.items()])
        gamma = np.stack([self._codes // 3**q % 3 - 1 for q in range(len(keys))], axis=1).astype(np.int8)
        self.patterns = PatternCounts(gamma, masks, counts)

    def _pattern_codes(self, rows: slice) -> I64:
        """The pattern of each distinct combination of A in `rows` with each of B: a digit for each key, missing 0."""
        code = np.zeros((len(self._distinct_a[rows]), len(self._distinct_b)), dtype=np.int64)
        for q in range(self._distinct_a.shape[1]):
            a, b = self._distinct_a[rows, q][:, None], self._distinct_b[:, q]
            level = np.where((a < 0) | (b < 0), MISSING, a == b)
            code += 3**q * (level + 1)
        return code

    def map(self, visit: Visit[Result], progress: StageProgress) -> Iterator[Result]:
        """Visit every part once, in the order of the known people."""
        n_a = len(self._of_a)
        step = max(1, _PART // max(self._n_b, len(self._distinct_b)))
        columns = np.arange(self._n_b, dtype=np.int32)
        for start in range(0, n_a, step):
            rows = np.arange(start, min(start + step, n_a), dtype=np.int32)
            own, place = np.unique(self._of_a[rows], return_inverse=True)
            code = np.concatenate([self._pattern_codes(slice(x, x + 1)) for x in own.tolist()])
            pattern = np.searchsorted(self._codes, code).astype(np.int32)[place][:, self._of_b]
            yield visit(np.repeat(rows, self._n_b), np.tile(columns, len(rows)), pattern.ravel())
            progress((start + len(rows)) / n_a)


FLOOR = 1e-3
"""Match probability below which a pair is discarded."""

WIDE = 12
"""A key of more levels than this stands alone in the value model: with several such keys, the completions of pairs that
agree on few of them are too many to enumerate, and a typical file too small to estimate them."""

MAX_KEPT = 300_000
"""Maximum number of pairs evaluated jointly, unless more reach `FLOOR` by themselves."""

MIN_LINKED = 0.25
"""Share of the matches expected pair by pair below which joint evaluation is abandoned."""

_LINK_FLOOR = -9.0
_LOG2 = math.log(2.0)


@dataclass(frozen=True, eq=False, repr=False)
class Suspicions:
    """An intruder's estimate: pairs and their probabilities; arrays of shape (n_pairs,).

    `person`, `record` (int32): rows of the people known and of the release; `probability` (float64): that the record is
    the person's; pairs below `FLOOR` are left out; `expected_matches`: estimated number of the known people in the
    release.
    """

    person: I32
    record: I32
    probability: F64
    expected_matches: float
    warnings: tuple[ResultWarning, ...]


def fellegi_sunter_attack(
    files: AttackedFiles, *, u: U = "corrected", dependence: str = "decomposable", one_to_one: bool = True
) -> Suspicions:
    """Link by agreement of the keys.

    `u`: how u is estimated (`Estimation`); "all_pairs" is SE17's; `dependence`: "none": keys agree independently, given
    whether a pair is a match, as in SE17; "pairwise" or "decomposable": dependences are estimated (streets lie in
    towns); `one_to_one`: evaluate pairs jointly, each person and record in one match at most; SE17 evaluates each pair
    separately.
    """
    pairs = AllPairs(files)
    fitted = _fellegi_sunter(files, pairs, u, dependence)
    scores = fitted.match_weights(pairs.patterns.gamma)
    prior = _log_odds(fitted.model.p)
    minimum = _minimum(prior, one_to_one, scores, pairs.patterns.count)
    high = scores >= minimum

    def visit(person: I32, record: I32, pattern: I32) -> tuple[I32, I32, F64]:
        at = np.flatnonzero(high[pattern])
        return person[at], record[at], scores[pattern[at]]

    person, record, weight = (np.concatenate(x) for x in zip(*pairs.map(visit, lambda _: None), strict=True))
    warnings = (*fitted.model.warnings, *fitted.warnings)
    return _suspicions(files, person, record, weight, prior, one_to_one, warnings)


def extended_attack(
    files: AttackedFiles,
    *,
    u: U = "corrected",
    dependence: str = "decomposable",
    one_to_one: bool = True,
    training: I32 | None = None,
) -> Suspicions:
    """Link by agreement, by how common values are, and by which values occur together; options as
    `fellegi_sunter_attack`.

    `training` (int32, shape (n, n_variables)): records of other people with all variables, -1 missing: what an intruder
    knows beforehand; by default those of the files.
    """
    pairs = AllPairs(files)
    fitted = _fellegi_sunter(files, pairs, u, dependence)
    training, bounds = files.training if training is None else training, [BOUNDS] * len(files.keys)
    fit = fit_extended(_values(files), pairs, pairs.patterns, fitted, bounds, training=training)
    prior = fit.log_prior_odds
    by_pattern = fit.scheme.match_weights(pairs.patterns.gamma)
    minimum = _minimum(prior, one_to_one, fit.classes.weights(by_pattern), fit.classes.count)
    kept = fit.keep(pairs, pairs.patterns, minimum)
    weight = by_pattern[kept.pattern] + kept.log_factor / _LOG2
    warnings = (*fitted.model.warnings, *fit.warnings)
    return _suspicions(files, kept.row_a, kept.row_b, weight, prior, one_to_one, warnings)


def _fellegi_sunter(files: AttackedFiles, pairs: AllPairs, u: U, dependence: str) -> FittedScheme:
    settings = Estimation(u=u, refuse_unidentified=False)
    names, bounds = [files.names[q] for q in files.keys], [BOUNDS] * len(files.keys)
    n_a, n_b = len(files.known), len(files.released)
    fitted = fit_scheme(DEFAULT_SCHEME, pairs.patterns, names, bounds, n_a, n_b, settings)
    if dependence == "none" or len(files.keys) < 3:
        return fitted
    model, joint, _ = fit_joint(fitted.model, pairs.patterns, dependence, settings)
    n_levels = tuple(field.n_levels for field in model.fields)
    return replace(fitted, model=model, joint=joint, n_levels=n_levels)


def _values(files: AttackedFiles) -> Values:
    """The value model's variables: keys are of both files, the others of the file that has them."""
    variables = []
    # Every set of keys that may agree has a separate distribution: where there are many, the widest keys stand alone.
    narrow = sorted((q for q in files.keys if files.levels[q] <= WIDE), key=lambda q: files.levels[q])
    joint = set(narrow[:MAX_MODEL_KEYS])
    for q, (name, levels) in enumerate(zip(files.names, files.levels, strict=True)):
        if q in files.keys:
            variables.append(Variable(name, "both", levels, alone=q not in joint))
        else:
            holder: Holder = "alice" if (files.known[:, q] >= 0).any() else "bob"
            variables.append(Variable(name, holder, levels))
    if all(v.stands_alone for v in variables):
        raise parameter("files", "no variable can enter the value model")
    return Values(tuple(variables), files.known, files.released)


def _log_odds(p: float) -> float:
    return math.log(p) - math.log1p(-p)


def _minimum(prior: float, one_to_one: bool, weights: F64, counts: Ints | NDArray[np.floating]) -> float:
    """Minimum match weight of kept pairs, in bits: lower where pairs are evaluated jointly, as far as they fit.

    `weights` and `counts` are of classes of pairs. Of more than `MAX_KEPT` pairs the strongest classes are kept, and
    always those that reach `FLOOR` by themselves.
    """
    alone = (_log_odds(FLOOR) - prior) / _LOG2
    if not one_to_one:
        return alone
    order = np.argsort(-weights, kind="stable")
    fitting = np.cumsum(counts[order]) <= MAX_KEPT
    weakest = float(weights[order][fitting].min()) if fitting.any() else alone
    return min(alone, max((_LINK_FLOOR - prior) / _LOG2, weakest))


def _suspicions(
    files: AttackedFiles, person: I32, record: I32, weight: F64, prior: float, one_to_one: bool,
    warnings: tuple[ResultWarning, ...],
) -> Suspicions:  # fmt: skip
    expected = len(files.known) * len(files.released) / (1.0 + math.exp(-prior))
    believed = logistic(weight * _LOG2 + prior)
    if one_to_one and len(person):
        competing = LinkPosterior("one_to_one", person, record, len(files.known), len(files.released))
        links = competing.probabilities(weight)
        if links.expected_links >= MIN_LINKED * expected:
            believed, expected = links.probability, links.expected_links
            warnings = (*warnings, *links.warnings)
        else:
            # An intruder who finds nothing by joint evaluation still has a probability for each pair.
            warnings = (*warnings, result_warning("judged_pair_by_pair"))
    high = believed >= FLOOR
    return Suspicions(person[high], record[high], believed[high], expected, warnings)
