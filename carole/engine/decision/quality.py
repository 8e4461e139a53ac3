"""How good a run's links are: what its model claims of them, and estimates beside the claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from gemel.carole.engine.decision.coded_links import stated_share
from gemel.carole.engine.pairs.check_agreement import CheckAgreement
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.run.contribution import pair_numbers
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.result import ScoredPairs
from gemel.carole.evaluation.check_field import (
    FAR,
    MISSING,
    NEAR,
    SAME,
    SURE,
    CheckedPairs,
    FalseLinks,
    false_links,
    sure_links,
)
from gemel.carole.evaluation.quality_estimate import (
    Claim,
    Claims,
    DecoyCount,
    Interval,
    QualityEstimate,
    corrected_claim,
    precision_by_decoys,
)
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.carole.fellegi_sunter.model import PatternCounts
from gemel.carole.fellegi_sunter.schemes import similarities
from gemel.common.arrays import F64, I8, I64, Flags, Ints
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.progress import StageProgress

# A bootstrap of a run: what its claims are worth if its classes of pairs are what it takes them to be.
#
# In each replicate the truth is drawn first, from the link probabilities, on the real graph of candidate pairs: a
# record with three likely partners has three again, so that records compete as they do in the files. Then every
# candidate pair draws a comparison vector: a match from the vectors of the expected matches, another pair from the
# vectors of the kept pairs less the expected matches. Matches may draw one that is too dissimilar to be kept, and are
# then lost. Only counts of vectors and kept pairs are drawn, never the other pairs. The whole second half of the run,
# estimation and decision, is done again on what was drawn, and what it then claims is compared with the truth that
# was drawn.
#
# Vectors are drawn from expected counts rather than from m and u, so that other pairs are as alike as they really
# are: those that lost a record to a sure link are known to be no match, and where kin are among them the claims of a
# model of independent fields turn out to be false, although its own m and u would never show it.
#
# Each replicate costs as much as the run's own estimation and decision.


Decided = tuple[I64, Claim]
"""Links by places of the kept pairs, and what is claimed of them."""


@dataclass(frozen=True, repr=False)
class Fitted:
    """What replicates are drawn from.

    `persons`: Int, shape (n_kept,) each: a number for the person behind the record of A, and of B, of each pair. Pairs
    of the same two persons have equal records. `probability`: float64, shape (n_kept,): link probability of each.
    `not_kept`: float64, shape (n_patterns,): expected matches among pairs of each vector that were not kept.
    """

    patterns: PatternCounts
    kept: KeptPairs
    persons: tuple[Ints, Ints]
    probability: F64
    not_kept: F64
    once: tuple[bool, bool]


def replicates(
    fitted: Fitted,
    decide: Callable[[PatternCounts, KeptPairs, Flags], Decided],
    number: int,
    rng: np.random.Generator,
    progress: StageProgress,
) -> tuple[F64, F64]:
    """Draw files from a fitted model, and link them again: claims and truth of all replicates.

    `decide`: estimates and decides from counts and kept pairs, as the run did; the third argument is which of the run's
    kept pairs these are. Returns float64, shape (n_replicates, 2) each, precision and recall. Beside `decide`, O(n_kept
    + n_patterns) for each replicate.
    """
    patterns, kept = fitted.patterns, fitted.kept
    matches = np.bincount(kept.pattern, fitted.probability, minlength=patterns.n_patterns) + fitted.not_kept
    was_kept = np.zeros(patterns.n_patterns, dtype=np.bool_)
    was_kept[kept.pattern] = True
    others = np.where(was_kept, np.maximum(patterns.count - matches, 0.0), 0.0)
    a, b = fitted.persons
    _, first, member = np.unique(pair_numbers(a, b), return_index=True, return_inverse=True)
    claimed, true = np.empty((number, 2)), np.empty((number, 2))
    for k in range(number):
        match = drawn_matches(a[first], b[first], fitted.probability[first], fitted.once, rng)
        drawn = np.empty(len(match), dtype=np.int32)
        drawn[match] = _drawn(matches, int(match.sum()), rng)
        drawn[~match] = _drawn(others, int((~match).sum()), rng)
        is_match, pattern = match[member.ravel()], drawn[member.ravel()]
        n_matches = int(is_match.sum())
        count = np.where(was_kept, 0, patterns.count) + np.bincount(pattern, minlength=patterns.n_patterns)
        stays = was_kept[pattern]
        links, claim = decide(
            PatternCounts(patterns.gamma, patterns.mask, count.astype(np.int64)),
            KeptPairs(kept.row_a[stays], kept.row_b[stays], pattern[stays]),
            stays,
        )
        right = int(is_match[stays][links].sum())
        claimed[k] = claim.precision, claim.recall
        true[k] = right / len(links) if len(links) else 1.0, right / max(n_matches, 1)
        progress((k + 1) / number)
    return claimed, true


def drawn_matches(a: Ints, b: Ints, probability: F64, once: tuple[bool, bool], rng: np.random.Generator) -> Flags:
    """Which pairs match, drawn from their link probabilities: bool, shape (n_pairs,).

    Each person who has one match at most draws a candidate or none. Where two have drawn the same person,
    and it has one match at most too, one of them at random keeps it: somewhat fewer matches than expected, where
    people compete closely.
    """
    n = len(probability)
    if not any(once):
        return np.asarray(rng.random(n) < probability)
    rows, others = (a, b) if once[0] else (b, a)
    order = np.argsort(rows, kind="stable")
    _, first, which = np.unique(rows[order], return_index=True, return_inverse=True)
    until = np.cumsum(probability[order])
    since = until - probability[order]
    start = since[first][which]
    u = rng.random(len(first))[which]
    drawn = order[(since - start <= u) & (u < until - start)]
    if all(once):
        drawn = rng.permutation(drawn)
        _, earliest = np.unique(others[drawn], return_index=True)
        drawn = drawn[earliest]
    chosen = np.zeros(n, dtype=np.bool_)
    chosen[drawn] = True
    return chosen


def _drawn(weight: F64, n: int, rng: np.random.Generator) -> I64:
    """Positions drawn with probabilities proportional to `weight`."""
    until = np.cumsum(weight)
    if n == 0:
        return np.zeros(0, dtype=np.int64)
    drawn: I64 = np.searchsorted(until, rng.random(n) * until[-1], side="right")
    return np.minimum(drawn, len(weight) - 1)


SIMILAR = 1 / 3
"""Similarity from which two different values may be one value with an error: two dates that share two of three parts,
two names of seven letters with one letter different."""


def claim_of(pairs: ScoredPairs, links: I64, matches_below_floor: float, max_links: int) -> Claim | None:
    """What a model expects of its own links; recall among the compared pairs.

    None where there are no links or no expected matches, and where there are more links than people can explain.
    """
    found = float(pairs.link_probability[links].sum())
    matches = float(pairs.link_probability.sum()) + matches_below_floor
    if not 0 < links.size <= max_links or matches <= 0:
        return None
    return Claim(found / links.size, min(1.0, found / matches))


def by_check_field(
    pairs: ScoredPairs, gamma: I8, links: I64, checked: CheckAgreement, posterior: LinkPosterior, plan: LinkagePlan
) -> QualityEstimate | None:
    """The links' precision by the check field; None where it shows nothing.

    `gamma` (int8, shape (n_patterns, n_fields)): the comparison vectors.
    """
    all_pairs = CheckedPairs(_likeness(gamma, plan)[pairs.pattern], pairs.weight, checked.agrees)
    linked = np.zeros(len(pairs.weight), dtype=np.bool_)
    linked[links] = True
    among_links, probability = all_pairs.rows(linked), pairs.link_probability[linked]
    sure = np.zeros(len(linked), dtype=np.bool_)
    sure[links[sure_links(among_links, probability)]] = True
    # A pair of copies of linked records is excluded too, and true.
    rivals = posterior.excluded(sure) & (pairs.link_probability < SURE)
    rng = np.random.default_rng([plan.seed, 7])
    found = false_links(among_links, probability, all_pairs.rows(rivals & ~linked), checked.strangers, rng)
    if found is None or plan.check_field is None:
        return None
    precision = Interval(1 - found.share, 1 - found.upper, 1 - found.lower)
    supposed = tuple(_supposed(plan.check_field.name, found))
    return QualityEstimate("check_field", precision, None, found.in_doubt, supposed)


def by_decoys(
    counts: tuple[DecoyCount, DecoyCount], links: int, missed: float, plan: LinkagePlan
) -> QualityEstimate | None:
    """The links' precision by decoys; None where nearly all records are linked."""
    precision = precision_by_decoys(counts, links, missed, np.random.default_rng([plan.seed, 8]))
    if precision is None:
        return None
    supposed = (
        "people of either file who are not in the other resemble its records as decoys do",
        "there are no false links among people whose matches are both in the other file",
    )
    return QualityEstimate("decoys", precision, None, sum(side.decoys for side in counts), supposed)


