"""Checks of the handles, rows of codes and codes that custodians submit to a resolver."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.run.archive import malformed
from gemel.carole.engine.run.plan_parts import VariablePlan
from gemel.common.signatures.signature_sets import VariableCodes


def checked_handles(
    handles: NDArray[np.uint32],
    n_pairs: int,
    n_records: int,
    among: NDArray[np.uint32] | None = None,
    decoys: NDArray[np.uint32] | None = None,
    max_decoys: int = 0,
) -> tuple[NDArray[np.int32], int, int]:
    """A custodian's handles: one for each candidate pair, in the order of the request.

    Returns
    -------
    ndarray of int32, shape (n_pairs,)
    int
        Handles of records are below this number.
    int
        So many from there on are of decoys.
    """
    if len(handles) != n_pairs:
        raise malformed(f"{len(handles)} handles for {n_pairs} pairs")
    highest = int(handles.max(initial=0))
    if among is None:
        if n_pairs and highest >= n_records:
            raise malformed("a handle that is not below the number of records")
        return handles.astype(np.int32), highest + 1 if n_pairs else 0, 0
    if decoys is None:
        decoys = np.zeros(1, dtype=np.uint32)
    if len(among) != 1 or len(decoys) != 1 or int(among[0]) > n_records or int(decoys[0]) > max_decoys:
        raise malformed("more handles of records or decoys than possible")
    known = int(among[0]) + int(decoys[0])
    if highest >= known + max(1, n_pairs):
        raise malformed("more handles of dummies than possible")
    return handles.astype(np.int32), int(among[0]), int(decoys[0])


def checked_codes(codes: NDArray[np.uint32] | None, n: int, n_records: int) -> NDArray[np.int32]:
    """A custodian's row of codes of each handle's record, of which there are `n`."""
    if codes is None or len(codes) != n:
        raise malformed(f"{'no' if codes is None else len(codes)} rows of codes for {n} records")
    if n and int(codes.max()) >= n_records:
        raise malformed("a row of codes that is not below the number of records")
    if len(np.unique(codes)) != n:
        raise malformed("the same row of codes for two records")
    return codes.astype(np.int32)


def checked_values(
    values: NDArray[np.uint32] | None, n: int, variables: Sequence[VariablePlan]
) -> dict[str, VariableCodes]:
    """A custodian's codes of each handle's record, of which there are `n`."""
    if values is None or len(values) != n * len(variables):
        raise malformed(f"{'no' if values is None else len(values)} codes for {n} records")
    table = values.reshape(n, len(variables))
    found = {}
    for column, variable in enumerate(variables):
        if n and int(table[:, column].max()) > variable.categories:
            raise malformed("a code that is not below the number of categories")
        found[variable.name] = VariableCodes(
            variable.categories, (table[:, column].astype(np.int32) - 1).astype(np.int16)
        )
    return found


def by_appearance(handles: NDArray[np.int32], kinds: tuple[int, int]) -> NDArray[np.int64]:
    """The number of each handle in the order in which handles appear: random numbers become ones that can be had again.

    Parameters
    ----------
    handles : ndarray of int32, shape (n_pairs,)
    kinds
        So many handles, from 0, are of records, and so many from there on of decoys; those of each kind keep its range.

    Returns
    -------
    ndarray of int64, shape (n_handles,)
        A permutation; handles that do not appear come last in their range.
    """
    n = max(int(handles.max(initial=-1)) + 1, sum(kinds))
    first = np.full(n, len(handles), dtype=np.int64)
    first[handles[::-1]] = np.arange(len(handles))[::-1]  # of several assignments the last, which is the earliest
    kind = np.searchsorted(np.cumsum(kinds), np.arange(n), side="right")
    number = np.empty(n, dtype=np.int64)
    number[np.lexsort((first, kind))] = np.arange(n)
    return number
