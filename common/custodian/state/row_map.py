"""The pseudonym map: the custodian's own identifier of each row of an upload.

A row's pseudonym is its place in the shuffled upload. Only the custodian has the map; it is kept encrypted, for the
number of days in the specification.
"""

from __future__ import annotations

import io

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tryst.common.errors import ErrorCode, TrystError

_COLUMN = "identifier"


def pack_map(identifiers: pl.Series, order: NDArray[np.int64]) -> bytes:
    """The map as bytes.

    Parameters
    ----------
    identifiers
        The custodian's own, in the order of its file.
    order
        For each row of the upload, the row of the file; shape (n_rows,). Numbers past the file's end are dummies.
    """
    buffer = io.BytesIO()
    places = pl.Series(order)
    own = identifiers.gather(places.set(places >= len(identifiers), None))
    own.alias(_COLUMN).to_frame().write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def unpack_map(packed: bytes) -> pl.Series:
    """The identifiers in the order of the upload's rows, null for a dummy.

    Raises
    ------
    TrystError
        VAULT if the bytes are no map; they were decrypted, so the program that wrote them has an error.
    """
    try:
        return pl.read_parquet(io.BytesIO(packed)).get_column(_COLUMN)
    except pl.exceptions.PolarsError:
        raise TrystError(
            ErrorCode.VAULT, "the pseudonym map is malformed", remedy="restore the state folder from its backup"
        ) from None
