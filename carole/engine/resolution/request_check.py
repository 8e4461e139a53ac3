"""What a resolver can check of Carole's request: that its pairs are those that a comparison under the plan has.

The counts of comparison vectors, from which the model is estimated, are of all compared pairs. Of a vector that was
chosen every pair is in the request, and of another one none: Carole cannot ask for a few pairs more, or for other ones,
without changing the counts that the parties read afterwards. She can lie about both, which no one finds who does not
see the signatures.
"""

from __future__ import annotations

import numpy as np

from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.run.archive import malformed
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.common.errors import GemelError


def check_request(found: Candidates, plan: LinkagePlan) -> None:
    """Accept only a request whose pairs are those of its comparison vectors.

    Parameters
    ----------
    found
        Of the request.
    plan

    Raises
    ------
    GemelError
        UPLOAD_CORRUPT for pairs that are more or fewer than their vector has, a vector that occurs twice or in no pair,
        pairs of no blocking rule of the plan, or vectors chosen twice.

    Notes
    -----
    O(n log n) for n vectors and pairs.
    """
    patterns = found.patterns
    if len(patterns.count) and int(patterns.count.min()) < 1:
        raise _malformed("a comparison vector of no pair")
    n_rules = len(plan.rules)
    if n_rules and len(patterns.mask) and not 1 <= int(patterns.mask.min()) <= int(patterns.mask.max()) < 1 << n_rules:
        raise _malformed("pairs of no blocking rule of the plan")
    each = np.column_stack([patterns.gamma.astype(np.int64), patterns.mask.astype(np.int64)])
    if len(np.unique(each, axis=0)) != len(each):
        raise _malformed("a comparison vector twice")
    chosen = np.zeros(len(patterns.count), dtype=np.bool_)
    chosen[found.selected] = True
    if int(chosen.sum()) != len(found.selected):
        raise _malformed("a comparison vector chosen twice")
    pairs = np.bincount(found.pattern, minlength=len(patterns.count))
    if not np.array_equal(pairs, np.where(chosen, patterns.count, 0)):
        raise _malformed("other pairs than those of the chosen comparison vectors")


def _malformed(got: str) -> GemelError:
    return malformed(got, "Carole's request cannot be one of a comparison under the specification")
