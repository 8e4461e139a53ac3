"""Values themselves as rows of fixed width, for a trusted linkage unit.

In trusted mode a field's table holds, in place of each distinct signature, the value's UTF-8 text padded with zero
bytes to the field's `bits`. So a table of values has the size, the order and the checks of a table of signatures, and
its size is known before any of it arrives. A value that does not fit is refused at its custodian.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError, parameter


def pack_values(values: Sequence[str], bits: int, where: str) -> NDArray[np.uint64]:
    """Values as rows of `bits` bits.

    Parameters
    ----------
    values
        Not empty, without U+0000.
    bits
        A multiple of 64.
    where
        The field, for the error.

    Returns
    -------
    ndarray of uint64, shape (n_values, bits // 64)

    Raises
    ------
    GemelError
        PARAMETER if a value is empty, has U+0000 or is longer than ``bits // 8`` bytes; the number of such is named.
    """
    width = bits // 8
    texts = [value.encode("utf-8") for value in values]
    long = sum(len(text) > width for text in texts)
    if long:
        raise parameter(
            where,
            f"a value may have at most {width} bytes of UTF-8 in trusted mode",
            f"{long} longer ones, of up to {max(map(len, texts))} bytes",
            f"set the field's bits to {-(-max(map(len, texts)) // 8) * 64} or more",
        )
    if unfit := sum(not text or b"\0" in text for text in texts):
        raise parameter(
            where,
            "a value must not be empty or contain U+0000",
            f"{unfit} others",
            "add `unicode` and `whitespace` to the field's cleaning",
        )
    rows = np.array(texts, dtype=f"S{width}")
    return rows.view("<u8").reshape(len(texts), bits // 64).astype(np.uint64, copy=False)


def unpack_values(rows: NDArray[np.uint64], where: str) -> list[str]:
    """The values of `pack_values`, from another party and therefore checked.

    Raises
    ------
    GemelError
        UPLOAD_CORRUPT if a row is not UTF-8 text padded with zero bytes, or empty.
    """
    width = rows.shape[1] * 8
    texts: list[bytes] = np.ascontiguousarray(rows, dtype="<u8").view(f"S{width}").ravel().tolist()
    values = []
    for text in texts:
        try:
            value = text.decode("utf-8")
        except UnicodeDecodeError:
            value = ""
        if not value or "\0" in value:
            raise GemelError(
                ErrorCode.UPLOAD_CORRUPT,
                "a value must be UTF-8 text, padded with zero bytes and not empty",
                where=where,
                got="something else",
                remedy="make the contribution again and upload it again",
            )
        values.append(value)
    return values
