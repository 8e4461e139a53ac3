"""From values to signatures in their canonical order, whatever set they are for.

Equal values are signed once, for the whole file or for each block; noise comes on top of what is signed; what leaves is
sorted by its bytes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tryst.common.cleaning.similar_values import similar_values
from tryst.common.encoding.signature_sets import MISSING, FieldSignatures
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys.derivation import FieldKeys
from tryst.common.keys.noise import NoiseKey
from tryst.common.minhash import block_signatures, flipped
from tryst.common.specification import FieldSpec
from tryst.common.tokens import Tokens, tokenise


def field_tokens(values: list[str], field: FieldSpec, key: bytes) -> tuple[Tokens, NDArray[np.int64]]:
    """Tokens of those of a field's values that have any, and each value's place among them, -1 for one without.

    A value that `only_similar` does not list is one token, of the whole.

    Raises
    ------
    TrystError
        As `common.tokens.tokenise`, naming the field.
    """
    try:
        return _with_tokens(tokenise(values, field.tokens, key, similar_values(field)))
    except TrystError as error:
        raise TrystError(
            error.code, error.what, where=f"field {field.name}", got=error.got, remedy=error.remedy
        ) from None


def _with_tokens(tokens: Tokens) -> tuple[Tokens, NDArray[np.int64]]:
    """The values that have tokens at all, and each value's place among them, -1 for one that has none."""
    some = tokens.counts > 0
    places = np.where(some, np.cumsum(some) - 1, MISSING)
    offsets = np.concatenate([tokens.offsets[:1], tokens.offsets[1:][some]])
    return Tokens(tokens.codes, offsets), places


def signed_in_blocks(
    field: FieldSpec,
    tokens: Tokens,
    codes: NDArray[np.integer],
    block: NDArray[np.uint64],
    keys: FieldKeys,
    project: str,
    noise: NoiseKey | None,
) -> FieldSignatures:
    """Signatures of rows that are each in a block; equal values of a block are signed once.

    Parameters
    ----------
    field, project, noise
        As for `as_sent`.
    tokens
        Of the distinct values that have any.
    codes : ndarray of integers, shape (n_rows,)
        Each row's value, ``MISSING`` where it has none.
    block : ndarray of uint64, shape (n_rows,)
        Digest of each row's block, or salt.
    keys
        The field's.
    """
    here = np.flatnonzero(codes != MISSING)
    blocks, places = np.unique(block[here], return_inverse=True)
    n_values = max(1, tokens.n_values)
    pairs, inverse = np.unique(places * n_values + codes[here], return_inverse=True)
    value, its_block = (pairs % n_values).astype(np.int32), blocks[pairs // n_values]
    signed = block_signatures(tokens, value, its_block, keys, field.bits)
    signatures_sent, ranks = canonical(as_sent(signed, field, project, noise))
    final = np.full(len(codes), MISSING, dtype=np.int32)
    final[here] = ranks[inverse]
    return FieldSignatures(field.bits, signatures_sent, final)


def as_sent(signed: NDArray[np.uint64], field: FieldSpec, project: str, noise: NoiseKey | None) -> NDArray[np.uint64]:
    """A field's signatures with the noise that its custodian puts on them, if any.

    Where noise makes two signatures equal, their values are one to who receives them: `canonical` merges what is equal,
    and no signature's noise depends on which others there are.

    Raises
    ------
    TrystError
        PARAMETER if there is to be noise and no key of it.
    """
    if not field.flip:
        return signed
    if noise is None:
        raise TrystError(
            ErrorCode.PARAMETER, "bits are flipped by noise of the custodian's own", where=f"field {field.name}",
            got="no noise key", remedy="give the custodian's noise key, or a throw-away one for a trial",
        )  # fmt: skip
    return flipped(signed, noise.derive(project, field.key_domain), field.flip)


def canonical(signed: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Sort signatures as byte strings and merge equal ones.

    Parameters
    ----------
    signed
        uint64, shape (n, words).

    Returns
    -------
    ndarray of uint64, shape (n_distinct, words)
        Strictly ascending as byte strings.
    ndarray of int32, shape (n,)
        Where each signature went.

    Notes
    -----
    Values with the same tokens (``aaa`` and ``aaaa``) have the same signature, and noise can make others equal. The
    first 64 bits decide nearly always; only signatures that agree in them are sorted by the rest.
    """
    n = len(signed)
    if n == 0:
        return signed, np.empty(0, dtype=np.int32)
    first = signed[:, 0].byteswap()
    order = np.argsort(first, kind="stable")
    ascending = first[order]
    begins = np.concatenate([[True], ascending[1:] != ascending[:-1]])
    alone = begins & np.concatenate([begins[1:], [True]])
    if not alone.all():
        tied = np.flatnonzero(~alone)
        run = np.cumsum(begins)[tied]
        rest = [signed[order[tied], word].byteswap() for word in range(signed.shape[1] - 1, 0, -1)]
        order[tied] = order[tied][np.lexsort([*rest, run])]
    ordered = signed[order]
    new = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    ranks = np.empty(n, dtype=np.int32)
    ranks[order] = np.cumsum(new) - 1
    return (ordered if new.all() else ordered[new]), ranks
