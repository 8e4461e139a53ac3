"""What a resolver shows a custodian of a run's pairs, sealed to it: Carole passes it on and cannot read it.

Before it is sealed::

    "gemel resolved share 1\\n" | digest (32) | key (32) | array | array | ...

The digest is that of the request for handles which this custodian has answered (`row_handles`). A pair is named by its
place there: the custodian knows its row, and nothing that is not a candidate pair can be named. Both custodians receive
the same random key, which gives a pair its id: equal for both, and for no one else a way back to the place. Arrays are
of fixed width, so that the length discloses the number of pairs and nothing else.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.bulk import numbers
from gemel.common.keys.sealing import SealContext, open_sealed, seal
from gemel.common.keys.sealing_key import SealingKey, SealingPublicKey
from gemel.common.keys.suite import Suite
from gemel.common.wire.signed_form import pack_arrays, unpack_arrays

_MARK = b"gemel resolved share 1\n"
_DIGEST_BYTES = 32
KEY_BYTES = 32

_KINDS: dict[str, np.dtype[Any]] = {
    "pair": np.dtype("<u4"),
    "probability": np.dtype("<f8"),
    "linked": np.dtype("u1"),
    "draw": np.dtype("<u4"),
    "drawn": np.dtype("<u4"),
}


@dataclass(frozen=True)
class ResolvedShare:
    """A resolver's share for one custodian."""

    request: bytes
    """SHA-256 of the request for handles that the custodian has answered."""
    key: bytes = dataclass_field(repr=False)
    """Of the pairs' ids, 32 bytes."""
    pair: NDArray[np.uint32] = dataclass_field(repr=False)
    """uint32, shape (n,): ascending places in that request."""
    probability: NDArray[np.float64] = dataclass_field(repr=False)
    linked: NDArray[np.bool_] = dataclass_field(repr=False)
    draw: NDArray[np.uint32] | None = dataclass_field(default=None, repr=False)
    drawn: NDArray[np.uint32] | None = dataclass_field(default=None, repr=False)
    """uint32, shape (n_drawn_links,): number of the draw of each drawn link, and the position of its pair
    among `pair`; None: no draws are granted."""
    suite: Suite = Suite.DEFAULT
    """Of the specification: decides the function by which the ids follow from the key."""

    @property
    def ids(self) -> list[str]:
        """The pairs' ids: 16 hexadecimal digits each, the same for both custodians."""
        return [f"{number:016x}" for number in numbers(self.key, self.pair, suite=self.suite).tolist()]


def seal_share(recipient: SealingPublicKey, context: SealContext, share: ResolvedShare) -> bytes:
    arrays: dict[str, NDArray[Any]] = {
        "pair": share.pair,
        "probability": share.probability,
        "linked": share.linked.astype(np.uint8),
    }
    if share.draw is not None and share.drawn is not None:
        arrays |= {"draw": share.draw, "drawn": share.drawn}
    content = (_MARK, share.request, share.key, pack_arrays(_KINDS, arrays))
    return b"".join(seal(recipient, context, content))


def open_share(key: SealingKey, context: SealContext, sealed: bytes, request: bytes, n_pairs: int) -> ResolvedShare:
    """Open a share and check it against the request for handles, of `n_pairs` pairs, as this custodian received it.
    Raises SEALED if it does not open, is malformed, or is of another request."""
    content = b"".join(open_sealed(key, context, [sealed]))
    start = len(_MARK) + _DIGEST_BYTES + KEY_BYTES
    if not content.startswith(_MARK) or len(content) < start:
        raise malformed("bytes of another form")
    digest = content[len(_MARK) : len(_MARK) + _DIGEST_BYTES]
    if digest != hashlib.sha256(request).digest():
        raise malformed("pairs of another request for handles than the one that Carole names")
    try:
        arrays = unpack_arrays(_KINDS, content[start:])
    except ValueError as error:
        raise malformed(str(error)) from None
    if not {"pair", "probability", "linked"} <= arrays.keys() or ("draw" in arrays) != ("drawn" in arrays):
        raise malformed("missing arrays")
    share = ResolvedShare(
        digest,
        content[start - KEY_BYTES : start],
        arrays["pair"],
        arrays["probability"],
        arrays["linked"] == 1,
        arrays.get("draw"),
        arrays.get("drawn"),
        context.suite,
    )
    _check(share, arrays["linked"], n_pairs)
    return share


def _check(share: ResolvedShare, linked: NDArray[np.uint8], n_pairs: int) -> None:
    n = len(share.pair)
    if not n == len(share.probability) == len(linked) or int(linked.max(initial=0)) > 1:
        raise malformed("arrays of different lengths, or of other values")
    if n and (int(share.pair[-1]) >= n_pairs or (np.diff(share.pair.astype(np.int64)) <= 0).any()):
        raise malformed("a pair that was not requested, or one twice")
    # Written so that NaN is refused.
    if not ((share.probability >= 0) & (share.probability <= 1)).all():
        raise malformed("numbers that are no probabilities")
    if share.draw is not None and share.drawn is not None:
        if len(share.draw) != len(share.drawn) or int(share.drawn.max(initial=0)) >= max(n, 1):
            raise malformed("a drawn link of a pair that is not there")
        if n == 0 and len(share.drawn):
            raise malformed("a drawn link of a pair that is not there")


def malformed(got: str) -> GemelError:
    """The refusal (SEALED) of what a resolver has put into a share."""
    what = "the resolver's part of the share does not have the expected form"
    remedy = "run the same version of Gemel at all parties; if they do, report it to the coordinator"
    return GemelError(ErrorCode.SEALED, what, where="share", got=got, remedy=remedy)
