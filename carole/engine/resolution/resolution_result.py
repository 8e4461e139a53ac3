"""A resolver's result as bytes: sealed shares that Carole passes on, and what she must know to release them.

A resolver decides on every candidate pair, and Carole knows these pairs by their rows and comparison vectors. Any
number or mark for each of them would tell her of rivals that she cannot see: a pair that ought to be a link and is
none, or is one with a smaller probability than its vector's, has a rival under another rule, and exact numbers even
tell which. So the resolver seals the custodians' shares itself. Carole receives counts and the model, the links by rows
of codes where they are assessed (`coded_links`), and bytes that she cannot read; nothing of a single pair.

The archive (`archive`) is not trusted by its reader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.decision.coded_links import STATED, CodedLinks, Expected, check_coded
from gemel.carole.engine.inputs.candidates import Candidates, candidates_per_rule
from gemel.carole.engine.run.contribution import Arrays, array_of, malformed, n_distinct, packed, unpacked
from gemel.carole.engine.run.plan import LinkagePlan, VariablePlan
from gemel.carole.fellegi_sunter.link_rule import LARGEST, MIN_LINK
from gemel.common.arrays import Ints
from gemel.common.documents.linkage_document import Counts, LinkageDocument
from gemel.common.documents.model_document import StatisticsDocument
from gemel.common.errors import GemelError, GemelErrors
from gemel.common.parties import Side
from gemel.risk.models.joint_distribution import JointDistribution


@dataclass(frozen=True, repr=False)
class ResolutionResult:
    """The decision of a resolver, as far as Carole sees it.

    `document`: the model and the aggregates, as `findings` makes them; `coded`: the links by their rows in the sets of
    codes, and `left_out`, matches expected among candidate pairs that are no link, where the links are assessed;
    `joint`: the joint distribution in codes, where it is released or assessed and there is one.
    """

    document: StatisticsDocument
    shares: Mapping[Side, bytes]
    coded: CodedLinks | None = None
    left_out: float = 0.0
    joint: JointDistribution | None = None


def pack_result(result: ResolutionResult) -> bytes:
    arrays: Arrays = {f"share_{side}": np.frombuffer(sealed, dtype=np.uint8) for side, sealed in result.shares.items()}
    if result.coded is not None:
        coded = result.coded
        arrays |= {"coded_a": coded.row_a, "coded_b": coded.row_b, "coded_probability": coded.probability}
        arrays["left_out"] = np.array([result.left_out])
    if result.joint is not None:
        arrays["joint"] = np.frombuffer(result.joint.to_json().encode(), dtype=np.uint8)
    return packed(arrays, result.document.plain())


def unpack_result(
    content: bytes | memoryview,
    recipients: tuple[Side, ...],
    expected: Expected | None = None,
    variables: Sequence[VariablePlan] | None = None,
) -> ResolutionResult:
    """A result from another party; UPLOAD_CORRUPT if it is malformed, has more or less than was requested, or an
    impossible number.

    `recipients`: custodians to whom the specification grants pairs: a share for each of them, and no other, must be
    there; `expected`: what is known of the links' rows of codes, where these are assessed; `variables`: of the joint
    distribution, where Carole is to have it; None: either must be absent.
    """
    arrays, document = unpacked(content)
    names = {f"share_{side}" for side in recipients}
    names |= set() if expected is None else {"coded_a", "coded_b", "coded_probability", "left_out"}
    joint = None if variables is None else _joint(arrays.pop("joint", None), variables)
    if surplus := arrays.keys() - names:
        raise malformed(f"{len(surplus)} arrays that were not requested")
    try:
        statistics = StatisticsDocument.of(document, "statistics")
    except GemelErrors as error:
        raise malformed(f"invalid statistics: {error}") from None
    shares = {side: array_of(arrays, f"share_{side}", np.uint8, (None,)).tobytes() for side in recipients}
    if expected is None:
        return ResolutionResult(statistics, shares, joint=joint)
    n = statistics.linkage.links
    coded = CodedLinks(
        array_of(arrays, "coded_a", np.int32, (n,)),
        array_of(arrays, "coded_b", np.int32, (n,)),
        array_of(arrays, "coded_probability", np.float64, (n,)),
    )
    check_coded(coded, _precision(statistics.linkage), expected)
    left_out = float(array_of(arrays, "left_out", np.float64, (1,))[0])
    if not 0 <= left_out <= statistics.linkage.kept:
        raise malformed("an impossible number of matches left out")
    return ResolutionResult(statistics, shares, coded, left_out, joint)


def _precision(linkage: LinkageDocument) -> float | None:
    """The mean probability of the links, as the document claims it; None of few links."""
    claims = linkage.claims
    return None if claims is None or claims.precision is None else claims.precision.value


def _joint(array: NDArray[Any] | None, variables: Sequence[VariablePlan]) -> JointDistribution | None:
    """A joint distribution of the plan's variables, or of some of them."""
    if array is None:
        return None
    if array.dtype != np.uint8 or array.ndim != 1:
        raise malformed("a joint distribution of another form")
    known = {variable.name: variable for variable in variables}
    try:
        joint = JointDistribution.from_json(array.tobytes())
    except GemelError as error:
        raise malformed(f"an invalid joint distribution: {error.got}") from None
    for variable in joint.variables:
        own = known.get(variable.name)
        if own is None or (own.holder, own.categories, True) != (variable.holder, variable.levels, variable.coded):
            raise malformed("a joint distribution of other variables")
    return joint


