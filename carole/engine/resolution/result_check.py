"""What Carole can check of a resolver's result: that it is one of her request, under the agreed plan.

She sees no pair of it, only counts: there are no more links than records, rows or candidate pairs; what the result's
document counts is as she counts it herself; and the links by rows of codes are as many (`coded_links`). That a link is
a candidate pair, and no record is in two, each custodian checks of its own share
(`custodian.steps.requested_rows`): a pair is named there by its place in the request. No party can check what
the parameters of the model should be, nor which of several candidates of a record is linked: a resolver who lies about
these is believed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.decision.coded_links import PRECISION_DIGITS
from gemel.carole.engine.decision.links import MIN_LINK
from gemel.carole.engine.decision.quality import one_match
from gemel.carole.engine.inputs.candidates import Candidates, candidates_per_rule
from gemel.carole.engine.resolution.resolution_result import ResolutionResult
from gemel.carole.engine.run.archive import malformed
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.row_numbers import n_distinct
from gemel.common.documents.linkage_document import Counts, LinkageDocument
from gemel.common.errors import GemelError

_ROUNDING = 1e-9


def check_result(
    result: ResolutionResult,
    found: Candidates,
    rows: tuple[NDArray[np.integer], NDArray[np.integer]] | None,
    plan: LinkagePlan,
) -> None:
    """Accept only a result that can be one of the request.

    Parameters
    ----------
    result
        From the resolver.
    found
        The request's comparison, as Carole sent it.
    rows
        Alice's and Bob's rows of its pairs; None where Carole does not know them, in mode shared.
    plan

    Raises
    ------
    GemelError
        UPLOAD_CORRUPT for more links than records, rows or candidates, another threshold than the plan's, or a document
        whose counts are others than Carole's own.

    Notes
    -----
    O(n log n) for n pairs.
    """
    counted = result.document.linkage
    if counted.links > plan.max_links(found.n_a, found.n_b):
        raise _malformed(f"{counted.links} links of {found.n_a} and {found.n_b} records")
    if plan.false_link_rate is None and abs(counted.threshold - plan.threshold) > _ROUNDING:
        raise _malformed("another threshold than the specification's")
    if counted.expected is not None and counted.links and counted.expected.precision < _min_precision(plan) - _ROUNDING:
        raise _malformed("links that are less probable on average than the threshold")
    _check_counts(counted, counted.links, found, plan)
    if counted.links > counted.kept:
        raise _malformed(f"{counted.links} links of {counted.kept} candidate pairs")
    # Rows of one rule are of different records, so that no row is in two links where no record is.
    for once, of_pairs in zip(one_match(plan), rows or (), strict=rows is not None):
        if once and counted.links > (different := n_distinct(of_pairs)):
            raise _malformed(f"{counted.links} links of {different} rows of a file")


def _min_precision(plan: LinkagePlan) -> float:
    """The mean probability of links is no less, to the decimals that a document has."""
    return (plan.threshold if plan.false_link_rate is None else MIN_LINK) - 0.5 * 10.0**-PRECISION_DIGITS


def _check_counts(counted: LinkageDocument, n_links: int, found: Candidates, plan: LinkagePlan) -> None:
    """The document counts what Carole has counted too; pairs of dummies and decoys are left out of it."""
    n_kept, patterns = len(found.pattern), found.patterns
    left_out = n_kept - counted.kept
    of_rules = candidates_per_rule(patterns, plan)
    reported = {} if counted.blocking is None else {rule.name: rule.candidates for rule in counted.blocking.rules}
    records = Counts(alice=found.n_a, bob=found.n_b)
    right = {
        "links": counted.links == n_links == sum(counted.histogram.links),
        "records": counted.records == records and counted.pairs == found.n_a * found.n_b,
        "kept pairs": left_out >= 0 and counted.kept == sum(counted.histogram.counts),
        "candidates": counted.candidates == patterns.n_pairs - left_out,
        "candidates of rules": reported.keys() == of_rules.keys()
        and all(of_rules[name] - left_out <= count <= of_rules[name] for name, count in reported.items()),
        "unlinked records": all(
            number - n_links <= unlinked <= number - (n_links if once else bool(n_links))
            for once, number, unlinked in zip(
                one_match(plan),
                (found.n_a, found.n_b),
                (counted.unlinked.alice, counted.unlinked.bob),
                strict=True,
            )
        ),
    }
    wrong = [what for what, is_right in right.items() if not is_right]
    if wrong:
        raise _malformed(f"a document that counts other {', '.join(wrong)}")


def _malformed(got: str) -> GemelError:
    return malformed(got, "the resolver's result cannot be one of the request")
