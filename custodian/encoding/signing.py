"""From values to signatures in their canonical order, for every mode, every set and every field.

Equal values are signed once: for the whole file, or, where rows have a *context* (the digest of the block a row is in,
or of its salt), once in each context. The context enters the code of every token, so that signatures of two contexts
have nothing in common. Noise is added to the signatures; they are sorted by their bytes, which look random without the
key, so that the order reveals nothing of the order of values or rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as dataclass_field

import numpy as np

from gemel.common.arrays import I32, I64, U64, Columns
from gemel.common.errors import GemelError, parameter
from gemel.common.keys.derivation import FieldKeys, Purpose, Seed, derive, derive_key
from gemel.common.keys.noise import NoiseKey
from gemel.common.signatures.signature_sets import MISSING, NO_KEY, FieldSignatures
from gemel.common.specification import FieldSpec, Specification, encoding_digest
from gemel.custodian.cleaning.parts import salt_text, similar_values
from gemel.custodian.encoding.blocking_keys import keyed_digests
from gemel.custodian.encoding.columns import distinct_values
from gemel.custodian.encoding.minhash import block_signatures, signatures, with_randomised_response
from gemel.custodian.tokens import Tokens, tokenise


@dataclass(frozen=True)
class PreparedField:
    """A field's column, ready to be signed for any set.

    `codes` is int32, shape (n_rows,): each row's value among those that have tokens, ``MISSING`` where it has none;
    `salt` uint64, shape (n_rows,): digest of each row's salt, ``NO_KEY`` where it has none; None for a field without
    salt.
    """

    spec: FieldSpec
    tokens: Tokens = dataclass_field(repr=False)
    codes: I32 = dataclass_field(repr=False)
    salt: U64 | None = dataclass_field(repr=False)


class Signer:
    """Signs values under the keys of one specification, seed and epoch; `noise` is the custodian's own key."""

    def __init__(self, specification: Specification, seed: Seed, epoch: int, noise: NoiseKey | None = None) -> None:
        self._specification, self._seed, self._epoch, self._noise = specification, seed, epoch, noise
        self._digest, self.suite = encoding_digest(specification), specification.suite

    def key(self, purpose: Purpose, domain: str = "", rule: str = "") -> bytes:
        return derive_key(self._seed, self._specification.project, purpose, self._digest, domain, rule, self._epoch)

    def prepare(self, field: FieldSpec, columns: Columns) -> PreparedField:
        """Split a field's distinct values into tokens. A value that `only_similar` does not list is one whole token.

        `columns` are cleaned values, null where missing: the field's own, and its salt's. Errors are those of
        `tokenise`, with the field.
        """
        values, codes = distinct_values(columns[field.name])
        try:
            key = self.key(Purpose.TOKEN, field.key_domain)
            tokens = tokenise(values, field.tokens, key, similar_values(field), self.suite)
        except GemelError as error:
            raise GemelError(
                error.code, error.what, where=f"field {field.name}", got=error.got, remedy=error.remedy
            ) from None
        some = tokens.counts > 0
        places = np.append(np.where(some, np.cumsum(some) - 1, MISSING), MISSING).astype(np.int32)
        text = salt_text(columns, self._specification, field)
        salt = None if text is None else keyed_digests(text, self.key(Purpose.SALT, field.key_domain), self.suite)
        return PreparedField(field, tokens.take(np.flatnonzero(some)), places[codes], salt)

    def sign(self, field: PreparedField, rows: I64, block: U64 | None = None, *, rule: str = "") -> FieldSignatures:
        """Sign one field of some rows, in the order in which they are sent; shape (n,).

        `block` is the digest of each row's block, shape (n,); by default rows have the context of their salt, or none.
        A row whose digest is ``NO_KEY`` has no signature: a context shared by all such rows would reveal more than the
        others do. Half a microsecond for a distinct value of 8 tokens at 1024 bits and as much for a new token; with a
        context a microsecond for each token of each distinct value in it.
        """
        spec, n_values = field.spec, field.tokens.n_values
        keys = self._keys(spec, Purpose.SIGNATURE, rule)
        codes = field.codes[rows]
        context = block if block is not None or field.salt is None else field.salt[rows]
        if context is None:
            used = np.zeros(n_values + 1, dtype=np.bool_)
            used[codes] = True  # MISSING marks the entry past the last value
            used[-1] = False
            places = np.where(used, np.cumsum(used, dtype=np.int32) - 1, np.int32(MISSING))  # by value, not by row
            signed = signatures(field.tokens.take(np.flatnonzero(used)), keys, spec.bits)
        else:
            here = np.flatnonzero((codes != MISSING) & (context != NO_KEY))
            contexts, its_context = np.unique(context[here], return_inverse=True)
            pairs, its_pair = np.unique(its_context * n_values + codes[here], return_inverse=True)
            places = np.full(len(codes), MISSING, dtype=np.int32)
            places[here] = its_pair
            value = (pairs % n_values).astype(np.int32)
            signed = block_signatures(field.tokens, value, contexts[pairs // n_values], keys, spec.bits)
        table, ranks = canonical(self._with_noise(signed, spec))
        ranked = np.append(ranks, np.int32(MISSING))[places]
        return FieldSignatures(spec.bits, table, ranked[codes] if context is None else ranked)

    def sign_groups(self, field: PreparedField, rows: I64) -> FieldSignatures:
        """Sign one field of samples, each group of rows, shape (n_groups, n), under keys of its own."""
        signed, places, before = [], [], 0
        for number, group in enumerate(rows):
            values, its_value = np.unique(field.codes[group], return_inverse=True)
            values, missing = values[values != MISSING], np.count_nonzero(values == MISSING)  # which comes first
            keys = self._keys(field.spec, Purpose.SAMPLE, f"group {number}")
            signed.append(signatures(field.tokens.take(values.astype(np.int64)), keys, field.spec.bits))
            places.append(np.where(its_value < missing, MISSING, its_value - missing + before).astype(np.int32))
            before += len(values)
        table, ranks = canonical(self._with_noise(np.concatenate(signed), field.spec))
        ranked = np.append(ranks, np.int32(MISSING))
        return FieldSignatures(field.spec.bits, table, ranked[np.concatenate(places)])

    def _keys(self, field: FieldSpec, purpose: Purpose, rule: str) -> FieldKeys:
        project, domain = self._specification.project, field.key_domain
        return derive(self._seed, project, purpose, self._digest, domain, rule, self._epoch, self.suite)

    def _with_noise(self, signed: U64, field: FieldSpec) -> U64:
        """A field's signatures with the custodian's noise, if any; the noise of each is independent of the others."""
        if not field.randomised_response:
            return signed
        if self._noise is None:
            what = "randomised response needs the custodian's noise key"
            remedy = "give the custodian's noise key, or a throw-away one for a trial"
            raise parameter(f"field {field.name}", what, "no noise key", remedy)
        keys = self._noise.derive(self._specification.project, field.key_domain, self.suite)
        return with_randomised_response(signed, keys, field.randomised_response)


def unsigned(field: PreparedField, n_rows: int) -> FieldSignatures:
    """A field of rows that withhold it: as if no row had a value."""
    none = np.empty((0, field.spec.bits // 64), dtype=np.uint64)
    return FieldSignatures(field.spec.bits, none, np.full(n_rows, MISSING, dtype=np.int32))


def canonical(signed: U64) -> tuple[U64, I32]:
    """Sort signatures, uint64 of shape (n, words), as byte strings and merge equal ones; also the place of each, int32.

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