# What Carole can check of a resolver's result: that it is one of her request, under the agreed plan.
#
# She sees no pair of it, only counts: there are no more links than records, rows or candidate pairs; what the
# result's document counts is as she counts it herself; and the links by rows of codes are as many (`coded_links`).
# That a link is a candidate pair, and no record is in two, each custodian checks of its own share
# (`custodian.steps.requested_rows`): a pair is named there by its place in the request. No party can check what the
# parameters of the model should be, nor which of several candidates of a record is linked: a resolver who lies about
# these is believed.


_ROUNDING = 1e-9


def check_result(
    result: ResolutionResult, found: Candidates, rows: tuple[Ints, Ints] | None, plan: LinkagePlan
) -> None:
    """Accept only a result that can be one of the request.

    `found`: the request's comparison, as Carole sent it; `rows`: Alice's and Bob's rows of its pairs; None where Carole
    does not know them, in mode shared. Raises UPLOAD_CORRUPT for more links than records, rows or candidates, another
    threshold than the plan's, or a document whose counts are others than Carole's own. O(n log n) for n pairs.
    """
    counted = result.document.linkage
    if counted.links > plan.max_links(found.n_a, found.n_b):
        raise _malformed(f"{counted.links} links of {found.n_a} and {found.n_b} records")
    known = plan.known_threshold
    if known is not None and abs(counted.threshold - known) > _ROUNDING:
        raise _malformed("another threshold than the specification's")
    if known is None and plan.false_link_rate is None and not MIN_LINK <= counted.threshold <= LARGEST:
        raise _malformed("a threshold at which no expected F1 is the largest")
    # The mean probability of links is no less, to the decimals that a document has.
    lowest = (MIN_LINK if known is None else known) - STATED
    claimed = _precision(counted)
    if claimed is not None and counted.links and claimed < lowest:
        raise _malformed("links that are less probable on average than the threshold")
    _check_counts(counted, counted.links, found, plan)
    if counted.links > counted.kept:
        raise _malformed(f"{counted.links} links of {counted.kept} candidate pairs")
    # Rows of one rule are of different records, so that no row is in two links where no record is.
    for once, of_pairs in zip(plan.once, rows or (), strict=rows is not None):
        if once and counted.links > (different := n_distinct(of_pairs)):
            raise _malformed(f"{counted.links} links of {different} rows of a file")


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
                plan.once, (found.n_a, found.n_b), (counted.unlinked.alice, counted.unlinked.bob), strict=True
            )
        ),
    }
    wrong = [what for what, is_right in right.items() if not is_right]
    if wrong:
        raise _malformed(f"a document that counts other {', '.join(wrong)}")


_malformed = partial(malformed, what="the resolver's result cannot be one of the request")
