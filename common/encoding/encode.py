"""From cleaned columns to a signature set: what a custodian does with its records before they leave.

Each field's distinct values are cut into tokens and signed once, the rows are shuffled, and only the
shuffled set leaves; the order stays behind. Distinct signatures are sorted by their bytes, which look
random without the key, so that their order tells nothing of the values' order or of the rows'.

A salted field's values are signed for their salts, as those of mode block_keyed are for their blocks: the salt's keyed
digest enters the code of every token, so that signatures of two salts have nothing in common. A row without a salt has
no signature, for one under a key that all rows share would tell more than the others do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from types import MappingProxyType

import numpy as np
import polars as pl
from numpy.typing import NDArray

from common.cleaning.parts import salt_text
from common.cleaning.similar_values import similar_values
from common.encoding.blocking_keys import blocking_keys, keyed_digests
from common.encoding.categories import category_codes
from common.encoding.contribution import MISSING, NO_KEY, FieldSignatures, SignatureSet, VariableCodes
from common.encoding.distinct import distinct_values
from common.encoding.layout import MAX_ROWS
from common.encoding.values import pack_values
from common.errors import ErrorCode, TrystError
from common.keys.derivation import FieldKeys, Purpose, Seed, derive, derive_key
from common.keys.noise import NoiseKey
from common.minhash import block_signatures, flipped, signatures
from common.parties import Side
from common.specification import BlockingRule, FieldSpec, Specification, encoding_digest
from common.tokens import Tokens, tokenise

Progress = Callable[[str, float], None]
"""Told what has just been done, and which part of the whole is done, up to 1."""


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


def random_order(n: int) -> NDArray[np.int64]:
    """Draw an order of n rows from the operating system's random source, all n! equally likely.

    Each row gets 64 random bits and the rows are sorted by them. As long as no two are equal every order
    has the same chance; if two are (once in 30 million times for a million rows), all are drawn again.
    """
    while True:
        draws = np.frombuffer(os.urandom(8 * n), dtype=np.uint64)
        order = np.argsort(draws).astype(np.int64, copy=False)
        drawn = draws[order]
        if (drawn[1:] != drawn[:-1]).all():
            return order


def file_order(n: int) -> NDArray[np.int64]:
    """Leave the rows as they are; for fixed public test records only."""
    return np.arange(n, dtype=np.int64)


def run_jobs(jobs: Mapping[str, Callable[[], None]], threads: int, progress: Progress | None) -> None:
    """Run the jobs in some threads, and tell of each that is done; the first error stops what has not begun."""
    with ThreadPoolExecutor(max_workers=threads) as pool:
        running = {pool.submit(job): name for name, job in jobs.items()}
        try:
            for done, ended in enumerate(as_completed(running), start=1):
                ended.result()
                if progress is not None:
                    progress(running[ended], done / len(jobs))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


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


def _values(column: pl.Series, field: FieldSpec) -> FieldSignatures:
    """The values of one field themselves, for a trusted linkage unit; rows in the order of the file."""
    values, codes = distinct_values(column.set(column == "", None))
    packed, ranks = canonical(pack_values(values, field.bits, f"field {field.name}"))
    final = np.append(ranks, np.int32(MISSING)).astype(np.int32)
    return FieldSignatures(field.bits, packed, final[codes], "values")


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


def check_columns(columns: Mapping[str, pl.Series], specification: Specification) -> int:
    """Number of rows, if every field has a column of texts of that length."""
    lengths = set()
    for field in specification.fields:
        where = f"field {field.name}"
        if field.name not in columns:
            remedy = "name its column in the specification, or take the field out"
            raise TrystError(ErrorCode.FIELD_MISSING, "the field has no column", where=where, remedy=remedy)
        column = columns[field.name]
        if column.dtype != pl.String:
            raise TrystError(ErrorCode.PARAMETER, "cleaned values are texts", where=where, got=str(column.dtype))
        lengths.add(len(column))
    if len(lengths) != 1:
        raise TrystError(
            ErrorCode.PARAMETER, "all columns have the same length", where="records", got=str(sorted(lengths))
        )
    (n_rows,) = lengths
    if n_rows == 0:
        remedy = "check the file, and any condition by which rows are chosen"
        raise TrystError(ErrorCode.EMPTY_SOURCE, "there are no rows to sign", where="records", remedy=remedy)
    if n_rows > MAX_ROWS:
        raise TrystError(ErrorCode.PARAMETER, f"a file has at most {MAX_ROWS} rows", where="records", got=str(n_rows))
    return n_rows


def coded_variables(
    variables: Mapping[str, pl.Series], order: NDArray[np.int64], specification: Specification, seed: Seed, epoch: int
) -> dict[str, VariableCodes]:
    """Codes of a file's rows in the given order, by variable, as the specification lists them."""
    digest = encoding_digest(specification)
    return {
        variable.name: category_codes(
            variables[variable.name][order], variable, specification.project, seed, digest, epoch
        )
        for variable in specification.variables
        if variable.name in variables
    }


def check_variables(variables: Mapping[str, pl.Series], specification: Specification, n_rows: int) -> None:
    """Raise `TrystError` (PARAMETER) unless these are one custodian's variables, with a place or null for every row."""
    held = [{v.name for v in specification.variables_of(side)} for side in Side]
    if set(variables) not in held:
        raise TrystError(
            ErrorCode.PARAMETER, "the variables must be those that one custodian holds", where="variables",
            got=f"{len(variables)} variables", remedy="clean the file under the same specification",
        )  # fmt: skip
    for name, places in variables.items():
        if places.dtype != pl.Int32 or len(places) != n_rows:
            got = f"{places.dtype} of {len(places)}"
            raise TrystError(ErrorCode.PARAMETER, "one Int32 per row expected", where=f"variable {name}", got=got)
