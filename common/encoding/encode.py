"""From cleaned columns to a signature set: what a custodian does with its records before they leave.

Each field's distinct values are cut into tokens and signed once, the rows are shuffled, and only the
shuffled set leaves; the order stays behind. Distinct signatures are sorted by their bytes, which look
random without the key, so that their order tells nothing of the values' order or of the rows'.

A salted field's values are signed for their salts, as those of mode block_keyed are for their blocks: the salt's keyed
digest enters the code of every token, so that signatures of two salts have nothing in common. A row without a salt has
no signature, for one under a key that all rows share would tell more than the others do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tryst.common.cleaning.parts import salt_text
from tryst.common.encoding.blocking_keys import blocking_keys, keyed_digests
from tryst.common.encoding.categories import coded_variables
from tryst.common.encoding.columns import check_columns, check_variables
from tryst.common.encoding.distinct import distinct_values
from tryst.common.encoding.jobs import run_jobs
from tryst.common.encoding.order import random_order
from tryst.common.encoding.signature_sets import MISSING, NO_KEY, FieldSignatures, SignatureSet
from tryst.common.encoding.signing import as_sent, canonical, field_tokens, signed_in_blocks
from tryst.common.encoding.values import pack_values
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys.derivation import Purpose, Seed, derive, derive_key
from tryst.common.keys.noise import NoiseKey
from tryst.common.minhash import signatures
from tryst.common.progress import Progress
from tryst.common.specification import BlockingRule, FieldSpec, Specification, encoding_digest


def encode(
    columns: Mapping[str, pl.Series],
    specification: Specification,
    seed: Seed,
    epoch: int,
    *,
    noise: NoiseKey | None = None,
    variables: Mapping[str, pl.Series] = MappingProxyType({}),
    shuffle: Callable[[int], NDArray[np.int64]] | None = None,
    threads: int = 2,
    progress: Progress | None = None,
) -> tuple[SignatureSet, NDArray[np.int64]]:
    """Sign a file's records, or in trusted mode pack them; for mode block_keyed see `encode_blocks`.

    Parameters
    ----------
    columns
        Cleaned values per field of the specification, as texts, null where missing; all of one length.
    specification
        What is compared and how.
    seed, epoch
        The seed the custodians agreed, and the number of that agreement.
    noise
        The custodian's own noise key, where a field has its bits flipped.
    variables
        Places of the rows' categories, by name of the variables that this custodian holds: Int32, null where missing.
    shuffle
        Makes the order of a given number of rows; by default `random_order`. Anything else is for fixed
        test records.
    threads
        Fields and rules encoded at the same time.
    progress
        Told of each field and rule when it is done.

    Returns
    -------
    SignatureSet
        The set to send.
    ndarray of int64, shape (n_rows,)
        For each row of the set (its pseudonym) the row of the file. It never leaves the custodian.

    Raises
    ------
    TrystError
        FIELD_MISSING if a field has no column, EMPTY_SOURCE if there are no rows, PARAMETER if columns
        differ in length or hold something else than texts, or if values do not suit the field's
        tokenisation, or if bits are to be flipped and there is no noise key, or in mode block_keyed, for which one set
        of signatures would show too much.

    Notes
    -----
    O(n_rows) besides the distinct values, which cost some microseconds each at 1024 bits; of a salted field the
    distinct values of each salt.
    Memory: the result, and about 200 MB of tables.
    """
    if specification.mode == "block_keyed":
        raise TrystError(ErrorCode.PARAMETER, "mode block_keyed signs for each rule", where="encode", got="one set")
    n_rows = check_columns(columns, specification)
    check_variables(variables, specification, n_rows)
    digest = encoding_digest(specification)
    order = (shuffle or random_order)(n_rows)
    fields: dict[str, FieldSignatures] = {}
    blocks: dict[str, NDArray[np.uint64]] = {}

    def sign(field: FieldSpec) -> None:
        if specification.mode == "trusted":
            whole = _values(columns[field.name], field)
        else:
            salt = salt_text(columns, specification, field)
            whole = _sign(columns[field.name], salt, field, specification.project, seed, digest, epoch, noise)
        fields[field.name] = FieldSignatures(whole.bits, whole.signatures, whole.codes[order], whole.content)

    def block(rule: BlockingRule) -> None:
        key = derive_key(seed, specification.project, Purpose.BLOCKING, digest, rule=rule.name, epoch=epoch)
        blocks[rule.name] = blocking_keys(columns, specification, rule, key)[order]

    jobs = {f"signed {field.name}": partial(sign, field) for field in specification.fields}
    jobs |= {f"blocking keys {rule.name}": partial(block, rule) for rule in specification.keyed_rules}
    run_jobs(jobs, threads, progress)
    coded = coded_variables(variables, order, specification, seed, epoch)
    # Jobs end in any order; the set has the specification's.
    in_order = SignatureSet(
        "",
        n_rows,
        {field.name: fields[field.name] for field in specification.fields},
        {rule.name: blocks[rule.name] for rule in specification.keyed_rules},
        coded,
    )
    return in_order, order


def _sign(
    column: pl.Series,
    salt: pl.Series | None,
    field: FieldSpec,
    project: str,
    seed: Seed,
    digest: bytes,
    epoch: int,
    noise: NoiseKey | None,
) -> FieldSignatures:
    """Signatures of one field, rows in the order of the file."""
    keys = derive(seed, project, Purpose.SIGNATURE, digest, field.key_domain, epoch=epoch)
    token_key = derive_key(seed, project, Purpose.TOKEN, digest, field.key_domain, epoch=epoch)
    values, codes = distinct_values(column)
    tokens, places = field_tokens(values, field, token_key)
    if salt is not None:
        salts = keyed_digests(salt, derive_key(seed, project, Purpose.SALT, digest, field.key_domain, epoch=epoch))
        placed = np.where(salts == NO_KEY, MISSING, np.append(places, MISSING)[codes])
        return signed_in_blocks(field, tokens, placed, salts, keys, project, noise)
    signed, ranks = canonical(as_sent(signatures(tokens, keys, field.bits, threads=1), field, project, noise))
    # From a row to its distinct value, to its place among those that have tokens, to its signature's place.
    final = np.full(len(values) + 1, MISSING, dtype=np.int32)
    final[:-1][places >= 0] = ranks[places[places >= 0]]
    return FieldSignatures(field.bits, signed, final[codes])


def _values(column: pl.Series, field: FieldSpec) -> FieldSignatures:
    """The values of one field themselves, for a trusted linkage unit; rows in the order of the file."""
    values, codes = distinct_values(column.set(column == "", None))
    packed, ranks = canonical(pack_values(values, field.bits, f"field {field.name}"))
    final = np.append(ranks, np.int32(MISSING)).astype(np.int32)
    return FieldSignatures(field.bits, packed, final[codes], "values")
