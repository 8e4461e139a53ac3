"""The rows that a custodian sends under each blocking rule: its records with a key, and dummies that pad the blocks.

Without padding Carole sees how many records of a file have each blocking key, and large blocks are those of common
keys. With it every block has a number of rows that many other blocks have too. A dummy is a row of one rule only:
anything that joined it to rows of other rules would join records too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.errors import parameter
from gemel.common.keys.noise import NoiseKey
from gemel.common.signatures.layout import MAX_ROWS
from gemel.common.signatures.signature_sets import MISSING
from gemel.common.specification import Specification
from gemel.custodian.encoding.blocking_keys import key_text
from gemel.custodian.encoding.columns import distinct_values
from gemel.custodian.encoding.dummies import Draws, RuleBlocks, dummies


@dataclass(frozen=True)
class RuleRows:
    """The rows that are sent under each rule.

    Attributes
    ----------
    columns
        Cleaned values per field, of the file's records, of its decoys after them, and of all dummies after those.
    rows
        By rule, its rows among these; a dummy is under one rule.
    n_records
        Records of the file: the rows after them are decoys and dummies.
    decoys
        Number of decoys.
    """

    columns: Mapping[str, pl.Series] = dataclass_field(repr=False)
    rows: Mapping[str, NDArray[np.int64]] = dataclass_field(repr=False)
    n_records: int
    decoys: int = 0


def padded_size(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows of blocks after padding.

    Examples
    --------
    >>> padded_size(np.array([1, 2, 3, 9])).tolist()
    [1, 2, 4, 16]
    """
    # Exact up to 2^31: a power of two is its own logarithm's power.
    return (1 << np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)).astype(np.int64)


def min_size(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Fewest rows that a block of this size after padding can have had."""
    return sizes // 2 + 1


def rows_of_rules(
    columns: Mapping[str, pl.Series], specification: Specification, noise: NoiseKey | None = None, decoys: int = 0
) -> RuleRows:
    """The rows to send under each rule, with dummies where the specification pads blocks.

    Parameters
    ----------
    columns
        Cleaned values per field of the file, null where missing.
    specification
        Of mode block_keyed.
    noise
        The custodian's own key, where blocks are padded.
    decoys
        How many of the last rows are decoys.

    Returns
    -------
    RuleRows

    Raises
    ------
    GemelError
        PARAMETER if there would be more rows than a contribution may have, or if blocks are padded without a key.

    Notes
    -----
    The same file, rows in the same order, has the same dummies under the same key.
    """
    if specification.padding is not None and noise is None:
        raise parameter(
            "padding",
            "dummies need the custodian's noise key",
            "no noise key",
            "give the custodian's noise key, or a throw-away one for a trial",
        )
    n_rows = max(len(column) for column in columns.values())
    rows: dict[str, NDArray[np.int64]] = {}
    parts = [dict(columns)]
    total = n_rows
    for rule in specification.keyed_rules:
        keys, block = _in_order(*distinct_values(key_text(columns, specification, rule, split=True)))
        own = np.flatnonzero(block >= 0)
        rows[rule.name] = own
        if specification.padding is None or noise is None or not len(own):
            continue
        sizes = np.bincount(block[own], minlength=len(keys)).astype(np.int64)
        missing = padded_size(sizes) - sizes
        total += int(missing.sum())
        if total > MAX_ROWS:
            raise parameter(
                "padding",
                f"at most {MAX_ROWS} records and dummies are possible",
                f"more for rule {rule.name}",
                "do not pad",
            )
        first = total - int(missing.sum())
        rows[rule.name] = np.concatenate([own, np.arange(first, total)])
        draws = Draws(noise.derive(specification.project, f"dummies of rule {rule.name}", specification.suite))
        blocks = RuleBlocks(own, block[own].astype(np.int64), sizes)
        sources = dummies(columns, specification, rule, blocks, missing, draws)
        parts.append({name: columns[name].gather(pl.Series(source)) for name, source in sources.items()})
    if total == n_rows:
        return RuleRows(columns, rows, n_rows - decoys, decoys)
    extended = {field.name: pl.concat([part[field.name] for part in parts]) for field in specification.fields}
    return RuleRows(extended, rows, n_rows - decoys, decoys)


def _in_order(keys: list[str], block: NDArray[np.int32]) -> tuple[list[str], NDArray[np.int32]]:
    """Distinct keys ascending, and each row's place among them: a reproducible order."""
    order = sorted(range(len(keys)), key=keys.__getitem__)
    place = np.empty(len(keys) + 1, dtype=np.int32)
    place[order] = np.arange(len(keys), dtype=np.int32)
    place[-1] = MISSING
    return [keys[i] for i in order], place[block]
