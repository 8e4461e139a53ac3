"""What Carole can check of a resolver's result: that it is one of her request, under the agreed plan.

She knows each pair's comparison pattern and rows, and no record. Rows of one rule are of different records, so that no
row is in two links where no record is; a pattern has one weight; a link is as probable as the plan requires; there are
no more links than records; and what the result's document counts is as she counts it herself. She cannot check which
records the rows of different rules are, what the parameters of the model should be, nor which of several candidates of
a record is linked: a resolver who lies about these is believed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tryst.carole.engine.archive import malformed
from tryst.carole.engine.candidates import Candidates, candidates_per_rule
from tryst.carole.engine.links import MIN_LINK
from tryst.carole.engine.plan import LinkagePlan
from tryst.carole.engine.quality import one_match
from tryst.carole.engine.resolution_request import ResolutionResult
from tryst.common.documents.linkage_document import Counts, LinkageDocument
from tryst.common.errors import TrystError

_ROUNDING = 1e-9


def check_result(result: ResolutionResult, found: Candidates, plan: LinkagePlan) -> None:
    """Accept only a result that can be one of the request.

    Parameters
    ----------
    result
        From the resolver, its pairs in the order of the request.
    found
        The request's comparison, as Carole sent it.
    plan

    Raises
    ------
    TrystError
        UPLOAD_CORRUPT for links or drawn links that share a row although no record has two, more links than records,
        a link below the threshold, weights or match probabilities that differ within a pattern, or a document whose
        counts are others than Carole's own.

    Notes
    -----
    O(n log n) for n pairs and drawn links.
    """
    pairs, links = result.pairs, result.links
    for values, what in ((pairs.weight, "weights"), (pairs.match_probability, "match probabilities")):
        of_pattern = np.zeros(found.patterns.n_patterns)
        of_pattern[found.pattern] = values
        if not np.array_equal(of_pattern[found.pattern], values):
            raise _malformed(f"different {what} for one comparison pattern")
    threshold = plan.threshold if plan.false_link_rate is None else MIN_LINK
    if len(links) and float(pairs.link_probability[links].min()) < threshold - _ROUNDING:
        raise _malformed("a link below the threshold")
    if len(links) > plan.max_links(found.n_a, found.n_b):
        raise _malformed(f"{len(links)} links of {found.n_a} and {found.n_b} records")
    _check_rows(np.zeros(len(links), dtype=np.int32), links, result, plan)
    if result.draws is not None:
        _check_rows(result.draws.draw, result.draws.pair, result, plan)
    _check_counts(result.document.linkage, len(links), found, plan)


def _check_rows(
    linkage: NDArray[np.integer], pair: NDArray[np.integer], result: ResolutionResult, plan: LinkagePlan
) -> None:
    """No row is in two links of one linkage, where the plan's assignment gives a record one at most."""
    sides = zip(one_match(plan), (result.pairs.row_a, result.pairs.row_b), strict=True)
    for rows in (rows for once, rows in sides if once):
        each = linkage.astype(np.int64) << 32 | rows[pair]
        if len(np.unique(each)) != len(each):
            raise _malformed("two links of one row")


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


def _malformed(got: str) -> TrystError:
    return malformed(got, "the resolver's result cannot be one of the request")
