"""The request to a resolver, as bytes: arrays by name, and a document.

It holds counts of comparison vectors, which vector each candidate pair has, and what the conclusion must know of the
two files; no signature, no blocking key, no row. It is an archive (`archive`) that its reader does not trust. The
result is in `resolution_result`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.latent.refit import NOTHING_KNOWN, KnownRecords
from gemel.carole.engine.pairs.check_agreement import CheckAgreement
from gemel.carole.engine.pairs.selection import FieldsPresent
from gemel.carole.engine.run.contribution import Arrays, array_of, malformed, packed, unpacked
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.fellegi_sunter.kinds.joint_model import OutsideBlocks
from gemel.carole.fellegi_sunter.model import PatternCounts
from gemel.common.arrays import I64
from gemel.common.documents.result_warning import ResultWarning


@dataclass(frozen=True, repr=False)
class ResolutionRequest:
    """The request to a resolver.

    `found`: the result of the comparison, for `conclude`; `requested`: digests of Alice's and of Bob's request for
    handles of the same pairs; `known`: what custodians have contributed beforehand for the latent step.
    """

    found: Candidates
    requested: tuple[bytes, bytes]
    threads: int
    known: KnownRecords = NOTHING_KNOWN


def pack_request(request: ResolutionRequest, order: I64) -> bytes:
    """The request for a comparison, its pairs in an order other than that in which Carole found them.

    `order` (int64, shape (n_kept,)): which kept pair comes at each place.
    """
    found = request.found
    arrays: Arrays = {
        "gamma": found.patterns.gamma,
        "mask": found.patterns.mask,
        "count": found.patterns.count,
        "pattern": found.pattern[order],
        "selected": found.selected,
        **request.known.arrays(),
    }
    if found.levels is not None:
        arrays["levels"] = found.levels
    if found.outside_blocks is not None:
        arrays["outside_gamma"], arrays["outside_count"] = found.outside_blocks.gamma, found.outside_blocks.count
    if found.checked is not None:
        arrays["checked"] = found.checked.agrees[order]
    for side, lacking in zip("ab", found.lacking, strict=True):
        arrays[f"lacking_{side}"], arrays[f"lacking_{side}_records"] = lacking.missing, lacking.records
    document = {
        "n_a": found.n_a,
        "n_b": found.n_b,
        "scale": None if found.outside_blocks is None else found.outside_blocks.scale,
        "strangers": None if found.checked is None else found.checked.strangers,
        "equal": list(found.equal),
        "missing": {name: list(shares) for name, shares in found.missing.items()},
        "warnings": [warning.plain() for warning in found.warnings],
        "seconds": found.seconds,
        "peak_bytes": found.peak_bytes,
        "threads": request.threads,
        "requested": [digest.hex() for digest in request.requested],
    }
    return packed(arrays, document)


def unpack_request(content: bytes | memoryview, plan: LinkagePlan) -> ResolutionRequest:
    """The request packed by `pack_request`, from another party.

    Raises UPLOAD_CORRUPT if it is not a valid request under this plan.
    """
    arrays, document = unpacked(content)
    try:
        n_fields = len(plan.compared)
        gamma = array_of(arrays, "gamma", np.int8, (None, n_fields))
        n_patterns = len(gamma)
        patterns = PatternCounts(
            gamma,
            array_of(arrays, "mask", np.uint32, (n_patterns,)),
            array_of(arrays, "count", np.int64, (n_patterns,)),
        )
        widest = max(len(field.bounds) for field in plan.compared)
        levels = array_of(arrays, "levels", np.float64, (n_fields, widest)) if "levels" in arrays else None
        outside_blocks = None
        if document["scale"] is not None:
            outside_gamma = array_of(arrays, "outside_gamma", np.int8, (None, n_fields))
            counts = array_of(arrays, "outside_count", np.float64, (len(outside_gamma),))
            outside_blocks = OutsideBlocks(outside_gamma, counts, float(document["scale"]))
        lacking = []
        for side in "ab":
            kinds = array_of(arrays, f"lacking_{side}", np.bool_, (None, len(plan.fields)))
            lacking.append(FieldsPresent(kinds, array_of(arrays, f"lacking_{side}_records", np.int64, (len(kinds),))))
        pattern = _below(array_of(arrays, "pattern", np.int32, (None,)), n_patterns)
        found = Candidates(
            n_a=int(document["n_a"]),
            n_b=int(document["n_b"]),
            patterns=patterns,
            levels=levels,
            outside_blocks=outside_blocks,
            pattern=pattern,
            selected=_below(array_of(arrays, "selected", np.int64, (None,)), n_patterns),
            lacking=(lacking[0], lacking[1]),
            equal=(int(document["equal"][0]), int(document["equal"][1])),
            missing={str(name): (float(a), float(b)) for name, (a, b) in document["missing"].items()},
            warnings=tuple(ResultWarning.model_validate(warning) for warning in document["warnings"]),
            seconds={str(name): float(value) for name, value in document["seconds"].items()},
            peak_bytes=int(document["peak_bytes"]),
            checked=_checked(arrays, document["strangers"], len(pattern), plan),
        )
        for q, field in enumerate(plan.compared):
            if int(gamma[:, q].max(initial=-1)) >= len(field.bounds):
                raise malformed("a comparison level that the plan does not define")
        alice, bob = (bytes.fromhex(digest) for digest in document["requested"])
        known = NOTHING_KNOWN if plan.latent is None else KnownRecords.of_arrays(arrays, plan.latent)
        return ResolutionRequest(found, (alice, bob), int(document["threads"]), known)
    except (KeyError, TypeError, ValueError, IndexError):
        raise malformed("parts that are missing or of another type") from None


def _checked(arrays: Arrays, strangers: float | None, n_kept: int, plan: LinkagePlan) -> CheckAgreement | None:
    """Agreement in the check field, which must be there exactly if the plan has one."""
    if (plan.check_field is None) != ("checked" not in arrays):
        raise malformed("agreement in a check field, or none, unlike the plan")
    if strangers is None or "checked" not in arrays:
        return None
    agrees = array_of(arrays, "checked", np.int8, (n_kept,))
    if n_kept and not -1 <= int(agrees.min()) <= int(agrees.max()) <= 1:
        raise malformed("an agreement that is neither yes, no nor missing")
    return CheckAgreement(agrees, float(strangers))


def _below(array: NDArray[Any], bound: int) -> NDArray[Any]:
    if array.size and (int(array.min()) < 0 or int(array.max()) >= bound):
        raise malformed("a pattern that does not exist")
    return array


# What a resolver can check of Carole's request: that its pairs are those that a comparison under the plan has.
#
# The counts of comparison vectors, from which the model is estimated, are of all compared pairs. Of a vector that was
# chosen every pair is in the request, and of another one none: Carole cannot ask for a few pairs more, or for other
# ones, without changing the counts that the parties read afterwards. She can lie about both, which no one finds who
# does not see the signatures.


def check_request(found: Candidates, plan: LinkagePlan) -> None:
    """Accept only a request whose pairs are those of its comparison vectors.

    Raises UPLOAD_CORRUPT for pairs that are more or fewer than their vector has, a vector that occurs twice or in no
    pair, pairs of no blocking rule of the plan, or vectors chosen twice. O(n log n) for n vectors and pairs.
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


_malformed = partial(malformed, what="Carole's request cannot be one of a comparison under the specification")
