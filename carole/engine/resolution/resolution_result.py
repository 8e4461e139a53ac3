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
from dataclasses import field as dataclass_field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.decision.coded_links import CodedLinks, Expected, check_coded
from gemel.carole.engine.run.archive import Arrays, array_of, malformed, packed, unpacked
from gemel.carole.engine.run.plan_parts import VariablePlan
from gemel.common.documents.model_document import StatisticsDocument
from gemel.common.errors import GemelError, GemelErrors
from gemel.common.parties import Side
from gemel.risk.models.joint_distribution import JointDistribution


@dataclass(frozen=True)
class ResolutionResult:
    """The decision of a resolver, as far as Carole sees it.

    Attributes
    ----------
    document
        The model and the aggregates, as `findings` makes them.
    shares
        Sealed, for each custodian that is granted pairs.
    coded
        The links by their rows in the sets of codes; None where nothing is assessed.
    left_out
        Matches expected among candidate pairs that are no link, where the links are assessed.
    joint
        The joint distribution in codes, where it is released or assessed and there is one.
    """

    document: StatisticsDocument = dataclass_field(repr=False)
    shares: Mapping[Side, bytes] = dataclass_field(repr=False)
    coded: CodedLinks | None = dataclass_field(default=None, repr=False)
    left_out: float = 0.0
    joint: JointDistribution | None = dataclass_field(default=None, repr=False)


def pack_result(result: ResolutionResult) -> bytes:
    """A result as the bytes of an archive."""
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
    """A result from another party.

    Parameters
    ----------
    recipients
        Custodians to whom the specification grants pairs: a share for each of them, and no other, must be there.
    expected
        What is known of the links' rows of codes, where these are assessed; None: they must be absent.
    variables
        Of the joint distribution, where Carole is to have it; None: it must be absent.

    Raises
    ------
    GemelError
        UPLOAD_CORRUPT if it is malformed, has more or less than was requested, or holds an impossible number.
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
    claimed = statistics.linkage.expected
    check_coded(coded, None if claimed is None else claimed.precision, expected)
    left_out = float(array_of(arrays, "left_out", np.float64, (1,))[0])
    if not 0 <= left_out <= statistics.linkage.kept:
        raise malformed("an impossible number of matches left out")
    return ResolutionResult(statistics, shares, coded, left_out, joint)


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