def by_bootstrap(claim: Claim, claimed: F64, true: F64, candidates: Interval | None) -> QualityEstimate:
    """The estimate by replicates; `candidates`: the share of the matches that were compared, as claimed."""
    return QualityEstimate(
        "bootstrap",
        corrected_claim(claim.precision, claimed[:, 0], true[:, 0]),
        corrected_claim(claim.recall, claimed[:, 1], true[:, 1]).of_whole(candidates),
        len(claimed),
        (
            "true links look like the links that the model is sure of",
            "other pairs are as alike whether or not a record of theirs has a match: those that lost a record to a sure"
            " link show how alike false links are",
        ),
    )


def quality_warnings(
    claims: Claims | None, estimates: tuple[QualityEstimate, ...], plan: LinkagePlan
) -> Iterator[ResultWarning]:
    """Warnings where an estimate contradicts what is claimed, or where the check field or decoys show nothing."""
    if plan.check_field is not None and not any(estimate.method == "check_field" for estimate in estimates):
        yield result_warning("check_field_shows_nothing", field=plan.check_field.name)
    if plan.decoys and not any(estimate.method == "decoys" for estimate in estimates):
        yield result_warning("decoys_show_nothing")
    for estimate in estimates:
        for of, interval in (("precision", estimate.precision), ("recall", estimate.recall)):
            claim: Interval | None = None if claims is None else getattr(claims, of)
            if claim is not None and interval is not None and claim.apart(interval):
                yield result_warning(
                    "claim_outside_interval",
                    of=of,
                    least=stated_share(claim.lower),
                    most=stated_share(claim.upper),
                    method=NAMES[estimate.method],
                    lower=stated_share(interval.lower),
                    upper=stated_share(interval.upper),
                )


NAMES = {"check_field": "the check field", "decoys": "decoys", "bootstrap": "the bootstrap"}


def _likeness(gamma: I8, plan: LinkagePlan) -> I8:
    """How alike the fields of each comparison vector are, exchanges and presence left out."""
    found = np.full((len(gamma), len(plan.fields)), MISSING, dtype=np.int8)
    for q, field in enumerate(plan.fields):
        similarity = similarities(field.bounds)
        likeness = np.where(similarity >= SIMILAR, NEAR, FAR).astype(np.int8)
        likeness[-1] = SAME
        there = gamma[:, q] >= 0
        found[there, q] = likeness[gamma[there, q]]
    return found


def _supposed(name: str, found: FalseLinks) -> Iterator[str]:
    yield (
        "links that differ in one field at most, or in none much, and of which the model is sure, are as right as it"
        " claims"
    )
    yield f"among true links errors in {name} follow those in other fields as they do among these"
    yield (
        f"false links agree on {name} as often as pairs do that are as alike and are known to be false, since a record"
        " of theirs has a sure link"
    )
    if found.unseen:
        yield (
            f"false links among the {found.unseen} of {found.in_doubt} links in doubt on which {name} shows nothing are"
            " as frequent, beside the others, as among such pairs"
        )
