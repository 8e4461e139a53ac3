"""How good a run's links are: estimates beside what its model claims of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gemel.carole.engine.decision.coded_links import stated_share
from gemel.carole.engine.pairs.check_agreement import CheckAgreement
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
    Claims,
    DecoyCount,
    Interval,
    QualityEstimate,
    precision_by_decoys,
)
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.carole.fellegi_sunter.schemes import similarities
from gemel.common.arrays import I8, I64
from gemel.common.documents.result_warning import ResultWarning, result_warning

SIMILAR = 1 / 3
"""Similarity from which two different values may be one value with an error: two dates that share two of three parts,
two names of seven letters with one letter different."""


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
    return QualityEstimate("check_field", precision, found.in_doubt, supposed)


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
    return QualityEstimate("decoys", precision, sum(side.decoys for side in counts), supposed)


def quality_warnings(
    claims: Claims | None, estimates: tuple[QualityEstimate, ...], plan: LinkagePlan
) -> Iterator[ResultWarning]:
    """Warnings where an estimate contradicts what is claimed, or where the check field or decoys show nothing."""
    if plan.check_field is not None and not any(estimate.method == "check_field" for estimate in estimates):
        yield result_warning("check_field_shows_nothing", field=plan.check_field.name)
    if plan.decoys and not any(estimate.method == "decoys" for estimate in estimates):
        yield result_warning("decoys_show_nothing")
    claim = None if claims is None else claims.precision
    for estimate in estimates:
        if claim is not None and claim.apart(estimate.precision):
            yield result_warning(
                "claim_outside_interval",
                least=stated_share(claim.lower),
                most=stated_share(claim.upper),
                method=NAMES[estimate.method],
                lower=stated_share(estimate.precision.lower),
                upper=stated_share(estimate.precision.upper),
            )


NAMES = {"check_field": "the check field", "decoys": "decoys"}


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
