"""The pseudonym map: the custodian's own identifier of each row of an upload, and which rows are decoys.

A row's pseudonym is its place in the upload. Only the custodian has the map; it is kept encrypted, for the
number of days in the specification.
"""

from __future__ import annotations

import io

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tryst.common.errors import ErrorCode, TrystError

_COLUMN = "identifier"
_DECOY = "decoy"


def pack_map(identifiers: pl.Series, order: NDArray[np.int64], decoys: int = 0) -> bytes:
    """The map as bytes.

    Parameters
    ----------
    identifiers
        The custodian's own, in the order of its file.
    order
        For each row of the upload, the row of the file; shape (n_rows,). Numbers past the file's end are decoys, and
        after these dummies.
    decoys
        Number of decoys.
    """
    buffer = io.BytesIO()
    places, n_records = pl.Series(order), len(identifiers)
    own = identifiers.gather(places.set(places >= n_records, None))
    table = own.alias(_COLUMN).to_frame()
    if decoys:
        number = (places - n_records).cast(pl.Int64)
        table = table.with_columns(number.set((number < 0) | (number >= decoys), None).alias(_DECOY))
    table.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def unpack_map(packed: bytes) -> pl.Series:
    """The identifiers in the order of the upload's rows, null for a decoy or a dummy.

    Raises
    ------
    TrystError
        VAULT if the bytes are no map; they were decrypted, so the program that wrote them has an error.
    """
    return _table(packed).get_column(_COLUMN)


def unpack_decoys(packed: bytes) -> pl.Series:
    """A number for the decoy that each row is, the same for its rows under all rules; null for other rows.

    Raises
    ------
    TrystError
        As `unpack_map`.
    """
    table = _table(packed)
    if _DECOY not in table.columns:
        return pl.repeat(None, table.height, dtype=pl.Int64, eager=True)
    return table.get_column(_DECOY)


def _table(packed: bytes) -> pl.DataFrame:
    try:
        return pl.read_parquet(io.BytesIO(packed))
    except pl.exceptions.PolarsError:
        raise TrystError(
            ErrorCode.VAULT, "the pseudonym map is malformed", remedy="restore the state folder from its backup"
        ) from None
