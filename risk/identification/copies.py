"""People who are in the file more than once: they look like company, and every claim comes out too low.

Key values alone cannot tell two people who are alike from one person twice. The other columns can: two people who share
a combination of keys seldom agree in everything else.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.risk.identification.key_file import KeyFile

_OTHERS = 3  # columns that are no keys, from which agreement in all of them says something
_SHARE = 0.02  # of the combinations of two records; public files have .001 to .006


def copied_share(file: KeyFile, rows: NDArray[np.uint64]) -> float:
    """Share of the combinations of exactly two records whose records agree in every column.

    Parameters
    ----------
    file
        The records.
    rows : ndarray of uint64, shape (n_records,)
        A number of each record's whole content; equal where the contents are.
    """
    pairs = np.flatnonzero(file.counts == 2)
    if not len(pairs):
        return 0.0
    own = np.flatnonzero(np.isin(file.of_record, pairs))
    both = rows[own[np.argsort(file.of_record[own], kind="stable")]].reshape(-1, 2)
    return float((both[:, 0] == both[:, 1]).mean())


def copies_warnings(file: KeyFile, rows: NDArray[np.uint64], n_columns: int) -> list[ResultWarning]:
    """A warning where more pairs agree in everything than people do."""
    share = copied_share(file, rows)
    if n_columns - file.n_keys < _OTHERS or share <= _SHARE:
        return []
    return [result_warning("records_copied", share=share, columns=n_columns)]
